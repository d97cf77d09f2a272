import type { ClickHouseClient } from '@clickhouse/client'
import { beforeAll, expect, test } from 'vitest'
import { CONFIDENCE_BANDS, EXPORT_ELIGIBILITIES } from '../../../internal/records/interpretation.js'
import { summarizeRecords } from '../../../internal/store/queries/exports/export-records.js'
import { formatQuantity, parseSum, sum } from '../../../internal/units/quantity.js'
import { TENANT } from '../../support/scope-keys.js'
import { serveReports } from '../../support/serve-reports.js'

/** What a report says can be charged, of calls of every eligibility, band and state, beside what an export takes. */

const NOW_MS = Date.UTC(2026, 9, 20)
const [FROM_MS, TO_MS] = [Date.UTC(2026, 8, 1), Date.UTC(2026, 9, 1)]
const CONFIDENCE = { chargeback_ready: '0.9', provisional: '0.6', estimated: '0.3' }
const NOBODYS = ['', 'service', 'owner'] as const
const CALLS = CONFIDENCE_BANDS.flatMap((band) =>
  EXPORT_ELIGIBILITIES.flatMap((eligibility) => NOBODYS.map((nobodys) => ({ band, eligibility, nobodys }))),
).map((call, i) => ({ ...call, i, cost: `${i + 1}.00000000000000000${i % 10}` }))
const isCharged = ({ band, eligibility }: (typeof CALLS)[number]): boolean =>
  eligibility === 'eligible' && band === 'chargeback_ready'

let client: ClickHouseClient
let url: string
beforeAll(async () => {
  ;({ client, url } = await serveReports(NOW_MS))
  const rowOf = (stated: Record<string, unknown>, i: number) => ({
    tenant_id: TENANT,
    id: String(i).padStart(16, '0'),
    event_time: '2026-09-05 10:00:00.000',
    valid_from: '2026-09-05 10:00:01.000',
    // Of the twelve services those of three people are folded.
    service: `service-${i % 12}`,
    owner: 'team-a',
    identity_hash: `${i % 12 < 3 ? i % 3 : i % 7}`.padEnd(16, 'x'),
    stage_origin: 'stage_a',
    output_state: 'deterministically_resolved',
    ...stated,
  })
  const own = CALLS.map(({ band, eligibility, nobodys, i, cost }) =>
    rowOf(
      {
        cost_usd: cost,
        confidence: CONFIDENCE[band],
        confidence_band: band,
        export_eligibility: eligibility,
        ...(nobodys === 'service' && { output_state: 'unresolved' }),
        ...(nobodys === 'owner' && { owner: 'unassigned' }),
      },
      i,
    ),
  )
  const pooled = ['unresolved', 'allocated', 'disputed'].map((state, i) =>
    rowOf(
      {
        ...{ service: 'unallocated', owner: 'unallocated', stage_origin: 'stage_c', output_state: state },
        ...{ cost_usd: `0.${'7'.repeat(17)}${i}`, confidence: '0.1', confidence_band: 'estimated' },
        ...{ export_eligibility: state === 'disputed' ? 'disputed' : 'below_floor', identity_hash: '\0'.repeat(16) },
      },
      1_000 + i,
    ),
  )
  await client.insert({ table: 'attributions', values: [...own, ...pooled], format: 'JSONEachRow' })
  await client.insert({
    table: 'allocation_weights',
    values: [7, 8, 9].map((service, i) => ({
      ...{ tenant_id: TENANT, as_of: '2026-09-30 22:00:00.000', owner: 'team-a', is_shown: true },
      ...{ service: `service-${service}`, weight: ['0.333333', '0.333334', '0.333333'][i] },
    })),
    format: 'JSONEachRow',
  })
})

interface Row {
  readonly folded: boolean
  readonly cost_usd: string
  readonly cost_usd_by_trust: Readonly<Record<string, string>>
}
async function rowsOf(query: string): Promise<readonly Row[]> {
  const answer = await fetch(`${url}/v1/reports/usage?from=2026-09-01&to=2026-10-01&limit=200&${query}`, {
    headers: { 'x-api-key': `${TENANT}:read:reporting` },
  })
  expect(answer.status).toBe(200)
  const { data, report } = (await answer.json()) as { data: Row[]; report: object }
  expect(report).toMatchObject({ min_cohort: 5 })
  return data
}
const added = (amounts: readonly string[]): string => formatQuantity(sum(amounts.map((text) => parseSum<'USD'>(text))))
const partOf = (rows: readonly Row[], part: string): string =>
  added(rows.map((row) => row.cost_usd_by_trust[part] ?? 'missing'))

test.each([
  '',
  'group_by=service',
  'group_by=export_eligibility',
  'group_by=owner,service',
  'group_by=service&compare=previous',
  'group_by=service&allocate=true',
  'group_by=owner&interval=day&allocate=true',
])('?%s: can be charged what an export takes, and each row is the sum of its parts', async (query) => {
  const asked = { tenantId: TENANT, asOfMs: NOW_MS, fromMs: FROM_MS, toMs: TO_MS, filters: [], hasClosed: false }
  const summaries = await summarizeRecords(client, asked, false, AbortSignal.timeout(60_000))
  const exported = summaries.find(({ reason }) => reason === 'eligible')?.cost ?? ''
  const rows = await rowsOf(query)

  expect(partOf(rows, 'eligible')).toBe(added([exported]))
  expect(partOf(rows, 'eligible')).toBe(added(CALLS.filter(isCharged).map(({ cost }) => cost)))
  const notCharged = CALLS.filter((call) => !isCharged(call))
  const attributed = notCharged.filter(({ nobodys }) => nobodys === '')
  const costOf = (band: string): string =>
    added(attributed.filter((call) => call.band === band).map(({ cost }) => cost))
  expect([partOf(rows, 'held_back'), partOf(rows, 'provisional')]).toEqual([
    costOf('chargeback_ready'),
    costOf('provisional'),
  ])
  for (const row of rows) {
    const parts = Object.values(row.cost_usd_by_trust)
    expect(added(parts)).toBe(row.cost_usd)
    expect(parts.filter((part) => part.startsWith('-'))).toEqual([])
  }
  expect(rows.some(({ folded }) => folded)).toBe(/service|eligibility/.test(query))
})
