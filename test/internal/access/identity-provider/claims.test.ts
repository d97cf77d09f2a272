import fc from 'fast-check'
import { expect, test } from 'vitest'
import { personOf } from '../../../../internal/access/identity-provider/claims.js'
import { providerSchema } from '../../../../internal/access/identity-provider/provider.js'

const STATED = {
  name: 'Example SSO',
  issuer: 'https://sso.example.com/realms/one',
  client_id: 'attribution',
  groups: [
    { group: 'finance', scopes: ['read:reporting', 'export:create'], team: 'team-finance' },
    { group: 'platform', scopes: ['read:reporting', 'admin:config'], owner: true },
  ],
}
const provider = providerSchema.parse(STATED)
const person = (claims: Record<string, unknown>, settings = provider) => personOf(settings, { sub: 's1', ...claims })

test('a person may do what their groups give together', () => {
  expect(person({ preferred_username: 'Ada', groups: ['platform', 'finance', 'other'] })).toEqual({
    issuer: provider.issuer,
    subject: 's1',
    username: 'Ada',
    scopes: ['read:reporting', 'export:create', 'admin:config'],
    isOwner: true,
    team: 'team-finance',
  })
  expect(person({ preferred_username: 'bob', groups: 'finance' })).toMatchObject({ isOwner: false })
})

test('a person in none of the groups, or without a name, gets a sentence with the reason', () => {
  const none = 'None of your groups at Example SSO gives access here.'
  fc.assert(
    fc.property(fc.anything(), (groups) => {
      const isMember = JSON.stringify(groups)?.includes('finance') || JSON.stringify(groups)?.includes('platform')
      fc.pre(isMember !== true)
      expect(person({ preferred_username: 'ada', groups })).toBe(none)
    }),
  )
  expect(person({ groups: ['finance'] })).toBe(
    'Example SSO does not state your user name (the claim preferred_username).',
  )
})

test('an e-mail address that is not verified names nobody', () => {
  const byMail = { ...provider, username_claim: 'email' }
  const claims = { email: 'ada@example.com', groups: ['finance'] }

  expect(person({ ...claims, email_verified: false }, byMail)).toContain('does not state')
  expect(person({ ...claims, email_verified: true }, byMail)).toMatchObject({ username: 'ada@example.com' })
})

test('without a group of owners, the flag is given in the service', () => {
  const groups = provider.groups.map((group) => ({ ...group, owner: false }))

  expect(person({ preferred_username: 'ada', groups: ['platform'] }, { ...provider, groups })).toMatchObject({
    isOwner: undefined,
  })
})

test.each([
  ['plain HTTP', { issuer: 'http://sso.example.com' }],
  ['a query', { issuer: 'https://sso.example.com/?a=1' }],
  ['no groups', { groups: [] }],
  ['an unknown scope', { groups: [{ group: 'a', scopes: ['read:all'] }] }],
  ['owners without admin:config', { groups: [{ group: 'a', scopes: ['read:reporting'], owner: true }] }],
  ['an unknown member', { secret: 'x' }],
])('a description with %s is refused', (_what, members) => {
  expect(providerSchema.safeParse({ ...STATED, ...members }).success).toBe(false)
})

test('plain HTTP is for this machine', () => {
  expect(providerSchema.safeParse({ ...STATED, issuer: 'http://127.0.0.1:3000' }).success).toBe(true)
})
