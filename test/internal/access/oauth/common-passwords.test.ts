import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import list from '../../../../internal/access/oauth/common-passwords.data.json' with { type: 'json' }
import { isCommonPassword } from '../../../../internal/access/oauth/common-passwords.js'

test.each(['1q2w3e4r5t6y', 'qwertyqwerty', '123456123456', 'Administrator', 'UNBELIEVABLE', 'finalfantasy'])(
  '%s is a common password, whatever the case of its letters',
  (password) => {
    expect(isCommonPassword(password)).toBe(true)
  },
)

test('other passwords are not, such as generated ones and phrases', () => {
  const others = ['correct horse battery staple', 'qwertyqwerty!', 'administrator of the 7th', '']
  const generated = Array.from({ length: 10_000 }, () => randomBytes(18).toString('base64url'))

  expect([...others, ...generated].filter(isCommonPassword)).toEqual([])
})

test('the list has thousands of different passwords, and names its source', () => {
  expect(new Set(list.digests).size).toBe(5_000)
  for (const digest of list.digests) expect(digest).toMatch(/^[\w-]{8}$/)
  expect(list.source).toContain('SecLists')
  expect(list.taken).toBe('2026-11-24')
})
