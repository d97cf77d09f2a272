import { sameCalls } from '../../../internal/attribution/changes/same-call.js'
import type { Invocation } from '../../../internal/invocations/invocation.js'
import { decodeGroup, encodeEntry, encodeGroup } from '../../../internal/invocations/invocation-group.js'
import type { InvocationEvent } from '../../../internal/invocations/invocation-schema.js'
import { canonicalProvider } from '../../../internal/records/provider-names.js'
import { formatQuantity } from '../../../internal/units/quantity.js'
import { loadPriceBook } from '../../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../../internal/valuation/cost/price-invocation.js'
import { idOf, validEvent } from '../invocations.js'
import { finishedRow } from '../rows.js'
import type { Bill, Recording } from './recording.js'
import type { Replay } from './replay.js'

const BOOK = loadPriceBook()

/** What of a record can differ from the ledger. */
export type Difference =
  | 'no record'
  | 'twice'
  | 'provider'
  | 'model'
  | 'input'
  | 'output'
  | 'cache read'
  | 'cache write'
  | 'cache write 1h'
  | 'reasoning'
  | 'tier'
  | 'outcome'
  | 'unpriced'
  | 'dollars'

export interface Compared {
  readonly bill: Bill
  /** Records of the call: one, or the client's call is missing or doubled. */
  readonly records: number
  readonly differences: readonly Difference[]
  readonly billedUsd: number
  /** The sum of its records. */
  readonly recordedUsd: number
}

/** A record, as far as it is compared, whether it was only computed or is shown by the API. */
export interface Recorded extends Cost {
  readonly event: InvocationEvent
  /** Number of the bill for its call. */
  readonly bill: number | undefined
}

/** The bills of a recording beside the records of their calls. */
export const compare = ({ bills }: Pick<Recording, 'bills'>, records: readonly Recorded[]): readonly Compared[] =>
  bills.map((bill) => {
    const ofCall = records.filter((each) => each.bill === bill.n)
    const [best] = ofCall.map((record) => differencesOf(bill, record)).sort((one, other) => one.length - other.length)
    const differences: Difference[] = [
      ...(best ?? ['no record' as const]),
      ...(ofCall.length > 1 ? ['twice' as const] : []),
    ]
    const recordedUsd = ofCall.reduce((sum, { usd }) => sum + Number(usd), 0)
    return { bill, records: ofCall.length, differences, billedUsd: Number(billedOf(bill).usd), recordedUsd }
  })

/**
 * Events as records: several that show one call are one. Of them the event counts that is nearest to the bill, since
 * after a merge the better of each count stays.
 */
export function recordedOf({ bills }: Pick<Recording, 'bills'>, { events }: Replay): readonly Recorded[] {
  const records = events.map(({ event, bill }) => ({ event, bill, ...costOf(event) }))
  const rows = events.map(({ event, intake }, at) =>
    finishedRow({ id: idOf(at), intake, principal: 'key_one', invocation: invocationOf(event) }),
  )
  const faults = ({ bill, ...record }: Recorded): number => {
    const billed = bills.find(({ n }) => n === bill)
    return billed === undefined ? 0 : differencesOf(billed, { bill, ...record }).length
  }
  for (const { winner, absorbed } of sameCalls(rows.map((row) => ({ row }))).pairs) {
    const [stays, goes] = [winner, absorbed].map((id) => Number(`0x${id.slice(8, 16)}`)) as [number, number]
    const [one, other] = [records[stays], records[goes]]
    if (one === undefined || other === undefined) throw new Error('a record is merged twice')
    const isOtherBetter = one.bill === other.bill && faults(other) < faults(one)
    if (isOtherBetter) records[stays] = other
    delete records[goes]
  }
  return records.filter((record) => record !== undefined)
}

/** Records that cost something and for which nothing was billed. */
export const unbilled = (records: readonly Recorded[]): number =>
  records.filter(({ bill, usd }) => bill === undefined && Number(usd) > 0).length

