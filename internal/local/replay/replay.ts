import { setTimeout as sleep } from 'node:timers/promises'
import { parseQuantity, plus, type Quantity, type Unit, zero } from '../../units/quantity.js'
import type { ServiceClient } from './client.js'
import { type TraceRow, uuidV5 } from './trace.js'

export interface ReplaySettings {
  /** As a multiple of the recorded speed. The order and the relative gaps are kept. */
  readonly speed: number
  /** Namespace of the event ids: the same namespace gives the same ids. */
  readonly eventIdNamespace: string
  /** The event in its wire form, without id and time. */
  readonly eventOf: (row: TraceRow) => Readonly<Record<string, unknown>>
  /** Called with the number of events accepted so far, and how long the others will take. */
  readonly onProgress: (taken: number, leftMs: number) => void
}

export interface ReplaySummary {
  readonly sent: number
  /** Records found for the events that were sent. */
  readonly attributed: number
  readonly costUsd: Quantity<'USD'>
  readonly energyWh: Quantity<'Wh'>
  readonly carbonGco2e: Quantity<'gCO2e'>
  readonly unpriced: number
  /** Milliseconds from the 202 until the API shows the record, sorted; for a sample of the events. */
  readonly visibleAfterMs: readonly number[]
}

/** Limit of events in flight: the replay waits for a service that is slower than the trace, and drops no event. */
const IN_FLIGHT_MAX = 256
const SAMPLES = 100
const POLL_MS = 25
/** Precision of `visibleAfterMs`: the pause between two reads, as a share of the time waited. */
const POLL_SHARE = 0.05
const VISIBLE_MS_MAX = 60_000
const PAGE_LIMIT = 200

/** Sends a trace as live events, shifted in time so that the last event is now, and reads the resulting records. */
export async function replayTrace(
  rows: readonly TraceRow[],
  service: ServiceClient,
  settings: ReplaySettings,
): Promise<ReplaySummary> {
  const [first, last] = [rows[0], rows.at(-1)]
  if (first === undefined || last === undefined) throw new Error('the trace has no rows')
  const startedAt = Date.now()
  const endsAt = startedAt + (last.arrivedAtMs - first.arrivedAtMs) / settings.speed

  const ids = new Set<string>()
  const inFlight = new Set<Promise<void>>()
  const sightings: Promise<void>[] = []
  const visibleAfterMs: number[] = []
  const sampleEvery = Math.max(1, Math.floor(rows.length / SAMPLES))
  let lagMs = 0
  let failure: unknown
  const fail = (cause: unknown): void => {
    failure ??= cause
  }

  for (const [i, row] of rows.entries()) {
    const dueAt = startedAt + (row.arrivedAtMs - first.arrivedAtMs) / settings.speed
    if (dueAt > Date.now()) await sleep(dueAt - Date.now())
    if (inFlight.size >= IN_FLIGHT_MAX) await Promise.race(inFlight)
    if (failure !== undefined) throw failure
    lagMs = Date.now() - dueAt

    const event = {
      event_id: uuidV5(settings.eventIdNamespace, row.rowId),
      ingestion_timestamp: new Date(Math.floor(endsAt - (last.arrivedAtMs - row.arrivedAtMs))).toISOString(),
      ...settings.eventOf(row),
    }
    const sending = service
      .send(event)
      .then((invocationId) => {
        ids.add(invocationId)
        settings.onProgress(
          ids.size,
          timeLeftMs({ startedAt, endsAt, lagMs, taken: ids.size, total: rows.length }, Date.now()),
        )
        if (i % sampleEvery !== 0) return
        sightings.push(timeToSight(service, invocationId).then((ms) => void visibleAfterMs.push(ms), fail))
      })
      .catch(fail)
      .finally(() => inFlight.delete(sending))
    inFlight.add(sending)
  }
  await Promise.all(inFlight)
  await Promise.all(sightings)
  if (failure !== undefined) throw failure
  visibleAfterMs.sort((one, other) => one - other)
  const earliest = Math.floor(endsAt - (last.arrivedAtMs - first.arrivedAtMs))
  return { sent: rows.length, visibleAfterMs, ...(await sumRecords(service, ids, earliest)) }
}

