import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { StoredProvider } from '../../../../internal/access/identity-provider/provider.js'
import { findingsOf } from '../../../../internal/access/identity-provider/set-up-check.js'

const ADDRESS = 'https://attribution.example.com/v1/oauth/callback/idp_one'
const KEYS = [{ kty: 'RSA', use: 'sig' }]
const recorded = (name: string) =>
  JSON.parse(readFileSync(`test/fixtures/identity-providers/${name}.json`, 'utf8')).metadata

/** What is found of a provider as it describes itself, by aspect. */
function found(name: string, members: Partial<StoredProvider> = {}, more: object = {}, keys: typeof KEYS = KEYS) {
  const metadata = { ...recorded(name), ...more }
  const stored: StoredProvider = {
    name: 'Example SSO',
    issuer: metadata.issuer,
    client_id: 'attribution',
    scope: 'openid profile email',
    groups_claim: 'groups',
    username_claim: 'preferred_username',
    groups: [],
    only: false,
    tenant_id: 'tnt_one',
    id: 'idp_one',
    sealed_client_secret: '',
    updated_at: '',
    ...members,
  }
  const findings = findingsOf(stored, { metadata, keys }, ADDRESS)
  return Object.fromEntries(findings.map(({ aspect, verdict, detail }) => [aspect, `${verdict}: ${detail}`]))
}

test.each([
  ['entra', 'groups', /^depends.*ids of groups.*app roles/],
  ['entra', 'recent_sign_in', /auth_time only if you add the optional claim/],
  ['entra', 'user_name', /^works/],
  ['google', 'groups', /^does_not_work.*no groups/],
  ['google', 'recent_sign_in', /^does_not_work.*never states auth_time.*administrator with a password/],
  ['google', 'user_name', /^does_not_work.*set username_claim to email/],
  ['okta', 'groups', /^depends.*scope groups/],
  ['okta', 'recent_sign_in', /^works/],
  ['auth0', 'groups', /^depends.*namespace/],
  ['auth0', 'user_name', /^does_not_work.*nickname/],
  ['keycloak', 'groups', /^depends.*Group Membership/],
  ['keycloak', 'recent_sign_in', /^works/],
  ['ping', 'client_secret', /client_secret_basic/],
] as const)('of %s, the check of %s says what holds', (name, aspect, expected) => {
  expect(found(name)[aspect]).toMatch(expected)
})

test('what an operator changes is seen', () => {
  expect(found('google', { username_claim: 'email' })['user_name']).toMatch(/^works/)
  expect(found('auth0', { groups_claim: 'https://example.com/roles' })['groups']).toMatch(/^depends/)
  expect(found('okta', { scope: 'openid groups' })['sign_in']).toMatch(/^works/)
  expect(found('entra', { scope: 'openid groups' })['sign_in']).toMatch(/^depends.*scope groups/)
  expect(found('ping', { client_authentication: 'client_secret_post' })['client_secret']).toMatch(/^does_not_work/)
  expect(found('keycloak')['redirect_address']).toContain(ADDRESS)
  const { id: _, ...shared } = { id: 'idp_one' }
  expect(found('keycloak', { ...shared, id: undefined as never })['redirect_address']).toContain('set tnt_one')
})

test.each([
  ['sign_in', { token_endpoint: undefined }],
  ['sign_in', { response_types_supported: ['id_token'] }],
  ['client_secret', { token_endpoint_auth_methods_supported: ['private_key_jwt'] }],
  ['signatures', { id_token_signing_alg_values_supported: ['HS256', 'none'] }],
] as const)('%s does not work with %j', (aspect, more) => {
  expect(found('keycloak', {}, more)[aspect]).toMatch(/^does_not_work/)
})

test('without keys nothing can be checked, and without a description nothing works', () => {
  expect(found('keycloak', {}, {}, [])['signatures']).toMatch(/^does_not_work/)
  const [finding, ...more] = findingsOf(
    { issuer: 'https://sso.example.com/' } as StoredProvider,
    { fault: 'connect ECONNREFUSED' },
    ADDRESS,
  )
  expect(finding?.detail).toBe(
    'The description at https://sso.example.com/.well-known/openid-configuration cannot be used: connect ECONNREFUSED.',
  )
  expect(more).toEqual([])
})
