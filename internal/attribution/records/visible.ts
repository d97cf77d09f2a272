import { setTimeout as sleep } from 'node:timers/promises'
import type { Watermark } from '../../broker/watermark.js'
import { noSuch } from '../../http/resource/own-id.js'
import { type Problem, problem } from '../../problems/catalogue.js'

/** After every version. */
export const END_OF_TIME_MS = Date.UTC(2200, 0, 1)
/** How long an answer waits until reads show what the read model holds. */
const VISIBLE_MS_MAX = 1_000

/** So that whoever reads next, here, reads what became valid at an instant. @returns false when that takes too long */
export async function untilVisible(atMs: number, watermark: Pick<Watermark, 'renewed'>): Promise<boolean> {
  const until = performance.now() + VISIBLE_MS_MAX
  while ((await watermark.renewed()) < atMs) {
    if (performance.now() >= until) return false
    await sleep(20)
  }
  return true
}

/**
 * A record as of the newest instant as of which reads are complete. One that is in the read model, but not complete yet, is
 * waited for: events tell of a record before the whole batch that it came with is there, and whoever hears of it asks at once.
 *
 * @param find as of an instant
 * @returns the record; NOT_FOUND when there is none, SERVICE_UNAVAILABLE when it takes longer than a second
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

const NOT_YET = problem('SERVICE_UNAVAILABLE', 'The attribution is not complete yet; try again.', {
  retryAfterSeconds: 1,
})
