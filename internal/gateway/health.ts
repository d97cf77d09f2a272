import type { ClickHouseClient } from '@clickhouse/client'
import type { Broker } from '../broker/connect.js'
import type { Exchange } from './exchange.js'
import type { Route } from './route.js'
import { CREDENTIALS_TRUSTED_MS } from './server.js'

export type DependencyStatus = 'up' | 'down'

export interface Dependency {
  readonly name: string
  readonly status: DependencyStatus
  /** When it took this status, RFC 3339. */
  readonly since: string
}

/** Keeps what is known of one dependency; `report` is called by whoever watches it. */
export interface DependencyWatch {
  report(status: DependencyStatus): void
  current(): Dependency
  /** How long it has been down; 0 while it is up. */
  awayMs(): number
}

export function watchDependency(name: string, clock: () => number): DependencyWatch {
  let status: DependencyStatus = 'down'
  let since = clock()
  return {
    report(next) {
      if (next !== status) since = clock()
      status = next
    },
    current: () => ({ name, status, since: new Date(since).toISOString() }),
    awayMs: () => (status === 'up' ? 0 : Math.max(1, clock() - since)),
  }
}

/**
 * `/healthz`: the process runs. `/readyz`: the dependencies answer; 503 when one is away.
 * `/readyz?surface=ingestion` asks only whether events can be admitted.
 */
export function healthRoutes(broker: DependencyWatch, store: DependencyWatch): readonly Route[] {
  const ready = (exchange: Exchange): void => {
    const isIngestion = exchange.query === 'surface=ingestion'
    const dependencies = [broker.current(), store.current()]
    // Without the broker admission goes on into the spool, as long as credentials are trusted.
    const isReady = isIngestion
      ? broker.awayMs() <= CREDENTIALS_TRUSTED_MS
      : dependencies.every(({ status }) => status === 'up')
    const isWhole = dependencies.every(({ status }) => status === 'up')
    const status = isReady ? (isWhole ? 'ready' : 'degraded') : 'unready'
    exchange.replyJson(isReady ? '200 OK' : '503 Service Unavailable\r\nRetry-After: 1', { status, dependencies })
  }
  return [
    {
      method: 'get',
      path: '/healthz',
      access: 'public',
      handle: (exchange) => exchange.replyJson('200 OK', { status: 'ok' }),
    },
    { method: 'get', path: '/readyz', access: 'public', handle: ready },
  ]
}

/** Follows the connection to the broker. */
export function watchBroker(broker: Broker, clock: () => number): DependencyWatch {
  const watch = watchDependency('broker', clock)
  watch.report('up')
  const follow = async (): Promise<void> => {
    for await (const { type } of broker.connection.status()) {
      if (type === 'disconnect') watch.report('down')
      else if (type === 'reconnect') watch.report('up')
    }
  }
  void follow()
  return watch
}

const STORE_CHECK_EVERY_MS = 1_000

/** Asks the store every second whether it answers and has its tables. */
export function watchStore(store: ClickHouseClient, clock: () => number): DependencyWatch {
  const watch = watchDependency('store', clock)
  const check = async (): Promise<void> => {
    try {
      const signal = AbortSignal.timeout(5_000)
      const answer = await store.query({
        query: 'SELECT 1 FROM attributions LIMIT 0',
        format: 'JSONEachRow',
        abort_signal: signal,
      })
      await answer.json()
      watch.report('up')
    } catch {
      watch.report('down')
    }
    setTimeout(() => void check(), STORE_CHECK_EVERY_MS).unref()
  }
  void check()
  return watch
}
