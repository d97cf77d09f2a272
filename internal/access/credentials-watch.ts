import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import { isWholeBroker } from '../broker/connect.js'
import type { Mirror } from '../broker/mirror.js'
import { type Dependency, watchDependency } from '../http/health.js'
import { onPulse, PULSE_MS } from '../process/pulse.js'
import type { Logger } from '../telemetry/log.js'

/** Whether this gateway's copies of the access records are up to date with the broker. */
export interface CredentialsWatch {
  /** Adds a copy to watch. */
  add(bucket: KV, copy: Pick<Mirror<unknown>, 'reached'>): void
  /** For how long this gateway may have missed a revocation; 0 while the copies are current. */
  awayMs(): number
  current(): Dependency
  stop(): void
}

export interface CredentialsWatchDeps {
  readonly connection: Pick<NatsConnection, 'info' | 'status'>
  readonly clock: () => number
  readonly log: Logger
  /** A monotonic clock in milliseconds, for tests. */
  readonly now?: () => number
}

interface Watched {
  readonly bucket: KV
  readonly copy: Pick<Mirror<unknown>, 'reached'>
  /** The latest instant at which it was known to be current, by `now`. */
  currentAt: number
}

/** Requests that the leader of a bucket's stream answers from memory. */
const CHECK_EVERY_MS = 2_000
const RECHECK_AFTER_MS = 200
/** A lost request times out after 2 s; the reply to the next one, 4.2 s after the last good one, is still in time. */
const UNCONFIRMED_MS_MAX = 5_000
/** A pulse that is this much late shows that the process was suspended or had no processor time. */
const PAUSE_MS_MIN = 500
const PAUSE_MS_MAX = 5_000

/**
 * Reads the last sequence of each bucket every two seconds, and waits until its copy has reached it. An open connection
 * proves nothing: a watch ends silently with its consumer (after the failure of a broker node, or when the gateway was
 * cut off for minutes). After a reconnection, the copies count as current only once every bucket has been checked.
 *
 * A server without a cluster holds all consumers itself, and none of them ends before it: one bucket is then enough,
 * each in turn. All of them, every two seconds, were a third of the messages of an idle instance.
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
  let disconnects = 0
  const awayMs = (): number => {
    const unconfirmedMs = now() - Math.min(...copies.map(({ currentAt }) => currentAt), now())
    return isConfirmed && unconfirmedMs <= UNCONFIRMED_MS_MAX ? 0 : Math.max(1, unconfirmedMs)
  }
  const report = (): void => {
    const status = awayMs() === 0 ? 'up' : 'down'
    if (dependency.current().status !== status) log.info({ status }, 'status of credential updates changed')
    dependency.report(status)
  }

  let turn = 0
  let wereCurrent = true
  /** @returns whether all are current */
  const check = async (): Promise<boolean> => {
    const disconnectsBefore = disconnects
    const isOneEnough = isConfirmed && wereCurrent && isWholeBroker(connection.info)
    const all = copies.map((watched) => ({ watched, provesFor: [watched] }))
    const asked = isOneEnough ? [{ watched: copies[turn++ % copies.length], provesFor: copies }] : all
    const checks = await Promise.allSettled(asked.map((each) => checkOne(each, now)))
    const failed = checks.find((each) => each.status === 'rejected')
    if (failed !== undefined) {
      log.debug({ err: failed.reason }, 'access bucket does not answer, or its copy lags behind')
    } else if (disconnects === disconnectsBefore) isConfirmed = true
    wereCurrent = failed === undefined
    report()
    return wereCurrent
  }
  // While this process is suspended it receives nothing, which is no sign of a lost watch. Only up to a limit: a long
  // pause may have missed revocations.
  let tickedAt = performance.now()
  const stopTicking = onPulse(() => {
    const pauseMs = performance.now() - tickedAt - PULSE_MS
    if (pauseMs > PAUSE_MS_MIN) for (const watched of copies) watched.currentAt += Math.min(pauseMs, PAUSE_MS_MAX)
    tickedAt = performance.now()
  })
  const follow = async (): Promise<void> => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') {
        disconnects++
        isConnected = false
        isConfirmed = false
        report()
      } else if (type === 'reconnect') {
        isConnected = true
        void check()
      }
    }
  }
  let isStopped = false
  let timer: NodeJS.Timeout
  const scheduleNext = (areCurrent: boolean): void => {
    if (isStopped) return
    timer = setTimeout(
      () => void (isConnected ? check() : Promise.resolve(false)).then(scheduleNext),
      areCurrent && awayMs() === 0 ? CHECK_EVERY_MS : RECHECK_AFTER_MS,
    )
    timer.unref()
  }

  report()
  void follow()
  scheduleNext(true)
  return {
    add: (bucket, copy) => void copies.push({ bucket, copy, currentAt: now() }),
    awayMs,
    current() {
      report()
      return dependency.current()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
      stopTicking()
    },
  }
}

/** @param asked a copy, and those that are current if it is */
async function checkOne(
  { watched, provesFor }: { readonly watched: Watched | undefined; readonly provesFor: readonly Watched[] },
  now: () => number,
): Promise<void> {
  if (watched === undefined) return
  const checkedAt = now()
  await watched.copy.reached((await watched.bucket.status()).streamInfo.state.last_seq)
  for (const each of provesFor) each.currentAt = Math.max(each.currentAt, checkedAt)
}
