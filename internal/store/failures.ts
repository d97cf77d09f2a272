import { ClickHouseError } from '@clickhouse/client'
import { type Problem, problem } from '../problems/catalogue.js'

/**
 * Codes that mean "not now": too many queries, memory, time, the network; no room on the disk, or for another part; a query
 * that was ended by an operator, or by the engine's own end; no table or database yet (a first start).
 */
const NOT_NOW = new Set(['202', '241', '159', '160', '209', '210', '243', '75', '252', '394', '236', '60', '81'])

/**
 * What a failed query means to the caller: an engine that is away or overloaded is a 503; undefined is a defect.
 */
export function storeProblem(cause: unknown): Problem | undefined {
  if (cause instanceof ClickHouseError) {
    if (!NOT_NOW.has(cause.code)) return undefined
    return problem('SERVICE_UNAVAILABLE', 'The read model is busy.', { retryAfterSeconds: 1 })
  }
  // Everything else that the client throws is about the connection.
  return problem('SERVICE_UNAVAILABLE', 'The read model cannot be reached.', { retryAfterSeconds: 1 })
}

/** To whoever asks more at a time than a tenant may (`turns.ts`). */
export const TOO_MANY_QUERIES = problem('RATE_LIMITED', 'Too many queries of the tenant are under way; try again.', {
  retryAfterSeconds: 1,
})

/** A subquery has found more values than a query may hold its rows against (`max_rows_in_set`). */
export const isSetTooLarge = (cause: unknown): boolean => cause instanceof ClickHouseError && cause.code === '191'

/** A result of more rows than the query may have: the question is too wide. */
export const isTooLarge = (cause: unknown): boolean => cause instanceof ClickHouseError && cause.code === '396'
