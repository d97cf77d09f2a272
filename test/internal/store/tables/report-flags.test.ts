import { beforeAll, expect, test } from 'vitest'
import { eraseIdentity } from '../../../../internal/store/erasure.js'
import { insertRows } from '../../../../internal/store/sink.js'
import { ATTRIBUTIONS } from '../../../../internal/store/tables/attributions.js'
import { hasAny, type ReportFlag } from '../../../../internal/store/tables/report-flags.js'
import { type Database, openDatabase } from '../../../support/database.js'
import { idOf } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

/** What each flag says of a record. */
const TEXTS = {
  unpriced: "cost_basis = 'unpriced'",
  energy_unknown: "energy_basis = 'unknown'",
  carbon_unknown: "carbon_basis = 'unknown'",
  chargeback_ready: "confidence_band = 'chargeback_ready'",
  provisional: "confidence_band = 'provisional'",
  default_pool: "output_state = 'unresolved'",
  no_owner: "owner = 'unassigned'",
  below_floor: "export_eligibility = 'below_floor'",
  advisory: "export_eligibility = 'advisory'",
  implausible_cost: "export_eligibility = 'implausible_cost'",
  ambiguous_usage: "export_eligibility = 'ambiguous_usage'",
  cost_upper_bound: "cost_bound = 'upper'",
  energy_class_estimate: "energy_basis = 'class_estimate'",
} as const satisfies Readonly<Record<ReportFlag, string>>
const NAMES = Object.keys(TEXTS) as ReportFlag[]

const row = finishedRow({ id: idOf(1) })
/** A record with each flag alone, one with all, one with none, one whose owner is a person. */
const ROWS = [
  { ...row, costBasis: 'unpriced' },
  { ...row, energyBasis: 'unknown' },
  { ...row, carbonBasis: 'unknown' },
  { ...row, confidenceBand: 'provisional' },
  { ...row, confidenceBand: 'estimated', outputState: 'unresolved' },
  { ...row, owner: 'unassigned' },
  { ...row, exportEligibility: 'below_floor' },
  { ...row, exportEligibility: 'advisory' },
  { ...row, exportEligibility: 'implausible_cost' },
  { ...row, exportEligibility: 'ambiguous_usage' },
  { ...row, exportEligibility: 'cost_upper_bound', costBound: 'upper' },
  { ...row, exportEligibility: 'disputed', costBound: 'upper' },
  { ...row, costBound: 'lower' },
  { ...row, energyBasis: 'class_estimate' },
  { ...row, confidenceBand: 'estimated' },
  { ...row, owner: 'ann@example.com' },
].map((each, i) => ({ ...each, id: idOf(i + 10) })) as (typeof row)[]

const counted = async (conditions: readonly string[]) => {
  const result = await store.client.query({
    query: `SELECT ${conditions.map((each) => `toUInt32(countIf(${each}))`).join(', ')} FROM attributions`,
    format: 'JSONCompactEachRow',
  })
  return (await result.json<number[]>())[0]
}

test('flags say of records what their columns say, also after an erasure', async () => {
  await insertRows(store.client, ATTRIBUTIONS, ROWS, 'flags')
  const texts = NAMES.map((name) => TEXTS[name])
  const flags = NAMES.map((name) => hasAny([name]))
  const together = hasAny(['default_pool', 'no_owner'])

  const [stated, found] = [await counted(texts), await counted(flags)]
  const [either] = (await counted([together])) ?? []
  await eraseIdentity(store.client, {
    tenantId: row.tenantId,
    hash: '00'.repeat(15).concat('01'),
    name: 'ann@example.com',
  })
  const [statedLater, foundLater] = [await counted(texts), await counted(flags)]

  expect(found).toEqual(stated)
  expect(stated?.every((count) => count > 0)).toBe(true)
  expect(either).toBe(2)
  expect(foundLater).toEqual(statedLater)
})
