import { setTimeout as sleep } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import type { Logger } from '../telemetry/log.js'
import type { Mirror } from './mirror.js'

/** How far a mirror of a KV bucket lags behind the bucket. */
export interface MirrorLag {
  /** Milliseconds since the mirror was last known to be up to date. */
  lagMs(): number
}

export interface MirrorLagDeps {
  readonly clock: () => number
  readonly log: Logger
  /** Lag from which the caller counts the mirror as stale. */
  readonly staleMs: number
}

/** Polling more often would only load the broker. */
const ASK_EVERY_MS_MAX = 30_000
/** By a mirror that counts as stale at once. */
const ASK_EVERY_MS_MIN = 300

/** So often that a mirror which is up to date does not count as stale between two answers, nor when one is missing. */
const askEveryMs = (staleMs: number): number => Math.min(ASK_EVERY_MS_MAX, Math.max(ASK_EVERY_MS_MIN, staleMs / 3))

/**
 * Polls a bucket's newest revision and compares the mirror's with it. The lag grows while the watch is silent and while
 * the bucket does not reply: a mirror that is not known to be up to date counts as lagging.
 *
 * @param signal ends it
 */
export async function followMirrorLag(
  bucket: KV,
  copy: Pick<Mirror<unknown>, 'revision'>,
  { clock, log, staleMs }: MirrorLagDeps,
  signal: AbortSignal,
): Promise<MirrorLag> {
  let currentAt = clock()
  const ask = async (): Promise<void> => {
    const askedAt = clock()
    try {
      const { streamInfo } = await bucket.status()
      if (copy.revision() >= streamInfo.state.last_seq) currentAt = askedAt
    } catch (cause) {
      if (!signal.aborted) log.warn({ err: cause }, 'could not read the newest revision of a KV bucket')
    }
  }
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      await sleep(askEveryMs(staleMs), undefined, { signal }).catch(() => undefined)
      if (!signal.aborted) await ask()
    }
  }
  await ask()
  void follow()
  return { lagMs: () => clock() - currentAt }
}
