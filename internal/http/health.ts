import type { ClickHouseClient } from '@clickhouse/client'
import { z } from 'zod'
import type { Broker } from '../broker/connect.js'
import type { StreamCapacity } from '../broker/stream-capacity.js'
import { EVENT_BYTES_MAX } from '../invocations/limits.js'
import { type Problem, problem } from '../problems/problem-catalogue.js'
import { onPulse } from '../process/pulse.js'
import { saysAnything } from '../store/silence.js'
import { timeText } from '../text/answer-fields.js'
import { readQuery } from '../text/query-string.js'
import { json, type Operation } from './contract/operation.js'
import { problemDetails } from './contract/problem-schema.js'
import type { Exchange } from './exchange.js'
import type { Route } from './route.js'
import { CREDENTIALS_TRUSTED_MS } from './server.js'

const DEPENDENCY_STATUSES = ['up', 'down'] as const
export type DependencyStatus = (typeof DEPENDENCY_STATUSES)[number]

export interface Dependency {
  readonly name: string
  readonly status: DependencyStatus
  /** When the status last changed, RFC 3339. */
  readonly since: string
}

/** The last reported status of one dependency. */
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

export interface HealthDeps {
  readonly broker: DependencyWatch
  readonly store: DependencyWatch
  /** The mirror of credentials, which can be stale although the broker responds. */
  readonly credentials: Pick<DependencyWatch, 'current' | 'awayMs'>
  /** Capacity of the stream: events that exceed it are refused and not spooled. */
  readonly logCapacity: Pick<StreamCapacity, 'has'>
  /** Holds events while the stream is unreachable. */
  readonly spool: { readonly isEmpty: boolean; hasCapacityFor(bytes: number): boolean }
}

/** The answer of `/readyz`, or the 503. @param surface undefined: all */
export type ReadinessOf = (surface?: 'ingestion') => ReadyAnswer | Problem

export interface ReadyAnswer {
  readonly status: 'ready' | 'degraded'
  readonly dependencies: readonly Dependency[]
}

/**
 * The dependencies respond: else 503, with the status of each. A full stream refuses events but affects nothing else:
 * that is `degraded`. The surface `ingestion` checks only whether events can be admitted. A process that is about to
 * stop is `draining`, although it still serves: load balancers choose others from then on.
 */
export function readinessOf(deps: HealthDeps, leaving?: AbortSignal): ReadinessOf {
  const { broker, store, credentials, logCapacity, spool } = deps
  // While the spool is not empty, new events are appended to it: it needs capacity even after the broker is back.
  const canAdmit = (): boolean => {
    const goesToLog = broker.awayMs() === 0 && spool.isEmpty
    const hasCapacity = goesToLog ? logCapacity.has(EVENT_BYTES_MAX) : spool.hasCapacityFor(EVENT_BYTES_MAX)
    return hasCapacity && credentials.awayMs() <= CREDENTIALS_TRUSTED_MS
  }
  return (surface) => {
    const dependencies = [broker.current(), store.current(), credentials.current()]
    const isUp = dependencies.every(({ status }) => status === 'up')
    if (leaving?.aborted === true) return unready('The service is about to stop.', 'draining', dependencies)
    if (!(surface === 'ingestion' ? canAdmit() : isUp)) {
      return unready('A required dependency is unavailable.', 'unready', dependencies)
    }
    return { status: isUp && canAdmit() ? 'ready' : 'degraded', dependencies }
  }
}

const READINESSES = ['unready', 'draining'] as const
const unready = (
  detail: string,
  readiness: (typeof READINESSES)[number],
  dependencies: readonly Dependency[],
): Problem => problem('SERVICE_UNAVAILABLE', detail, { retryAfterSeconds: 1, members: { readiness, dependencies } })

/** `/healthz`: the process runs. `/readyz`: it is ready. */
export function healthRoutes(readiness: ReadinessOf): readonly Route[] {
  const ready = (exchange: Exchange): void => {
    const read = readQuery(exchange.query, ['surface'])
    if (!read.ok) return exchange.replyProblem(read.problem)
    const { surface } = read.values
    if (surface !== undefined && surface !== 'ingestion') return exchange.replyProblem(NO_SUCH_SURFACE)
    const answer = readiness(surface)
    if ('code' in answer) exchange.replyProblem(answer)
    else exchange.replyJson('200 OK', answer)
  }
  return [
    {
      method: 'get',
      path: '/healthz',
      access: 'public',
      isProbe: true,
      operation: GET_HEALTH,
      handle: (exchange) => exchange.replyJson('200 OK', { status: 'ok' }),
    },
    { method: 'get', path: '/readyz', access: 'public', isProbe: true, operation: GET_READINESS, handle: ready },
  ]
}

