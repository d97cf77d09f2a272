import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { StoreAway } from './failures.js'

/** A read that takes longer makes its client look whether the store answers at all. */
const LOOK_EVERY_MS = 500
/** While it is silent, so that reads go on as soon as it does. */
const LOOK_AGAIN_MS = 50
/** For an answer to a ping, which no query delays: with the look before it, a silent store is known in 2 s. */
export const PING_MS_MAX = 1_300

/** A process that is so late itself shares a machine on which others may be late, too: it waits again. */
const STARVED_MS = 250
const ROUNDS_MAX = 3

/** What is asked of a store: resolves or fails once it says anything. */
export type Ping = (signal: AbortSignal) => Promise<unknown>

/** @returns whether the store said anything in time, be it that it refuses the connection */
export async function saysAnything(ping: Ping): Promise<boolean> {
  const late = new AbortController()
  let hasAnswered = false
  const answered = ping(late.signal).then(
    () => true,
    () => !late.signal.aborted,
  )
  void answered.then(() => {
    hasAnswered = true
  })
  for (let round = 0; round < ROUNDS_MAX && !hasAnswered; round++) {
    const endsAt = performance.now() + PING_MS_MAX
    let timer: NodeJS.Timeout | undefined
    await Promise.race([answered, new Promise((resolve) => (timer = setTimeout(resolve, PING_MS_MAX)))])
    clearTimeout(timer)
    // A busy process may not have read an answer that is there.
    for (let turn = 0; turn < 2 && !hasAnswered; turn++) await nextTurn()
    if (performance.now() < endsAt + STARVED_MS) break
  }
  if (!hasAnswered) late.abort()
  return hasAnswered
}

/** A read that ends with its caller's signal, or as the store is found silent. */
export interface WatchedRead {
  readonly signal: AbortSignal
  /** To be called once there is nothing more to come. */
  end(): void
}

/**
 * Fails reads of a store that stands still: its connections stay open, and reads may be silent for a minute and more
 * while it works. A process that works answers a ping over a connection of its own. While nobody reads, nobody asks.
 */
export class StoreSilence {
  private readonly ping: Ping
  private readonly reads = new Set<AbortController>()
  private isSilent = false
  private isLooking = false

  constructor(ping: Ping) {
    this.ping = ping
  }

  /** @throws StoreAway while the store is silent */
  begin(caller: AbortSignal | undefined): WatchedRead {
    if (this.isSilent) throw silent()
    const read = new AbortController()
    const giveUp = (): void => read.abort(caller?.reason)
    if (caller?.aborted === true) giveUp()
    else caller?.addEventListener('abort', giveUp, { once: true })
    this.reads.add(read)
    if (!this.isLooking) void this.look()
    return {
      signal: read.signal,
      end: () => {
        this.reads.delete(read)
        caller?.removeEventListener('abort', giveUp)
      },
    }
  }

  private async look(): Promise<void> {
    this.isLooking = true
    while (this.reads.size > 0 || this.isSilent) {
      await sleep(this.isSilent ? LOOK_AGAIN_MS : LOOK_EVERY_MS, undefined, { ref: false })
      if (this.reads.size === 0 && !this.isSilent) break
      this.isSilent = !(await saysAnything(this.ping))
      if (this.isSilent) for (const read of this.reads) read.abort(silent())
    }
    this.isLooking = false
  }
}

const silent = (): StoreAway => new StoreAway('the store does not answer')
