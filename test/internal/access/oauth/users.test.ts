import { describe, expect, test } from 'vitest'
import { isPasswordOf } from '../../../../internal/access/oauth/passwords.js'
import {
  createUser,
  readUsername,
  type StoredUser,
  UserDirectory,
  userKey,
} from '../../../../internal/access/oauth/users.js'
import { TENANT, TENANT_IDS } from '../../../support/api-keys.js'

const make = (username = 'ada', password = 'correct horse battery'): Promise<StoredUser> =>
  createUser(TENANT, TENANT_IDS, { username, password, scopes: ['admin:config'] }, new Date(0))

describe('a password', () => {
  test('matches itself and no other password', async () => {
    const { password } = await make()

    expect(await isPasswordOf(password, 'correct horse battery')).toBe(true)
    expect(await isPasswordOf(password, 'correct horse batterY')).toBe(false)
    expect(await isPasswordOf(password, '')).toBe(false)
    expect(await isPasswordOf(undefined, '')).toBe(false)
  })

  test('matches in every Unicode composition of its letters', async () => {
    const { password } = await make('ada', 'cafe\u0301 au lait, bien sur')

    expect(await isPasswordOf(password, 'caf\u00e9 au lait, bien sur')).toBe(true)
  })

  test('is stored salted and hashed, with the cost parameters of the hash', async () => {
    const [one, other] = [await make(), await make()]

    expect(one.password).toMatchObject({ n: 32_768, r: 8, p: 3 })
    expect(one.password.hash).not.toBe(other.password.hash)
    expect(JSON.stringify(one)).not.toContain('horse')
  })
})

describe('a username', () => {
  test.each([
    ['ada', 'ada'],
    [' Ada@Example.org ', 'ada@example.org'],
    ['', undefined],
    ['a b', undefined],
    ['a*', undefined],
    ['.ada', undefined],
    ['ádá', undefined],
    ['a'.repeat(129), undefined],
  ])('%j is stored as %j', (text, expected) => {
    expect(readUsername(text)).toBe(expected)
  })
})

describe('the directory of people in memory', () => {
  test('finds people by tenant and name, and by id', async () => {
    const directory = new UserDirectory()
    const ada = await make()

    expect(directory.follow(userKey(TENANT, 'ada'), ada)).toEqual([ada.id])

    expect(directory.named(TENANT, 'ada')).toBe(ada)
    expect(directory.named('tnt_other', 'ada')).toBeUndefined()
    expect(directory.withId(ada.id)).toBe(ada)
  })

  test('returns the ids of changed and deleted people', async () => {
    const directory = new UserDirectory()
    const key = userKey(TENANT, 'ada')
    const [ada, successor] = [await make(), await make()]
    directory.follow(key, ada)

    expect(directory.follow(key, { ...ada, status: 'disabled' })).toEqual([ada.id])
    expect(directory.withId(ada.id)?.status).toBe('disabled')
    expect(directory.follow(key, successor)).toEqual([ada.id, successor.id])
    expect(directory.withId(ada.id)).toBeUndefined()
    expect(directory.follow(key, undefined)).toEqual([successor.id])
    expect(directory.named(TENANT, 'ada')).toBeUndefined()
  })
})
