import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { settingsPatch } from '../../../../internal/access/tenants/tenant-contract.js'
import {
  changesBetween,
  limitErrors,
  limitsOf,
  mirrorErrors,
  patchedByOperator as patchedByOperatorAt,
  patchedTenant as patchedTenantAt,
  shownSettings,
} from '../../../../internal/access/tenants/tenant-settings.js'
import { rateLimitsOf } from '../../../../internal/auth/rate-limits.js'
import { DEFAULT_SETTINGS, settingsOf, type Tenant } from '../../../../internal/auth/tenant.js'

const INSTANCE = rateLimitsOf({ ingest: 20_000, read: 50, report: 10, control: 10, token: 5 })
const NOW_MS = Date.UTC(2026, 10, 24)
const patchedTenant = (of: Tenant, patch: Parameters<typeof patchedTenantAt>[1]) => patchedTenantAt(of, patch, NOW_MS)
const patchedByOperator = (of: Tenant, patch: Parameters<typeof patchedTenantAt>[1]) =>
  patchedByOperatorAt(of, patch, NOW_MS)
const tenant = (settings: Partial<Tenant['settings']> = {}): Tenant => ({
  id: 'tnt_one',
  name: 'One',
  created_at: '2026-11-21T00:00:00.000Z',
  settings: { ...DEFAULT_SETTINGS, ...settings },
})

describe('the settings for services that are not in the directory', () => {
  const settingsAfter = (patch: Parameters<typeof patchedTenant>[1]) => {
    const { undeclared_services, require_directory } = patchedTenant(tenant(), patch).settings
    return [undeclared_services, require_directory]
  }

  test('mirror each other', () => {
    expect(settingsAfter({ require_directory: true })).toEqual(['declared', true])
    expect(settingsAfter({ require_directory: false })).toEqual(['resolved', false])
    expect(settingsAfter({ undeclared_services: 'declared' })).toEqual(['declared', true])
    expect(settingsAfter({ undeclared_services: 'auto' })).toEqual(['auto', false])
    expect(settingsAfter({ undeclared_services: 'auto', require_directory: false })).toEqual(['auto', false])
    expect(settingsAfter({ name: 'Two' })).toEqual(['auto', false])
  })

  test('must agree where a patch states both', () => {
    expect(mirrorErrors({ undeclared_services: 'resolved', require_directory: false })).toEqual([])
    expect(mirrorErrors({ undeclared_services: 'resolved', require_directory: true })).toMatchObject([
      { pointer: '/require_directory' },
    ])
  })
})

describe('the settings in the API', () => {
  test('are complete, also where the stored ones lack younger ones', () => {
    const old = { ...tenant(), settings: { owner_fallback: 'unassigned' } } as Tenant

    expect(shownSettings(old, INSTANCE, undefined)).toEqual({
      tenant_id: 'tnt_one',
      name: 'One',
      created_at: '2026-11-21T00:00:00.000Z',
      owner_fallback: 'unassigned',
      undeclared_services: 'auto',
      require_directory: false,
      stage_b_enabled: true,
      merge_seen_calls: true,
      require_second_factor: false,
      residency_region: null,
      grid: null,
      stated_cost_factor: 20,
      stated_cost_ceiling_usd: '1000',
      charge_upper_bounds: false,
      api_key_max_lifetime_days: 365,
      retention_days: 400,
      dimensions: [],
      time_zone: 'UTC',
      min_cohort: 5,
      cohort_scope: 'all',
      rate_limits: {
        ingest: { per_second: 20_000, burst: 40_000 },
        read: { per_second: 50, burst: 200 },
        report: { per_second: 10, burst: 50 },
        control: { per_second: 10, burst: 50 },
        token: { per_second: 5, burst: 20 },
      },
      delegation: 'held',
      trusted_fields: [],
      identity_provider: null,
      pending_changes: [],
      k: 5,
    })
  })

  test('show the limits in force: the tenant’s own, or else the instance’s', () => {
    const { rate_limits } = shownSettings(tenant({ rate_limits: { read: { per_second: 3 } } }), INSTANCE, undefined)

    expect(rate_limits.read).toEqual({ per_second: 3, burst: 12 })
    expect(rate_limits.report).toEqual({ per_second: 10, burst: 50 })
  })
})

