import { expect, test } from 'vitest'
import { slotsToSet, slotsToSignIn } from '../../../../internal/access/oauth/passwords.js'

/** Work that lasts until the test ends it. */
function held() {
  let end: () => void = () => undefined
  const until = new Promise<void>((resolve) => {
    end = resolve
  })
  return { end, work: () => until.then(() => 'set' as const) }
}

test('a tenant may set two passwords at once, and the next only after one of them is set', async () => {
  const [one, two] = [held(), held()]
  const both = [slotsToSet.run('tnt_a', one.work), slotsToSet.run('tnt_a', two.work)]

  expect(await slotsToSet.run('tnt_a', async () => 'set')).toBe('tenant_busy')
  expect(await slotsToSet.run('tnt_b', async () => 'set')).toBe('set')
  one.end()
  await both[0]
  expect(await slotsToSet.run('tnt_a', async () => 'set')).toBe('set')

  two.end()
  expect(await Promise.all(both)).toEqual(['set', 'set'])
})

test('setting passwords leaves slots for people who sign in', async () => {
  const setting = held()
  const set = Array.from({ length: 20 }, (_, tenant) => slotsToSet.run(`tnt_${tenant}`, setting.work))

  const signIns = Array.from({ length: 8 }, () => slotsToSignIn.run('tnt_a', async () => true))
  expect(await Promise.all(signIns)).toEqual(Array(8).fill(true))

  setting.end()
  const outcomes = await Promise.all(set)
  expect(outcomes.filter((outcome) => outcome === 'busy')).toHaveLength(12)
  expect(await slotsToSet.run('tnt_0', async () => 'set')).toBe('set')
})

test('sign-ins of one tenant leave slots for those of another', async () => {
  const checking = held()
  const ofOne = Array.from({ length: 20 }, () => slotsToSignIn.run('tnt_a', checking.work))

  expect(await slotsToSignIn.run('tnt_b', async () => true)).toBe(true)
  checking.end()
  expect((await Promise.all(ofOne)).filter((outcome) => outcome === 'tenant_busy')).toHaveLength(12)
})

test('a tenant whose password could not be set gets its slot back', async () => {
  for (let failed = 0; failed < 3; failed++) {
    await expect(slotsToSet.run('tnt_a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  }

  expect(await slotsToSet.run('tnt_a', async () => 'set')).toBe('set')
})
