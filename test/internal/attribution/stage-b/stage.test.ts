import { expect, test } from 'vitest'
import { stageB } from '../../../../internal/attribution/stage-b/stage.js'
import { batchOf, event, kindsOf } from '../../../support/stages.js'

test('stage B, without a model, hands everything on and guesses nothing', async () => {
  const { handle } = await stageB().open(2)

  expect(kindsOf(await handle(batchOf('b', [event(1, 0, { attributedIdentity: 'ada' }), event(2, 1)])))).toEqual([
    'hand_on',
    'hand_on',
  ])
})
