import type { KV } from '@nats-io/kv'
import type { NatsConnection } from '@nats-io/transport-node'
import type { Mirror } from '../broker/mirror.js'
import type { Logger } from '../telemetry/log.js'
import { type Dependency, watchDependency } from './health.js'

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
}

/** One request a bucket, which its stream's leader answers from memory. */
const ASK_EVERY_MS = 1_000
const ASK_EVERY_MS_WHILE_AWAY = 200
/** A question that is lost times out after 2 s; the next answer is in time. */
const UNHEARD_MS_MAX = 5_000

/**
 * Asks each bucket every second how far it has come, and lets its copy come as far. A connection that stands proves
 * nothing: a watch dies without a word when its consumer does (a broker's node that goes down, a gateway that was cut
 * off for minutes). After a reconnection nothing counts as known before all have answered.
 */
export function watchCredentials({ connection, clock, log }: CredentialsWatchDeps): CredentialsWatch {
  const copies: { readonly bucket: KV; readonly copy: Pick<Mirror<unknown>, 'reached'> }[] = []
  const dependency = watchDependency('credentials', clock)
  let currentAt = clock()
  let isConnected = true
  let isConfirmed = true
  let cuts = 0
  const awayMs = (): number => {
    const unheardMs = clock() - currentAt
    return isConfirmed && unheardMs <= UNHEARD_MS_MAX ? 0 : Math.max(1, unheardMs)
  }
  const note = (): void => {
    const status = awayMs() === 0 ? 'up' : 'down'
    if (dependency.current().status !== status) log.info({ status }, 'news of credentials')
    dependency.report(status)
  }

  const ask = async (): Promise<void> => {
    const askedAt = clock()
    const cutsBefore = cuts
    try {
      await Promise.all(
        copies.map(async ({ bucket, copy }) => copy.reached((await bucket.status()).streamInfo.state.last_seq)),
      )
      if (cuts !== cutsBefore) return
      currentAt = Math.max(currentAt, askedAt)
      isConfirmed = true
    } catch (cause) {
      log.debug({ err: cause }, 'a bucket that decides about access does not answer, or its copy is behind')
    }
    note()
  }
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
  const goOn = (): void => {
    if (isStopped) return
    timer = setTimeout(
      () => void (isConnected ? ask() : Promise.resolve()).finally(goOn),
      awayMs() === 0 ? ASK_EVERY_MS : ASK_EVERY_MS_WHILE_AWAY,
    )
    timer.unref()
  }

  note()
  void follow()
  goOn()
  return {
    add: (bucket, copy) => void copies.push({ bucket, copy }),
    awayMs,
    current() {
      note()
      return dependency.current()
    },
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
