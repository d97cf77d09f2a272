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
  expect(person(claims, byMail)).toContain('does not state that it has verified')
  expect(person({ ...claims, email_verified: 'true' }, byMail)).toContain('does not state that it has verified')
  expect(person({ groups: ['finance'], email_verified: true }, byMail)).toContain('(the claim email)')
  expect(person({ ...claims, email_verified: true }, byMail)).toMatchObject({ username: 'ada@example.com' })
})

test('a claim may stand in an object, or have dots in its name; a group is the same in both forms of its letters', () => {
  const [nested, named] = ['realm_access.roles', 'https://example.com/roles'].map((groups_claim) => ({
    ...provider,
    groups_claim,
    groups: [{ group: 'Prüfer', scopes: ['read:reporting' as const], owner: false }],
  }))
  const ada = { preferred_username: 'ada' }

  expect(person({ ...ada, realm_access: { roles: ['Prüfer'.normalize('NFD')] } }, nested)).toMatchObject({
    username: 'ada',
  })
  expect(person({ ...ada, 'https://example.com/roles': ['Prüfer'] }, named)).toMatchObject({ username: 'ada' })
  for (const realm_access of [undefined, null, 'roles', [], { roles: null }]) {
    expect(person({ ...ada, realm_access }, nested)).toContain('None of your groups')
  }
  expect(person(ada, { ...provider, groups_claim: 'constructor.name' })).toContain('None of your groups')
})

test.each([
  [{ _claim_names: { groups: 'src1' }, _claim_sources: { src1: { endpoint: 'https://graph.windows.net/x' } } }],
  [{ hasgroups: true }],
  [{ hasgroups: 'true' }],
])('groups that a provider left out (overage) are said, with what helps: %j', (claims) => {
  const entra = { ...provider, issuer: 'https://login.microsoftonline.com/1d1d/v2.0' }

  expect(person({ preferred_username: 'cfo@example.com', ...claims }, entra)).toMatch(
    /overage.*app roles.*groups_claim/,
  )
  // App roles are never left out.
  const roles = {
    ...entra,
    groups_claim: 'roles',
    groups: [{ group: 'cfo', scopes: ['read:reporting' as const], owner: false }],
  }
  expect(person({ preferred_username: 'cfo@example.com', roles: ['cfo'], ...claims }, roles)).toMatchObject({
    scopes: ['read:reporting'],
  })
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
  ['scopes without openid', { scope: 'profile email' }],
  ['an unknown way to prove the client', { client_authentication: 'none' }],
])('a description with %s is refused', (_what, members) => {
  expect(providerSchema.safeParse({ ...STATED, ...members }).success).toBe(false)
})

test('plain HTTP is for this machine', () => {
  expect(providerSchema.safeParse({ ...STATED, issuer: 'http://127.0.0.1:3000' }).success).toBe(true)
})