function differencesOf(bill: Bill, { event, ...is }: Recorded): Difference[] {
  const differs: Difference[] = []
  const check = (name: Difference, isRight: boolean): void => void (isRight || differs.push(name))
  check('provider', idOfProvider(event.provider) === idOfProvider(bill.provider))
  const names = [bill.model, bill.served ?? bill.model]
  check('model', names.includes(event.served_model ?? '') || names.includes(event.requested_model))
  if (bill.hungUp === true) {
    check('outcome', event.outcome === 'cancelled')
    return differs
  }
  if (bill.fromCache !== true) {
    const written5m = event.cache_write_5m_tokens ?? 0
    const written1h = event.cache_write_1h_tokens ?? 0
    check('input', (event.input_tokens ?? 0) === bill.input)
    check('output', (event.output_tokens ?? 0) === bill.output)
    check('cache read', (event.cached_input_tokens ?? 0) === (bill.cacheRead ?? 0))
    check('cache write', (event.cache_write_tokens ?? written5m + written1h) === (bill.cacheWrite ?? 0))
    check('cache write 1h', written1h === (bill.cacheWrite1h ?? 0))
    check('reasoning', (event.reasoning_tokens ?? 0) === (bill.reasoning ?? 0))
    check('tier', (event.service_tier ?? 'standard') === (bill.tier ?? 'standard'))
  }
  const wanted = billedOf(bill)
  if (is.basis === 'unpriced' && wanted.basis !== 'unpriced') differs.push('unpriced')
  else check('dollars', isSame(is.usd, wanted.usd))
  return differs
}

const idOfProvider = (name: string): string => canonicalProvider(name) ?? name

/** Equal in 15 digits, as far as a double goes with which a client computed it. */
const isSame = (one: string, other: string): boolean => Number(one).toPrecision(14) === Number(other).toPrecision(14)

/** The event that would state exactly what was billed. */
function eventOf(bill: Bill): InvocationEvent {
  const { cacheWrite = 0, cacheWrite1h = 0 } = bill
  return validEvent({
    provider: bill.provider,
    requested_model: bill.model,
    ...(bill.served !== undefined && { served_model: bill.served }),
    ingestion_timestamp: '2026-11-28T21:00:00Z',
    input_tokens: bill.input,
    output_tokens: bill.output,
    cached_input_tokens: bill.cacheRead ?? 0,
    cache_write_tokens: cacheWrite,
    cache_write_5m_tokens: cacheWrite - cacheWrite1h,
    cache_write_1h_tokens: cacheWrite1h,
    reasoning_tokens: bill.reasoning ?? 0,
    ...(bill.audioInput !== undefined && { audio_input_tokens: bill.audioInput }),
    ...(bill.audioOutput !== undefined && { audio_output_tokens: bill.audioOutput }),
    ...(bill.imageOutput !== undefined && { image_output_tokens: bill.imageOutput }),
    ...(bill.webSearches !== undefined && { web_search_calls: bill.webSearches }),
    ...(bill.tier !== undefined && { service_tier: bill.tier }),
    ...(bill.speed !== undefined && { speed: bill.speed }),
    ...(bill.units !== undefined && {
      billed_units: Object.fromEntries(Object.entries(bill.units).map(([unit, count]) => [unit, String(count)])),
    }),
    ...(bill.fromCache === true && { served_from_cache: true }),
  })
}

function billedOf(bill: Bill): Cost {
  if (bill.hungUp === true) return { usd: '0', basis: 'unpriced' }
  return bill.usd === undefined ? costOf(eventOf(bill)) : { usd: String(bill.usd), basis: 'stated' }
}

interface Cost {
  readonly usd: string
  readonly basis: string
}

function costOf(event: InvocationEvent): Cost {
  const { costUsd, basis } = priceInvocation(invocationOf(event), BOOK)
  return { usd: formatQuantity(costUsd), basis }
}

/** As the log carries it to the stages. */
function invocationOf(event: InvocationEvent): Invocation {
  const admission = { tenantId: 'tnt_one', principal: 'key_one', id: idOf(1), receivedAtMs: 0 }
  const [admitted] = decodeGroup(encodeGroup([encodeEntry(admission, event)]), 1)
  if (admitted === undefined) throw new Error('an entry was lost')
  return admitted.invocation
}
