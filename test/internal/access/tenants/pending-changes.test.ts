import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CHANGE_DELAY_MS,
  pendingOf,
  splitPatch,
  withDueChanges,
  withPending,
} from '../../../../internal/access/tenants/pending-changes.js'
import type { SettingsPatch } from '../../../../internal/access/tenants/tenant-contract.js'
import {
  changesBetween,
  patchedByOperator,
  patchedTenant,
} from '../../../../internal/access/tenants/tenant-settings.js'
import { DEFAULT_SETTINGS, settingsOf, type Tenant } from '../../../../internal/auth/tenant.js'

const NOW_MS = Date.UTC(2026, 10, 24)

const tenant = (settings: Partial<Tenant['settings']> = {}): Tenant => ({
  id: 'tnt_one',
  name: 'One',
  created_at: '2026-11-21T00:00:00.000Z',
  settings: { ...DEFAULT_SETTINGS, retention_days: 400, ...settings },
})
/** The tenant after its own patch. */
function patchedBy(of: Tenant, patch: SettingsPatch, nowMs = NOW_MS): Tenant {
  const { patch: now, pending } = splitPatch(of, patch, 'usr_one', nowMs)
  return withPending(patchedTenant(of, now, nowMs), pending)
}
const waiting = (of: Tenant) => pendingOf(of).map(({ setting, to }) => [setting, to])

describe('a change that destroys data, or decides where it may be', () => {
  test.each<[string, Partial<Tenant['settings']>, SettingsPatch, boolean]>([
    ['shorter retention', {}, { retention_days: 90 }, true],
    ['longer retention', {}, { retention_days: 500 }, false],
    ['the same retention', {}, { retention_days: 400 }, false],
    ['a first region', {}, { residency_region: 'eu-central-1' }, true],
    ['another region', { residency_region: 'eu-central-1' }, { residency_region: 'us-east-1' }, true],
    ['no region any more', { residency_region: 'eu-central-1' }, { residency_region: null }, true],
    ['the same region', { residency_region: 'eu-central-1' }, { residency_region: 'eu-central-1' }, false],
  ])('is one of the changes that wait: %s', (_, settings, patch, waits) => {
    const before = tenant(settings)
    const changed = patchedBy(before, patch)

    expect(waiting(changed)).toEqual(waits ? Object.entries(patch) : [])
    const expected = waits ? settingsOf(before) : { ...settingsOf(before), ...patch }
    expect(settingsOf(changed)).toEqual(expected)
  })

  test('waits a day from its first request, and not longer when it is requested again', () => {
    const asked = patchedBy(tenant(), { retention_days: 90, stage_b_enabled: false })
    const again = patchedBy(asked, { retention_days: 90 }, NOW_MS + 1_000)

    expect(settingsOf(asked).stage_b_enabled).toBe(false)
    expect(pendingOf(asked)).toEqual([
      {
        setting: 'retention_days',
        to: 90,
        requested_by: 'usr_one',
        requested_at: '2026-11-24T00:00:00.000Z',
        takes_effect_at: '2026-11-25T00:00:00.000Z',
      },
    ])
    expect(pendingOf(again)).toEqual(pendingOf(asked))
    expect(changesBetween(tenant(), asked)?.after).toMatchObject({ pending_changes: pendingOf(asked) })
  })

  test('is replaced by another value, from now on, and cancelled by one that destroys nothing', () => {
    const asked = patchedBy(tenant(), { retention_days: 90 })

    const shorter = patchedBy(asked, { retention_days: 30 }, NOW_MS + 1_000)
    expect(pendingOf(shorter)).toMatchObject([{ to: 30, takes_effect_at: '2026-11-25T00:00:01.000Z' }])
    expect(waiting(patchedBy(asked, { retention_days: 400 }))).toEqual([])
    const longer = patchedBy(asked, { retention_days: 500 })
    expect([settingsOf(longer).retention_days, waiting(longer)]).toEqual([500, []])
    expect(waiting(patchedBy(asked, { name: 'Two' }))).toEqual([['retention_days', 90]])
  })

  test('applies when its time has come, with what it was before', () => {
    const asked = patchedBy(tenant({ residency_region: 'eu-central-1' }), { retention_days: 90 })
    const both = patchedBy(asked, { residency_region: null }, NOW_MS + 1_000)

    expect(withDueChanges(both, NOW_MS + CHANGE_DELAY_MS - 1)).toBeUndefined()
    const applied = withDueChanges(both, NOW_MS + CHANGE_DELAY_MS)
    expect(applied && settingsOf(applied)).toMatchObject({ retention_days: 90, residency_region: 'eu-central-1' })
    expect(applied && waiting(applied)).toEqual([['residency_region', null]])
    expect(applied?.applied_changes).toMatchObject([{ setting: 'retention_days', from: 400, to: 90 }])
  })

  test('does not wait for the operator, whose change also replaces a waiting one', () => {
    const asked = patchedBy(tenant(), { retention_days: 90 })
    const changed = patchedByOperator(asked, { retention_days: 60 }, NOW_MS)

    expect([settingsOf(changed).retention_days, waiting(changed)]).toEqual([60, []])
  })
})

test('within a day of any patches by a tenant, no setting destroys more than before, and no region changes', () => {
  const regions = fc.constantFrom('eu-central-1', 'us-east-1', null)
  const patch = fc.record(
    {
      retention_days: fc.integer({ min: 30, max: 3_650 }),
      residency_region: regions,
      stage_b_enabled: fc.boolean(),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<SettingsPatch>
  fc.assert(
    fc.property(
      regions,
      fc.array(fc.tuple(patch, fc.nat(CHANGE_DELAY_MS - 1)), { maxLength: 6 }),
      (region, patches) => {
        let now = tenant({ residency_region: region })
        for (const [one, laterMs] of patches.sort(([, a], [, b]) => a - b)) {
          const before = settingsOf(now)
          now = withDueChanges(now, NOW_MS + laterMs) ?? now
          now = patchedBy(now, one, NOW_MS + laterMs)
          const { retention_days, residency_region } = settingsOf(now)

          expect(retention_days).toBeGreaterThanOrEqual(before.retention_days)
          expect(residency_region).toBe(region)
          // What was asked for is cancelled by stating what holds.
          expect(waiting(patchedBy(now, { residency_region }, NOW_MS + laterMs)).map(([name]) => name)).not.toContain(
            'residency_region',
          )
          expect(new Set(pendingOf(now).map(({ setting }) => setting)).size).toBe(pendingOf(now).length)
        }
      },
    ),
  )
})
