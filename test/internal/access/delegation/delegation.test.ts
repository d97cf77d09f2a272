import fc from 'fast-check'
import { expect, test } from 'vitest'
import { delegationChecks, type Given, holdsAll } from '../../../../internal/access/delegation/delegation.js'
import type { Caller } from '../../../../internal/auth/authenticate.js'
import { budgetsCache, rateLimitsOf } from '../../../../internal/auth/rate-limits.js'
import { SCOPES } from '../../../../internal/auth/scopes.js'
import { DEFAULT_SETTINGS, type Delegation, type Tenant } from '../../../../internal/auth/tenant.js'
import { drawn } from '../../../support/run/rings.js'

const BUDGETS = budgetsCache(rateLimitsOf({ ingest: 1, read: 1, report: 1, control: 1, token: 1 }))(
  'tnt_one',
  'key_one',
)
const LAYERS = ['application', 'gateway', 'proxy'] as const

const caller = (held: Partial<Caller> = {}): Caller => ({
  tenantId: 'tnt_one',
  principal: 'key_one',
  scopes: new Set(['admin:config', 'read:attribution']),
  ingestionLayers: undefined,
  budgets: BUDGETS,
  ...held,
})
const tenant = (delegation: Delegation, owners?: readonly string[]): Tenant => ({
  id: 'tnt_one',
  name: 'One',
  created_at: '2026-11-21T09:30:00.000Z',
  settings: { ...DEFAULT_SETTINGS, delegation },
  ...(owners && { owners }),
})
const refusal = async (by: Caller, given: Given, of: Tenant | undefined = tenant('held')) =>
  (await delegationChecks(async () => of)(by))(given)

test('a refusal names the scopes that are missing, for a person and for a program', async () => {
  const refused = await refusal(caller(), { scopes: ['read:attribution', 'read:reporting', 'export:create'] })

  expect(refused).toMatchObject({ code: 'INSUFFICIENT_SCOPE' })
  expect(refused?.detail).toContain('read:reporting, export:create.')
  expect(refused?.challenge).toContain('error="insufficient_scope", scope="read:reporting export:create"')
})

test.each<[string, Partial<Caller>, Given, boolean]>([
  ['its own scopes', {}, { scopes: ['read:attribution'] }, true],
  ['a scope that it does not hold', {}, { scopes: ['webhooks:manage'] }, false],
  ['all layers from some', { ingestionLayers: new Set(['proxy']) }, { scopes: ['read:attribution'] }, false],
  [
    'other layers than its own',
    { ingestionLayers: new Set(['proxy']) },
    { scopes: ['read:attribution'], ingestionLayers: ['proxy', 'gateway'] },
    false,
  ],
  [
    'its own layers',
    { ingestionLayers: new Set(['proxy']) },
    { scopes: ['read:attribution'], ingestionLayers: ['proxy'] },
    true,
  ],
  ['no layer from none', { ingestionLayers: new Set() }, { scopes: ['read:attribution'], ingestionLayers: [] }, true],
  ['trust in its costs without having it', { trustsCost: false }, { scopes: ['read:attribution'] }, false],
  ['trust in what a gateway says', {}, { scopes: ['read:attribution'], isGateway: true }, false],
  ['that trust, as a gateway', { isGateway: true }, { scopes: ['read:attribution'], isGateway: true }, true],
  ['that trust, with all scopes', { scopes: new Set(SCOPES) }, { scopes: SCOPES, isGateway: true }, true],
  ['no trust', { trustsCost: false }, { scopes: ['read:attribution'], trustsCost: false }, true],
])('a credential gives %s', async (_, held, given, isGiven) => {
  expect((await refusal(caller(held), given)) === undefined).toBe(isGiven)
})

test('an owner gives everything, and so does anybody where the tenant allows it; nobody without a tenant', async () => {
  const everything: Given = { scopes: SCOPES }
  const owner = caller({ principal: 'usr_one' })

  expect(await refusal(owner, everything, tenant('held', ['usr_one']))).toBeUndefined()
  expect(await refusal(owner, everything, tenant('held', ['usr_other']))).toBeDefined()
  expect(await refusal(caller(), everything, tenant('any'))).toBeUndefined()
  expect((await delegationChecks(async () => undefined)(caller()))(everything)).toBeDefined()
})

test('nothing that is given can give more than the credential that it comes from', async () => {
  const permissions = fc.record({
    scopes: fc.subarray([...SCOPES]),
    ingestionLayers: fc.option(fc.subarray([...LAYERS]), { nil: undefined }),
    trustsCost: fc.boolean(),
  })
  const holderOf = ({ scopes, ingestionLayers, trustsCost }: Given): Caller =>
    caller({
      scopes: new Set(scopes),
      ingestionLayers: ingestionLayers && new Set(ingestionLayers),
      ...(trustsCost === false && { trustsCost }),
    })

  await fc.assert(
    fc.asyncProperty(permissions, permissions, permissions, async (first, second, third) => {
      const gives = async (one: Given, other: Given) => (await refusal(holderOf(one), other)) === undefined
      if ((await gives(first, second)) && (await gives(second, third))) expect(await gives(first, third)).toBe(true)
      expect(await gives(first, first)).toBe(true)
    }),
    { numRuns: drawn(500) },
  )
})

test('only a credential with all scopes, all layers and trusted costs holds everything', () => {
  const scopes = new Set(SCOPES)

  expect(holdsAll(caller({ scopes }))).toBe(true)
  expect(holdsAll(caller())).toBe(false)
  expect(holdsAll(caller({ scopes, ingestionLayers: new Set(LAYERS) }))).toBe(false)
  expect(holdsAll(caller({ scopes, trustsCost: false }))).toBe(false)
})
