import { expect, test } from 'vitest'
import { together } from '../../../deploy/setup/steps.mjs'

test('of steps beside each other the first failure is thrown, when all have ended', async () => {
  const ended: string[] = []
  let end = (): void => undefined
  const slow = new Promise<void>((resolve) => {
    end = resolve
  }).then(() => ended.push('slow'))
  const work = together([Promise.reject(new Error('no network')), slow])

  end()

  await expect(work).rejects.toThrow('no network')
  expect(ended).toEqual(['slow'])
  expect(await together([Promise.resolve(1), undefined])).toEqual([1, undefined])
})
