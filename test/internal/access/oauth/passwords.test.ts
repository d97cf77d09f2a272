import { expect, test } from 'vitest'
import { isPasswordOf, slotsToSet, slotsToSignIn, storePassword } from '../../../../internal/access/oauth/passwords.js'

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
  const password = 'correct horse battery'
  const stored = await storePassword(password)
  const set = Array.from({ length: 20 }, (_, tenant) => slotsToSet.run(`tnt_${tenant}`, () => storePassword(password)))

  const signIns = Array.from({ length: 8 }, () => slotsToSignIn.run('tnt_a', () => isPasswordOf(stored, password)))
  expect(await Promise.all(signIns)).toEqual(Array(8).fill(true))

  const outcomes = await Promise.all(set)
  expect(outcomes.filter((outcome) => outcome === 'busy')).toHaveLength(12)
  expect(await slotsToSet.run('tnt_0', async () => 'set')).toBe('set')
})

test('sign-ins of one tenant leave slots for those of another', async () => {
  const stored = await storePassword('correct horse battery')
  const signIn = (tenantId: string) => slotsToSignIn.run(tenantId, () => isPasswordOf(stored, 'correct horse battery'))

  const ofOne = Promise.all(Array.from({ length: 20 }, () => signIn('tnt_a')))
  const ofOther = await signIn('tnt_b')

  expect(ofOther).toBe(true)
  expect((await ofOne).filter((outcome) => outcome === 'tenant_busy')).toHaveLength(12)
})

test('a tenant whose password could not be set gets its slot back', async () => {
  for (let failed = 0; failed < 3; failed++) {
    await expect(slotsToSet.run('tnt_a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  }

  expect(await slotsToSet.run('tnt_a', async () => 'set')).toBe('set')
})