describe('a patch of the settings', () => {
  test('changes the given fields, and nothing else', () => {
    const before = tenant({ residency_region: 'eu-central-1', rate_limits: { read: { per_second: 3 } } })

    const after = patchedTenant(before, { name: 'Two', require_directory: true })

    expect(after).toEqual({
      ...before,
      name: 'Two',
      settings: { ...before.settings, require_directory: true, undeclared_services: 'declared' },
    })
  })

  test('merges limits by class, and removes those that are null', () => {
    const before = tenant({ rate_limits: { read: { per_second: 3 }, report: { per_second: 2 } } })
    const limits = (rate_limits: Parameters<typeof patchedTenant>[1]['rate_limits']) =>
      patchedTenant(before, { rate_limits }).settings.rate_limits

    expect(limits({ read: { per_second: 4, burst: 5 } })).toEqual({
      read: { per_second: 4, burst: 5 },
      report: { per_second: 2 },
    })
    expect(limits({ read: null })).toEqual({ report: { per_second: 2 } })
    expect(limits(null)).toBeUndefined()
    expect(
      patchedTenant(tenant({ residency_region: 'eu' }), { residency_region: null }).settings.residency_region,
    ).toBe(null)
  })

  test.each([
    { k: 4 },
    { tenant_id: 'tnt_two' },
    { created_at: '2026-01-01T00:00:00Z' },
    { unknown: 1 },
    { owner_fallback: 'nobody' },
    { api_key_max_lifetime_days: 0 },
    { api_key_max_lifetime_days: 3_651 },
    { retention_days: 29 },
    { retention_days: 3_651 },
    { time_zone: '+02:00' },
    { time_zone: 'Mars/Olympus' },
    { residency_region: 'EU' },
    { name: '' },
    { rate_limits: { bulk: { per_second: 1 } } },
    { rate_limits: { read: { per_second: 0 } } },
    { rate_limits: { read: { burst: 1 } } },
    { rate_limits: { read: { per_second: 1, window: 1 } } },
    { dimensions: [{ key: '' }] },
    { dimensions: [{ key: 'a[b]' }] },
    { dimensions: [{ key: 'a,b' }] },
    { dimensions: [{ key: ' a' }] },
    { dimensions: [{ key: 'k'.repeat(65) }] },
    { dimensions: [{ key: 'team', person: true }] },
    { dimensions: [{ key: 'team' }, { key: 'Team' }] },
    { dimensions: [{ key: 'caf\u00e9' }, { key: 'CAFE\u0301' }] },
    { dimensions: Array.from({ length: 9 }, (_, i) => ({ key: `key-${i}` })) },
    { dimensions: null },
  ])('is not %j', (patch) => {
    expect(settingsPatch.safeParse(patch).success).toBe(false)
  })

  test('replaces the list of dimensions; a key that stays keeps the time of its declaration', () => {
    const parsed = (dimensions: object[]) => settingsPatch.parse({ dimensions })
    const first = patchedTenantAt(tenant(), parsed([{ key: 'team' }, { key: 'env' }]), NOW_MS - 1_000)

    const second = patchedTenant(first, parsed([{ key: 'Team', personal: true }, { key: 'k'.repeat(64) }]))

    expect(second.settings.dimensions).toEqual([
      { key: 'Team', personal: true, declared_at: '2026-11-23T23:59:59.000Z' },
      { key: 'k'.repeat(64), personal: false, declared_at: '2026-11-24T00:00:00.000Z' },
    ])
    expect(patchedTenant(second, { require_directory: true }).settings.dimensions).toEqual(second.settings.dimensions)
    expect(changesBetween(first, second)).toEqual({
      before: { dimensions: first.settings.dimensions },
      after: { dimensions: second.settings.dimensions },
    })
    expect(patchedTenant(second, parsed([])).settings.dimensions).toEqual([])
  })

  const limit = fc.record({ per_second: fc.integer({ min: 1, max: 100 }) })
  const patches = fc.record(
    {
      name: fc.string({ minLength: 1, maxLength: 20 }),
      require_directory: fc.boolean(),
      residency_region: fc.constantFrom(null, 'eu', 'us-east-1'),
      retention_days: fc.integer({ min: 30, max: 3_650 }),
      rate_limits: fc.option(fc.record({ read: fc.option(limit), report: fc.option(limit) }, { requiredKeys: [] })),
    },
    { requiredKeys: [] },
  )

  test('has the same effect once and twice, and its audited changes are the differences', () => {
    fc.assert(
      fc.property(patches, patches, (first, second) => {
        const before = patchedTenant(tenant(), first)
        const after = patchedTenant(before, second)

        expect(patchedTenant(after, second)).toEqual(after)
        const changes = changesBetween(before, after)
        const flat = ({ name, settings }: Tenant): object => ({ name, ...settings })
        expect({ ...flat(before), ...(changes?.after as object) }).toMatchObject(
          Object.fromEntries(Object.entries(flat(after)).filter(([, value]) => value !== undefined)),
        )
        expect(changesBetween(after, after)).toBeUndefined()
      }),
    )
  })
})

