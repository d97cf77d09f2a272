import { setTimeout as sleep } from 'node:timers/promises'
import type { Watermark } from '../../broker/watermark.js'
import { noSuch } from '../../http/resource/own-id.js'
import { type Problem, problem } from '../../problems/catalogue.js'

/** Later than every version. */
export const END_OF_TIME_MS = Date.UTC(2200, 0, 1)
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

/**
 * Reads a record as of the newest complete snapshot. If the record is stored but its batch is not complete yet, waits: an event
 * announces a record before its whole batch is stored, and receivers of the event may ask for the record at once.
 *
 * @param find as of an instant
 * @returns the record; NOT_FOUND if it does not exist, SERVICE_UNAVAILABLE after one second
 */
export async function findVisible<R extends { readonly valid_from_ms: string }>(
  find: (atMs: number) => Promise<R | undefined>,
  watermark: Pick<Watermark, 'latest' | 'renewed'>,
): Promise<R | Problem> {
  const found = await find(await watermark.latest())
  if (found !== undefined) return found
  const ahead = await find(END_OF_TIME_MS)
  if (ahead === undefined) return noSuch('attribution')
  if (!(await untilVisible(Number(ahead.valid_from_ms), watermark))) return NOT_YET
  return (await find(await watermark.latest())) ?? noSuch('attribution')
}

const NOT_YET = problem('SERVICE_UNAVAILABLE', 'The attribution is not readable yet; try again.', {
  retryAfterSeconds: 1,
})
