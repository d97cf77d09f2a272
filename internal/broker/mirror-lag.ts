import { setTimeout as sleep } from 'node:timers/promises'
import type { KV } from '@nats-io/kv'
import type { Logger } from '../telemetry/log.js'
import type { Mirror } from './mirror.js'

/** How far a copy of a bucket lags behind it. */
export interface MirrorLag {
  /** Milliseconds since the copy was last known to hold all that its bucket held. */
  lagMs(): number
}

export interface MirrorLagDeps {
  readonly clock: () => number
  readonly log: Logger
  /** How often the bucket is asked. */
  readonly everyMs?: number
}

/** A lag is told in minutes; asked more often, it would only load the broker. */
const ASK_EVERY_MS = 10_000

/**
 * Asks a bucket again and again what its newest revision is, and whether its copy has come as far. A watch that has
 * fallen silent, and a bucket that does not answer, both let the lag grow: what cannot be known to be current is not.
 *
 * @param signal ends it
 */
export async function followMirrorLag(
  bucket: KV,
  copy: Pick<Mirror<unknown>, 'revision'>,
  { clock, log, everyMs = ASK_EVERY_MS }: MirrorLagDeps,
  signal: AbortSignal,
): Promise<MirrorLag> {
  let currentAt = clock()
  const ask = async (): Promise<void> => {
    const askedAt = clock()
    try {
      const { streamInfo } = await bucket.status()
      if (copy.revision() >= streamInfo.state.last_seq) currentAt = askedAt
    } catch (cause) {
      if (!signal.aborted) log.warn({ err: cause }, 'a bucket does not say how new it is')
    }
  }
  const follow = async (): Promise<void> => {
    while (!signal.aborted) {
      await sleep(everyMs, undefined, { signal }).catch(() => undefined)
      if (!signal.aborted) await ask()
    }
  }
  await ask()
  void follow()
  return { lagMs: () => clock() - currentAt }
}
