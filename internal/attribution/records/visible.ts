import { setTimeout as sleep } from 'node:timers/promises'
import type { Watermark } from '../../broker/watermark.js'
import { noSuch } from '../../http/resource/own-id.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { END_OF_TIME_MS } from '../../store/queries/records/attributions.js'

/** How long a request waits until reads are complete as of the record. */
const VISIBLE_MS_MAX = 1_000

/** Waits until the next read of this process includes versions valid from an instant. @returns false on timeout */
export async function untilVisible(atMs: number, watermark: Pick<Watermark, 'renewed'>): Promise<boolean> {
  const until = performance.now() + VISIBLE_MS_MAX
  while ((await watermark.renewed()) < atMs) {
    if (performance.now() >= until) return false
    await sleep(20)
  }
  return true
}

interface Versions {
  readonly at: (atMs: number) => { readonly valid_from_ms: string } | undefined
}

/** A record as of an instant, among its versions. */
export interface VisibleRecord<V extends Versions> {
  readonly record: NonNullable<ReturnType<V['at']>>
  readonly versions: V
  readonly atMs: number
}

/**
 * Reads a record as of the newest complete snapshot. If the record is stored but its batch is not complete yet, waits:
 * an event announces a record before its whole batch is stored, and receivers of the event may ask for the record at
 * once.
 *
 * @param read all versions of the record
 * @returns the record; NOT_FOUND if it does not exist, SERVICE_UNAVAILABLE after one second
 */
export async function findVisible<V extends Versions>(
  read: () => Promise<V>,
  watermark: Pick<Watermark, 'latest' | 'renewed'>,
): Promise<VisibleRecord<V> | Problem> {
  const asOfLatest = async () => {
    // First the instant: everything up to it is stored by then.
    const atMs = await watermark.latest()
    const versions = await read()
    return { record: versions.at(atMs) as VisibleRecord<V>['record'] | undefined, versions, atMs }
  }
  const { record, ...rest } = await asOfLatest()
  if (record !== undefined) return { record, ...rest }
  const ahead = rest.versions.at(END_OF_TIME_MS)
  if (ahead === undefined) return noSuch('attribution')
  if (!(await untilVisible(Number(ahead.valid_from_ms), watermark))) return NOT_YET
  const { record: later, ...laterRest } = await asOfLatest()
  return later === undefined ? noSuch('attribution') : { record: later, ...laterRest }
}

const NOT_YET = problem('SERVICE_UNAVAILABLE', 'The attribution is not readable yet; try again.', {
  retryAfterSeconds: 1,
})
