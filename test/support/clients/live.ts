import { setTimeout as sleep } from 'node:timers/promises'
import type { Ask } from '../ask.js'
import type { ShownRecord } from '../attributed.js'
import type { Recorded } from './ledger.js'
import type { Bill } from './recording.js'

/** Records of a service, once no more have come for a while. */
export async function recordsOf(ask: Ask, service: string, wanted: number): Promise<readonly ShownRecord[]> {
  let ids: readonly string[] = []
  let since = Date.now()
  const end = since + WAIT_MS_MAX
  while (Date.now() < end && (ids.length < wanted || Date.now() - since < QUIET_MS)) {
    await sleep(250)
    const { status, json } = await ask('GET', `/v1/attribution?limit=200&filter[service][eq]=${service}`)
    if (status !== 200) continue
    const now: readonly string[] = json.data.map(({ id }: ShownRecord) => id)
    if (now.length !== ids.length) since = Date.now()
    ids = now
    if (ids.length === 0 && Date.now() - since > NOTHING_MS) break
  }
  const records: ShownRecord[] = []
  for (const id of ids) records.push((await ask('GET', `/v1/attribution/${id}`)).json)
  return records
}

const WAIT_MS_MAX = 40_000
const QUIET_MS = 3_000
const NOTHING_MS = 12_000

/** What the API shows of records, each beside the bill for its call. */
export function recordedOf(records: readonly ShownRecord[], bills: readonly Bill[]): readonly Recorded[] {
  const matched = records.map((record) => ({ record, bill: billOf(record, bills) }))
  const free = bills.filter((bill) => matched.every((each) => each.bill !== bill))
  // What states neither an id nor counts: calls of one model, in their order.
  const unknown = matched.filter(({ bill }) => bill === undefined).sort((one, other) => startOf(one) - startOf(other))
  for (const each of unknown) {
    const at = free.findIndex(({ model }) => model === each.record.requested_model)
    if (at >= 0) each.bill = free.splice(at, 1)[0]
  }
  return matched.map(({ record, bill }) => shown(record, bill))
}

const startOf = ({ record }: { readonly record: ShownRecord }): number => Date.parse(record.event_time)

function shown(record: ShownRecord, bill: Bill | undefined): Recorded {
  const { cost } = record.explanation
  const of = (...parts: readonly string[]): number =>
    cost.lines
      .filter(({ part }: { part: string }) => parts.includes(part))
      .reduce((sum: number, { tokens }: { tokens: number }) => sum + tokens, 0)
  const event = {
    ...record,
    service_tier: cost.details.price?.service_tier,
    cached_input_tokens: of('cache_read'),
    cache_write_tokens: of('cache_write', 'cache_write_1h'),
    cache_write_1h_tokens: of('cache_write_1h'),
    reasoning_tokens: of('reasoning'),
  }
  return { event, usd: String(record.cost_usd), basis: record.cost_basis, bill: bill?.n }
}

/** No two calls have the same id or the same counts. */
function billOf(record: ShownRecord, bills: readonly Bill[]): Bill | undefined {
  const id = /fake(\d+)$/.exec(record.explanation.source.response_id ?? '')?.[1]
  const byId = bills.find(({ n }) => n === Number(id))
  if (byId !== undefined) return byId
  const { input_tokens: input, output_tokens: output } = record
  const uncached = ({ input, cacheRead = 0, cacheWrite = 0 }: Bill): number => input - cacheRead - cacheWrite
  return (
    bills.find((bill) => bill.input === input && (bill.output === output || bill.output === 0)) ??
    bills.find((bill) => output > 0 && (bill.output === output || bill.output - (bill.reasoning ?? 0) === output)) ??
    bills.find((bill) => input > 0 && uncached(bill) === input)
  )
}