const NO_SUCH_SURFACE = problem('INVALID_FILTER', 'surface must be ingestion.')

const dependency = z
  .object({ name: z.string(), status: z.enum(DEPENDENCY_STATUSES), since: timeText() })
  .meta({ id: 'Dependency' })

const EXAMPLE_DEPENDENCIES = [
  { name: 'broker', status: 'up', since: '2026-11-21T12:44:48.677Z' },
  { name: 'store', status: 'up', since: '2026-11-21T12:44:49.742Z' },
  { name: 'credentials', status: 'up', since: '2026-11-21T12:44:48.912Z' },
]

const GET_HEALTH: Operation = {
  id: 'getHealth',
  tag: 'Health',
  summary: 'Liveness probe',
  description: 'Does not check dependencies.',
  replies: {
    200: {
      description: 'The process is running.',
      contents: json(z.object({ status: z.literal('ok') }), { status: 'ok' }),
    },
  },
}

const GET_READINESS: Operation = {
  id: 'getReadiness',
  tag: 'Health',
  summary: 'Readiness probe',
  query: {
    surface: z
      .literal('ingestion')
      .optional()
      .meta({
        description:
          'Checks only whether events can be accepted. Ingestion continues without the read model, and without ' +
          'the broker as long as cached credentials are valid and the spool has capacity.',
      }),
  },
  replies: {
    200: {
      description:
        'Ready. `degraded`: a dependency that this surface does not need is down, or no more events can be accepted.',
      contents: json(z.object({ status: z.enum(['ready', 'degraded']), dependencies: z.array(dependency) }), {
        status: 'ready',
        dependencies: EXAMPLE_DEPENDENCIES,
      }),
    },
  },
  problems: ['INVALID_FILTER'],
  problem: problemDetails
    .extend({ readiness: z.enum(READINESSES).optional(), dependencies: z.array(dependency).optional() })
    .meta({ id: 'ReadinessProblem', description: 'Problem details (RFC 9457) that list the dependencies.' }),
}

/**
 * Watches the connection to the broker, which a broker that stands still keeps open: known within two seconds, a pulse
 * and the time that its answer may take.
 */
export function watchBroker({ connection }: Broker, clock: () => number): DependencyWatch {
  const watch = watchDependency('broker', clock)
  watch.report('up')
  const follow = async (): Promise<void> => {
    for await (const { type } of connection.status()) {
      if (type === 'disconnect') watch.report('down')
      else if (type === 'reconnect') watch.report('up')
    }
  }
  void follow()
  const look = async (): Promise<void> => {
    const answered = connection.rtt().then(
      () => watch.report('up'),
      () => watch.report('down'),
    )
    if (!(await saysAnything(() => answered))) watch.report('down')
    // One question at a time: a broker that goes on answers it.
    await answered
    if (connection.isClosed()) end()
  }
  const end = onPulse(look)
  return watch
}

/** A query costs the store 3 ms of processor time, a ping nearly nothing. */
const QUERY_EVERY_MS = 10_000
const QUERY_MS_MAX = 5_000

/** Checks with each pulse that the store responds, and every ten that it has its tables. */
export function watchStore(store: ClickHouseClient, clock: () => number): DependencyWatch {
  const watch = watchDependency('store', clock)
  let hasTables = false
  let queriedAt = Number.NEGATIVE_INFINITY
  let querying: Promise<void> | undefined
  const query = async (): Promise<void> => {
    try {
      const answer = await store.query({
        query: 'SELECT 1 FROM attributions LIMIT 0',
        format: 'JSONEachRow',
        abort_signal: AbortSignal.timeout(QUERY_MS_MAX),
      })
      await answer.json()
      hasTables = true
      queriedAt = performance.now()
    } catch {
      hasTables = false
    }
    querying = undefined
  }
  const check = async (): Promise<void> => {
    let isUp = false
    const said = await saysAnything(async (abort_signal) => {
      isUp = (await store.ping({ select: false, abort_signal })).success
    })
    if (!(said && isUp)) hasTables = false
    else if (!hasTables || performance.now() - queriedAt > QUERY_EVERY_MS) {
      querying ??= query()
      if (!hasTables) await querying
    }
    watch.report(said && isUp && hasTables ? 'up' : 'down')
  }
  void check().then(() => onPulse(check))
  return watch
}