describe('a tenant’s own limits', () => {
  test('may be as high as the instance’s, or as those of the operator', () => {
    expect(limitErrors(tenant(), { rate_limits: { read: { per_second: 50, burst: 200 } } }, INSTANCE)).toEqual([])
    expect(limitErrors(tenant(), { rate_limits: { read: { per_second: 51, burst: 201 } } }, INSTANCE)).toEqual([
      { pointer: '/rate_limits/read/per_second', detail: 'must be at most 50' },
      { pointer: '/rate_limits/read/burst', detail: 'must be at most 200' },
    ])
    const granted = patchedByOperator(tenant(), { rate_limits: { read: { per_second: 500 } } })
    expect(limitErrors(granted, { rate_limits: { read: { per_second: 500, burst: 2_000 } } }, INSTANCE)).toEqual([])
    expect(limitErrors(granted, { rate_limits: { read: { per_second: 501 } } }, INSTANCE)).toHaveLength(1)
    expect(limitErrors(granted, { rate_limits: { read: null } }, INSTANCE)).toEqual([])
  })
})

describe('limits that the operator sets', () => {
  const readOf = (of: Tenant) => limitsOf(of, INSTANCE).read
  const byItself = (of: Tenant, rate_limits: Parameters<typeof patchedTenant>[1]['rate_limits']): Tenant => {
    expect(limitErrors(of, { rate_limits }, INSTANCE)).toEqual([])
    return patchedTenant(of, { rate_limits })
  }

  test('below the instance’s cannot be raised by the tenant', () => {
    const lowered = patchedByOperator(tenant(), { rate_limits: { read: { per_second: 5, burst: 10 } } })

    expect(readOf(lowered)).toEqual({ perSecond: 5, burst: 10 })
    expect(limitErrors(lowered, { rate_limits: { read: { per_second: 6, burst: 11 } } }, INSTANCE)).toHaveLength(2)
    for (const undone of [null, { read: null }, { read: { per_second: 5 } }]) {
      expect(readOf(byItself(lowered, undone))).toEqual({ perSecond: 5, burst: 10 })
    }
  })

  test('above the instance’s are restored after the tenant has lowered its own', () => {
    const raised = patchedByOperator(tenant(), { rate_limits: { read: { per_second: 500 } } })
    const low = byItself(raised, { read: { per_second: 3 } })

    expect(readOf(low)).toEqual({ perSecond: 3, burst: 12 })
    expect(readOf(byItself(low, { read: { per_second: 500 } }))).toEqual({ perSecond: 500, burst: 2_000 })
    expect(readOf(byItself(low, null))).toEqual({ perSecond: 500, burst: 2_000 })
  })

  test('replace limits that the tenant had lowered, and end with null', () => {
    const low = byItself(tenant(), { read: { per_second: 3 } })

    const given = patchedByOperator(low, { rate_limits: { read: { per_second: 40 }, report: { per_second: 1 } } })
    expect(readOf(given)).toEqual({ perSecond: 40, burst: 160 })
    const partly = patchedByOperator(given, { rate_limits: { read: null } })
    expect([readOf(partly), limitsOf(partly, INSTANCE).report.perSecond]).toEqual([INSTANCE.read, 1])
    expect(patchedByOperator(given, { rate_limits: null })).toEqual(tenant())
    expect(patchedByOperator(given, { name: 'Two' })).toEqual({ ...given, name: 'Two' })
  })

  test('are written to the settings too, and to the audit log', () => {
    const given = patchedByOperator(tenant(), { rate_limits: { read: { per_second: 5 } } })

    expect(given.settings.rate_limits).toEqual({ read: { per_second: 5 } })
    expect(changesBetween(tenant(), given)?.after).toEqual({
      rate_limits: { read: { per_second: 5 } },
      operator_rate_limits: { read: { per_second: 5 } },
    })
  })
})

test('an unknown tenant has the default settings', () => {
  expect(settingsOf(undefined)).toEqual(DEFAULT_SETTINGS)
})
