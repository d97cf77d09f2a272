import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Mirror } from '../broker/mirror.js'
import { type Dependency, watchDependency } from '../http/health.js'
import type { Logger } from '../telemetry/log.js'

/** Whether this gateway's copies of what decides about access are those of the broker. */
export interface CredentialsWatch {
  /** Watches a copy too. */
  add(bucket: KV, copy: Pick<Mirror<unknown>, 'reached'>): void
  /** For how long something may have been revoked that is not known here; 0 while the copies are current. */
  awayMs(): number
  current(): Dependency
  stop(): void
}

export interface CredentialsWatchDeps {
  readonly connection: Pick<NatsConnection, 'status'>
  readonly clock: () => number
  readonly log: Logger
  /** Milliseconds that only go forward, for tests. */
  readonly now?: () => number
}

interface Watched {
  readonly bucket: KV
  readonly copy: Pick<Mirror<unknown>, 'reached'>
  /** As of when it is known to be current, by `now`. */
  currentAt: number
}

/** One request a bucket, which its stream's leader answers from memory. */
const ASK_EVERY_MS = 1_000
const ASK_AGAIN_MS = 200
/** A question that is lost times out after 2 s; the next answer is in time. */
const UNHEARD_MS_MAX = 5_000
const MOVE_EVERY_MS = 500
/** A turn that came so much too late: the process stood still, or had no processor. */
const STOOD_MS_MIN = 500
const STOOD_MS_MAX = 5_000

/**
 * Asks each bucket every second how far it has come, and lets its copy come as far. A connection that stands proves
 * nothing: a watch dies without a word when its consumer does (a broker's node that goes down, a gateway that was cut
 * off for minutes). After a reconnection nothing counts as known before all have answered.
 */
export function watchCredentials({
  connection,
  clock,
  log,
  now = () => performance.now(),
}: CredentialsWatchDeps): CredentialsWatch {
  const copies: Watched[] = []
  const dependency = watchDependency('credentials', clock)
  let isConnected = true
  let isConfirmed = true
  let cuts = 0
  const awayMs = (): number => {
    const unheardMs = now() - Math.min(...copies.map(({ currentAt }) => currentAt), now())
    return isConfirmed && unheardMs <= UNHEARD_MS_MAX ? 0 : Math.max(1, unheardMs)
  }
  const note = (): void => {
    const status = awayMs() === 0 ? 'up' : 'down'
    if (dependency.current().status !== status) log.info({ status }, 'news of credentials')
    dependency.report(status)
  }

  const askOf = async (watched: Watched): Promise<void> => {
    const askedAt = now()
    await watched.copy.reached((await watched.bucket.status()).streamInfo.state.last_seq)
    watched.currentAt = Math.max(watched.currentAt, askedAt)
  }
  /** @returns whether all are current */
  const ask = async (): Promise<boolean> => {
    const cutsBefore = cuts
    const asked = await Promise.allSettled(copies.map(askOf))
    const failed = asked.find((each) => each.status === 'rejected')
    if (failed !== undefined) {
      log.debug({ err: failed.reason }, 'a bucket that decides about access does not answer, or its copy is behind')
    } else if (cuts === cutsBefore) isConfirmed = true
    note()
    return failed === undefined
  }
  /** While this process stands still nothing is heard, and nobody is to blame for it; up to a limit, since much may happen. */
  let movedAt = performance.now()
  const moving = setInterval(() => {
    const stoodMs = performance.now() - movedAt - MOVE_EVERY_MS
    if (stoodMs > STOOD_MS_MIN) for (const watched of copies) watched.currentAt += Math.min(stoodMs, STOOD_MS_MAX)
    movedAt = performance.now()
  }, MOVE_EVERY_MS)
  moving.unref()
  const follow = async (): Promise<void> => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') {
        cuts++
        isConnected = false
        isConfirmed = false
        note()
      } else if (type === 'reconnect') {
        isConnected = true
        void ask()
      }
    }
  }
  let isStopped = false
  let timer: NodeJS.Timeout
  const goOn = (areCurrent: boolean): void => {
    if (isStopped) return
    timer = setTimeout(
      () => void (isConnected ? ask() : Promise.resolve(false)).then(goOn),
      areCurrent && awayMs() === 0 ? ASK_EVERY_MS : ASK_AGAIN_MS,
    )
    timer.unref()
  }

  note()
  void follow()
  goOn(true)
  return {
    add: (bucket, copy) => void copies.push({ bucket, copy, currentAt: now() }),
    awayMs,
    current() {
      note()
      return dependency.current()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
      clearInterval(moving)
    },
  }
}
