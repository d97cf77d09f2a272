import type { LastRecord, RecordedSource } from '../../store/queries/reports/recorded-sources.js'
import type { ReceivedFrom } from './received-counts.js'
import { shownSender } from './sender.js'

/** How often something happened, of which service where that is known. */
export interface ReasonCount {
  readonly reason: string
  /** '' where nothing tells. */
  readonly service: string
  count: number
  lastAtMs: number
}

/** What one sender sent with one credential, and what became of it. */
export interface SourceRow {
  readonly principal: string
  readonly intake: string
  /** The instrumentation scope; of other intakes the product that sent most. */
  sender: string
  readonly versions: Set<string>
  readonly services: Set<string>
  lastReceivedAtMs: number
  /** Of a new call; 0: none. */
  lastCallAtMs: number
  received: number
  /** Received calls that were received before. */
  duplicates: number
  calls: number
  merged: number
  unpriced: number
  withoutService: number
  perhapsTwice: number
  /** Of the call that was received last. */
  last: LastRecord | undefined
  readonly passedOver: ReasonCount[]
  readonly rejected: ReasonCount[]
  readonly refusedRequests: ReasonCount[]
  readonly lacking: ReasonCount[]
  readonly fieldNames: Set<string>
}

const TELEMETRY = 'otlp'

/**
 * The sources of a tenant: what was counted as it arrived beside the records that came of it. Telemetry is split
 * by instrumentation scope; other intakes have one program behind a credential, in its versions.
 */
export function sourcesOf(received: readonly ReceivedFrom[], recorded: readonly RecordedSource[]): SourceRow[] {
  const rows = new Map<string, SourceRow>()
  const rowOf = (principal: string, intake: string, sender: string): SourceRow => {
    const key = JSON.stringify([principal, intake, intake === TELEMETRY ? sender : ''])
    const known = rows.get(key) ?? emptyRow(principal, intake, sender)
    rows.set(key, known)
    return known
  }
  const most = [...received].sort((one, other) => other.counts.received - one.counts.received)
  for (const each of most) addReceived(rowOf(each.source.principal, each.source.intake, each.source.name), each)
  for (const each of recorded) {
    const row = rowOf(each.principal, each.intake, shownSender(each.instrumentation.replace(LOG_SUFFIX, '')))
    row.calls += each.calls
    row.merged += each.merged
    row.unpriced += each.unpriced
    row.withoutService += each.withoutService
    row.perhapsTwice += each.perhapsTwice
    if (each.last !== undefined && each.last.receivedAtMs >= (row.last?.receivedAtMs ?? 0)) row.last = each.last
  }
  return [...rows.values()]
}

/** Logs and spans of one scope are two observers of a call, and one sender. */
const LOG_SUFFIX = / \(log\)$/

const emptyRow = (principal: string, intake: string, sender: string): SourceRow => ({
  principal,
  intake,
  sender,
  versions: new Set(),
  services: new Set(),
  lastReceivedAtMs: 0,
  lastCallAtMs: 0,
  received: 0,
  duplicates: 0,
  calls: 0,
  merged: 0,
  unpriced: 0,
  withoutService: 0,
  perhapsTwice: 0,
  last: undefined,
  passedOver: [],
  rejected: [],
  refusedRequests: [],
  lacking: [],
  fieldNames: new Set(),
})

function addReceived(row: SourceRow, { source, counts }: ReceivedFrom): void {
  if (row.sender === '') row.sender = source.name
  if (source.version !== '') row.versions.add(source.version)
  if (source.service !== '') row.services.add(source.service)
  row.lastReceivedAtMs = Math.max(row.lastReceivedAtMs, counts.lastAtMs)
  row.lastCallAtMs = Math.max(row.lastCallAtMs, counts.lastCallAtMs)
  row.received += counts.received
  row.duplicates += counts.duplicates
  for (const part of ['passedOver', 'rejected', 'refusedRequests', 'lacking'] as const) {
    for (const [reason, counted] of counts[part].entries()) addReason(row[part], reason, source.service, counted)
  }
  for (const name of counts.fieldNames) row.fieldNames.add(name)
}

function addReason(
  counts: ReasonCount[],
  reason: string,
  service: string,
  { count, lastAtMs }: Pick<ReasonCount, 'count' | 'lastAtMs'>,
): void {
  const known = counts.find((each) => each.reason === reason && each.service === service)
  if (known === undefined) counts.push({ reason, service, count, lastAtMs })
  else {
    known.count += count
    known.lastAtMs = Math.max(known.lastAtMs, lastAtMs)
  }
}

export const totalOf = (counts: readonly ReasonCount[]): number => counts.reduce((sum, { count }) => sum + count, 0)
