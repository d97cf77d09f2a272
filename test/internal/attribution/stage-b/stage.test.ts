import { expect, test } from 'vitest'
import { batchOf, event, kindsOf, switchedOffStageB } from '../../../support/stages.js'

test('stage B hands on everything of a tenant that has switched inference off, and asks nothing about it', async () => {
  const { handle } = await switchedOffStageB().open(2)

  expect(kindsOf(await handle(batchOf('b', [event(1, 0, { attributedIdentity: 'ada' }), event(2, 1)])))).toEqual([
    'hand_on',
    'hand_on',
  ])
})
