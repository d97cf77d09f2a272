import { expect, test } from 'vitest'
import { readAccessToken } from '../../../internal/auth/access-tokens.js'
import { bearerTokens, type TokenHolder } from '../../../internal/auth/bearer-tokens.js'
import { CLIENT_ID, findKey, KID, PARTIES, PERSON, TENANT_ID, token, USER_ID } from '../../support/access-tokens.js'
import { NOW_MS } from '../../support/invocations.js'

const ACTIVE: TokenHolder = {
  tenant_id: TENANT_ID,
  scopes: ['read:attribution', 'read:reporting', 'export:create'],
  status: 'active',
}

/** The verdict on a token with this client and person; undefined: unknown. */
const judge = (
  text: string,
  { client, user, revoked }: { client?: TokenHolder; user?: TokenHolder; revoked?: string } = {},
) =>
  bearerTokens({
    read: (presented, nowMs) => readAccessToken(presented, PARTIES, findKey, nowMs),
    findClient: (id) => (id === CLIENT_ID ? client : undefined),
    findUser: (id) => (id === USER_ID ? user : undefined),
    isRevoked: (id) => id === revoked,
  })(text, NOW_MS, () => true)

const CLIENTS_TOKEN = token({ scope: 'read:attribution read:reporting' })
const PERSONS_TOKEN = token({ ...PERSON, scope: 'read:attribution read:reporting' })

test('a client’s token is valid while the client is active', () => {
  expect(judge(CLIENTS_TOKEN, { client: ACTIVE })).toMatchObject({
    tenantId: TENANT_ID,
    principal: CLIENT_ID,
    scopes: ['read:attribution', 'read:reporting'],
    authTimeS: undefined,
    expiresAtMs: NOW_MS + 900_000,
  })
  expect(judge(CLIENTS_TOKEN, { client: { ...ACTIVE, status: 'disabled' } })).toBeUndefined()
  expect(judge(CLIENTS_TOKEN)).toBeUndefined()
})

test('a client says who pays for the calls that its tokens send', () => {
  expect(judge(CLIENTS_TOKEN, { client: ACTIVE })).toMatchObject({ billing: 'auto' })
  expect(judge(CLIENTS_TOKEN, { client: { ...ACTIVE, billing: 'seat' } })).toMatchObject({ billing: 'seat' })
})

test('a person’s token acts for the person, and needs both client and person to be active', () => {
  expect(judge(PERSONS_TOKEN, { client: ACTIVE, user: ACTIVE })).toMatchObject({
    principal: USER_ID,
    authTimeS: PERSON.auth_time,
  })
  expect(judge(PERSONS_TOKEN, { client: ACTIVE })).toBeUndefined()
  expect(judge(PERSONS_TOKEN, { user: ACTIVE })).toBeUndefined()
  expect(judge(PERSONS_TOKEN, { client: ACTIVE, user: { ...ACTIVE, status: 'disabled' } })).toBeUndefined()
})

test('a person’s token from a sign-in before their last password change is refused', () => {
  const since = (signed_in_from: number) => ({ client: ACTIVE, user: { ...ACTIVE, signed_in_from } })

  expect(judge(PERSONS_TOKEN, since(PERSON.auth_time))).toMatchObject({ principal: USER_ID })
  expect(judge(PERSONS_TOKEN, since(PERSON.auth_time + 1))).toBeUndefined()
})

test('a token of a tenant to which its client or person does not belong is refused', () => {
  const elsewhere = { ...ACTIVE, tenant_id: 'tnt_other' }

  expect(judge(CLIENTS_TOKEN, { client: elsewhere })).toBeUndefined()
  expect(judge(PERSONS_TOKEN, { client: ACTIVE, user: elsewhere })).toBeUndefined()
})

test('a token has only the scopes that its client and person have now', () => {
  const client = { ...ACTIVE, scopes: ['read:attribution', 'admin:config'] } as const
  const user = { ...ACTIVE, scopes: ['read:reporting'] } as const

  expect(judge(CLIENTS_TOKEN, { client })?.scopes).toEqual(['read:attribution'])
  expect(judge(PERSONS_TOKEN, { client, user })?.scopes).toEqual([])
})

test.each([
  ['the token', 'j'.repeat(22)],
  ['its sign-in', PERSON.sid],
])('a revocation of its %s ends the token', (_, revoked) => {
  expect(judge(PERSONS_TOKEN, { client: ACTIVE, user: ACTIVE, revoked })).toBeUndefined()
})

test('a verdict names every id that it depends on', () => {
  expect(judge(PERSONS_TOKEN, { client: ACTIVE, user: ACTIVE })?.dependsOn).toEqual([
    KID,
    CLIENT_ID,
    USER_ID,
    'j'.repeat(22),
    PERSON.sid,
  ])
})
