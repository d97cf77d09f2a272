import { beforeAll, describe, expect, test } from 'vitest'
import { insertRows } from '../../../internal/store/sink.js'
import { CLOSED } from '../../../internal/store/tables/closed.js'
import { parseQuantity, type Quantity } from '../../../internal/units/quantity.js'
import { byPeople, costOf, type ExportBench, launchExports, newTenant, record } from '../../support/export-jobs.js'
import { exact, type FocusRow, sumOf } from '../../support/focus-rules.js'

/** The records in a file, by an exporter on a real broker and a real store. */

let bench: ExportBench
beforeAll(async () => {
  bench = await launchExports()
})

describe('an export contains', () => {
  test('eligible records at 0.80 and above; it counts the others by reason, and both sum to all records', async () => {
    const tenant = newTenant()
    const eligible = [...byPeople(tenant, 6), ...byPeople(tenant, 5, { confidence: 8_000, service: 'chat' })]
    const leftOut = [
      record(tenant, { confidence: 7_999 }),
      record(tenant, { degradationState: 'degraded_serving' }),
      record(tenant, { invocation: { requestedModel: 'no-such-model' } }),
      record(tenant, {}, { exportEligibility: 'disputed' }),
      record(tenant, {}, { exportEligibility: 'cost_upper_bound', costBound: 'upper' }),
      record(tenant, {}, { exportEligibility: 'residency_restricted' }),
      // The floor applies even if the record is marked as eligible.
      record(tenant, {}, { confidence: 7_999, exportEligibility: 'eligible' }),
    ]
    await bench.insert([...eligible, ...leftOut])

    const { rows, manifest } = await bench.exported(tenant)

    expect(sumOf(rows, 'BilledCost')).toBe(exact(costOf(eligible)))
    expect(manifest.exported).toEqual({ count: 11, cost_usd: costOf(eligible) })
    expect(manifest.left_out.map(({ reason, count }) => [reason, count])).toEqual([
      ['advisory', 1],
      ['below_floor', 2],
      ['cost_upper_bound', 1],
      ['disputed', 1],
      ['residency_restricted', 1],
      ['unpriced', 1],
    ])
    const costs = [manifest.exported, ...manifest.left_out].map(
      ({ cost_usd }) => parseQuantity<'USD'>(cost_usd) as bigint,
    )
    expect(manifest.everything.count).toBe(18)
    expect(costs.reduce<bigint>((total, cost) => total + cost, 0n)).toBe(parseQuantity(manifest.everything.cost_usd))
    expect(rows.map((row) => row['x_MinimumConfidence'])).toEqual(['0.8', '0.9'])
  })

  test('the same records by day and meter, and no row for excluded records', async () => {
    const tenant = newTenant()
    const eligible = byPeople(tenant, 6)
    const cached = { inputTokens: 900, cachedInputTokens: 100, eventTimeMs: Date.UTC(2026, 9, 3) }
    const leftOut = [
      record(tenant, { invocation: cached }, { exportEligibility: 'disputed' }),
      record(tenant, { confidence: 7_999, invocation: { requestedModel: 'gpt-4o-mini' } }),
      record(tenant, { confidence: 7_999 }),
    ]
    await bench.insert([...eligible, ...leftOut])

    const { rows, manifest } = await bench.exported(tenant, { group_by: ['owner', 'day', 'meter'] })

    expect(rows.map((row) => [row['ChargePeriodStart'], row['SkuId']])).toEqual([
      ['2026-10-15T00:00:00Z', 'openai/gpt-4o/input'],
      ['2026-10-15T00:00:00Z', 'openai/gpt-4o/output'],
    ])
    expect(sumOf(rows, 'BilledCost')).toBe(exact(costOf(eligible)))
    expect(manifest.exported).toEqual({ count: 6, cost_usd: costOf(eligible) })
    expect(manifest.left_out).toEqual([
      { reason: 'below_floor', count: 2, cost_usd: costOf(leftOut.slice(1)) },
      { reason: 'disputed', count: 1, cost_usd: costOf(leftOut.slice(0, 1)) },
    ])
    expect(manifest.everything).toEqual({ count: 9, cost_usd: costOf([...eligible, ...leftOut]) })
  })

  test('all UTC days of the period, both ends inclusive, in rows by month clipped to the period', async () => {
    const tenant = newTenant()
    const times = [
      '2026-09-09T23:59:59.999Z',
      '2026-09-10T00:00:00Z',
      '2026-09-30T23:59:59.999Z',
      '2026-10-01T00:00:00Z',
      '2026-11-05T23:59:59.999Z',
      '2026-11-06T00:00:00Z',
    ]
    await bench.insert(times.flatMap((time) => byPeople(tenant, 5, { invocation: { eventTimeMs: Date.parse(time) } })))

    const { rows, manifest } = await bench.exported(tenant, { period: { from: '2026-09-10', to: '2026-11-05' } })

    const periodOf = (row: FocusRow) => [
      row['ChargePeriodStart']?.slice(0, 10),
      row['ChargePeriodEnd']?.slice(0, 10),
      row['BillingPeriodStart']?.slice(0, 10),
      row['BillingPeriodEnd']?.slice(0, 10),
      row['x_InvocationCount'],
    ]
    expect(rows.map(periodOf)).toEqual([
      ['2026-09-10', '2026-10-01', '2026-09-01', '2026-10-01', '10'],
      ['2026-10-01', '2026-11-01', '2026-10-01', '2026-11-01', '5'],
      ['2026-11-01', '2026-11-06', '2026-11-01', '2026-12-01', '5'],
    ])
    expect(manifest.period).toEqual({ from: '2026-09-10', to: '2026-11-05', is_complete: true })
  })

  test('a mark if the period has not ended', async () => {
    const today = new Date().toISOString().slice(0, 10)
    const { manifest } = await bench.exported(newTenant(), { period: { from: today, to: '2027-01-31' } })

    expect(manifest.period.is_complete).toBe(false)
  })

  test('times without fractional seconds, as FOCUS requires', async () => {
    const { manifest } = await bench.exported(newTenant())

    const times = [...JSON.stringify(manifest.focus).matchAll(/"(\d{4}-\d\d-\d\dT[^"]*)"/g)].map(([, time]) => time)
    expect(times).toHaveLength(6)
    for (const time of times) expect(time).toMatch(/T\d\d:\d\d:\d\dZ$/)
  })

  test('totals with the number of calls without energy and carbon: a lower bound unless it is zero', async () => {
    const tenants = { known: newTenant(), unknown: newTenant(), none: newTenant(), estimated: newTenant() }
    const nobodyKnows = { energyBasis: 'unknown', energyWh: 0n as Quantity<'Wh'> } as const
    await bench.insert([
      ...byPeople(tenants.known, 5),
      ...byPeople(tenants.unknown, 5),
      record(tenants.unknown, {}, nobodyKnows),
      ...byPeople(tenants.estimated, 5),
      record(tenants.estimated, {}, { energyBasis: 'class_estimate' }),
    ])
    const boundsOf = async (tenant: string) => {
      const { energy_is_lower_bound, carbon_is_lower_bound } = (await bench.exported(tenant)).manifest.totals
      return [energy_is_lower_bound, carbon_is_lower_bound]
    }

    expect(await boundsOf(tenants.known)).toEqual([false, false])
    expect(await boundsOf(tenants.unknown)).toEqual([true, false])
    expect(await boundsOf(tenants.none)).toEqual([false, false])
    expect(await boundsOf(tenants.estimated)).toEqual([false, false])
    const estimatedOf = async (tenant: string) => {
      const { manifest, rows } = await bench.exported(tenant, { group_by: ['owner'] })
      return [manifest.totals.energy_has_class_estimates, rows.map((row) => row['x_EnergyHasClassEstimates'])]
    }
    expect(await estimatedOf(tenants.estimated)).toEqual([true, ['true']])
    expect(await estimatedOf(tenants.unknown)).toEqual([false, ['false']])
  })

  test('only a header and a manifest when there are no records', async () => {
    const { header, rows, manifest, job } = await bench.exported(newTenant())

    expect(header).toContain('BilledCost')
    expect(rows).toEqual([])
    expect(job.result?.rows).toBe(0)
    expect(manifest).toMatchObject({
      exported: { count: 0, cost_usd: '0' },
      left_out: [],
      totals: { billed_cost: '0' },
    })
  })

  test('records as of the snapshot of the job: no later ones, and none that were already closed', async () => {
    const tenant = newTenant()
    const before = byPeople(tenant, 5)
    const closed = byPeople(tenant, 5, { service: 'closed' })
    const asOfMs = Date.UTC(2026, 10, 10)
    const later = byPeople(tenant, 5, { service: 'later' }).map((row) => ({ ...row, validFromMs: asOfMs + 1 }))
    const closedLater = byPeople(tenant, 5, { service: 'closed-later' })
    await bench.insert([...before, ...closed, ...later, ...closedLater])
    const closings = [...closed, ...closedLater].map((version, i) => ({
      version,
      closedAtMs: i < closed.length ? asOfMs : asOfMs + 1,
      change: 'override' as const,
      changeId: 'chg',
      actor: 'cli',
    }))
    await insertRows(bench.store.client, CLOSED, closings, tenant)

    const { rows } = await bench.exported(tenant, {}, { newestComplete: async () => asOfMs })

    expect(rows.map((row) => row['Tags']).sort()).toEqual([
      '{"owner":"team-search","service":"closed-later"}',
      '{"owner":"team-search","service":"search"}',
    ])
  })

  test('no records of other tenants', async () => {
    const [one, other] = [newTenant(), newTenant()]
    await bench.insert([...byPeople(one, 5, { service: 'ours' }), ...byPeople(other, 5, { service: 'theirs' })])

    const { rows } = await bench.exported(one)

    expect(rows.map((row) => [row['BillingAccountId'], row['Tags']])).toEqual([
      [one, '{"owner":"team-search","service":"ours"}'],
    ])
  })
})