export interface Progress {
  readonly startedAt: number
  /** When the last event is due. */
  readonly endsAt: number
  /** How late the latest event was sent. */
  readonly lagMs: number
  readonly taken: number
  readonly total: number
}

/** Ends with its trace, whose pace varies; one that lags behind ends when the service has taken the rest. */
export function timeLeftMs({ startedAt, endsAt, lagMs, taken, total }: Progress, nowMs: number): number {
  const byTrace = Math.max(0, endsAt - nowMs)
  if (lagMs < LAG_MS_MIN || taken === 0) return byTrace
  return Math.max(byTrace, ((nowMs - startedAt) / taken) * (total - taken))
}

/** Timers fire late by some milliseconds. */
const LAG_MS_MIN = 1_000

/** The ids `attr_…` and `inv_…` of one call are equal after the prefix. */
const attributionIdOf = (invocationId: string): string => invocationId.replace(/^inv_/, 'attr_')

async function timeToSight(service: ServiceClient, invocationId: string): Promise<number> {
  const takenAt = performance.now()
  for (;;) {
    if ((await service.find(attributionIdOf(invocationId))) !== undefined) return performance.now() - takenAt
    const waitedMs = performance.now() - takenAt
    if (waitedMs > VISIBLE_MS_MAX) throw new Error(`${invocationId} was not visible after one minute`)
    // The pause grows, so that a slow service does not get more reads.
    await sleep(Math.max(POLL_MS, waitedMs * POLL_SHARE))
  }
}

/** A duplicate of an earlier event keeps the time of the first. */
const SENT_BEFORE_MS_MAX = 24 * 60 * 60 * 1000

/** Reads the records, newest first, until all events are found or the records are older than any of them. */
async function sumRecords(service: ServiceClient, ids: ReadonlySet<string>, earliestMs: number) {
  const deadline = performance.now() + VISIBLE_MS_MAX
  for (;;) {
    const total = {
      attributed: 0,
      costUsd: zero<'USD'>(),
      energyWh: zero<'Wh'>(),
      carbonGco2e: zero<'gCO2e'>(),
      unpriced: 0,
    }
    let cursor: string | undefined
    for (;;) {
      const { data, page } = await service.page(PAGE_LIMIT, cursor)
      for (const record of data) {
        if (!ids.has(record.invocation_id)) continue
        total.attributed++
        total.costUsd = plus(total.costUsd, exact<'USD'>(record.cost_usd))
        total.energyWh = plus(total.energyWh, exact<'Wh'>(record.energy_wh))
        total.carbonGco2e = plus(total.carbonGco2e, exact<'gCO2e'>(record.carbon_gco2e))
        if (record.cost_basis === 'unpriced') total.unpriced++
      }
      cursor = page.next_cursor
      const oldest = data.at(-1)
      if (cursor === undefined || oldest === undefined || total.attributed >= ids.size) break
      if (Date.parse(oldest.event_time) < earliestMs - SENT_BEFORE_MS_MAX) break
    }
    if (total.attributed >= ids.size || performance.now() > deadline) return total
    await sleep(POLL_MS)
  }
}

function exact<U extends Unit>(text: string): Quantity<U> {
  const quantity = parseQuantity<U>(text)
  if (quantity === undefined) throw new Error('an amount in a record is not a decimal')
  return quantity
}

/** The percentile of sorted values by nearest rank; 0 without values. */
export const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.max(0, Math.ceil(sorted.length * share - ROUNDING) - 1)] ?? 0

/** 20 × 0.55 is 11.000000000000002 as a double, and must give rank 11. */
const ROUNDING = 1e-9
