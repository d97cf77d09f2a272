import { ClickHouseError } from '@clickhouse/client'
import { type Problem, problem } from '../problems/catalogue.js'

/**
 * Codes that mean "not now": too many queries, memory, time, the network; no room on the disk, or for another part; a query
 * that was ended by an operator, or by the engine's own end; no table or database yet (a first start).
 */
const NOT_NOW = new Set(['202', '241', '159', '160', '209', '210', '243', '75', '252', '394', '236', '60', '81'])

/** The engine was asked and did not answer, or not to the end, where neither its code nor the socket's says so. */
export class StoreAway extends Error {}

/**
 * What a failed query means to the caller: an engine that is away or overloaded is a 503; undefined is a defect, or of
 * something else.
 */
export function storeProblem(cause: unknown): Problem | undefined {
  if (cause instanceof ClickHouseError) {
    if (!NOT_NOW.has(cause.code)) return undefined
    return problem('SERVICE_UNAVAILABLE', 'The read model is busy.', { retryAfterSeconds: 1 })
  }
  if (!(cause instanceof StoreAway) && !isOfSystem(cause)) return undefined
  return problem('SERVICE_UNAVAILABLE', 'The read model cannot be reached.', { retryAfterSeconds: 1 })
}

/**
 * Names what the client throws that is neither a refusal nor the socket's: its word for silence, for a caller who left, for an
 * answer that no engine gives (a proxy in between does) or that is cut. None of these has a code.
 */
export const asFailureOfStore = (cause: unknown): unknown =>
  cause instanceof ClickHouseError || isDefect(cause) || isOfSystem(cause)
    ? cause
    : new StoreAway(cause instanceof Error ? cause.message : 'the store did not answer', { cause })

/** A socket's failure, TLS's, a parser's of HTTP or a stream's that ends too early: all have a code in letters. */
const isOfSystem = (cause: unknown): boolean =>
  cause instanceof Error && !isDefect(cause) && 'code' in cause && typeof cause.code === 'string'

const DEFECTS = [TypeError, RangeError, SyntaxError, ReferenceError]
const isDefect = (cause: unknown): boolean => DEFECTS.some((kind) => cause instanceof kind)

/** To whoever asks more at a time than a tenant may (`turns.ts`). */
export const TOO_MANY_QUERIES = problem('RATE_LIMITED', 'Too many queries of the tenant are under way; try again.', {
  retryAfterSeconds: 1,
})

/** A subquery has found more values than a query may hold its rows against (`max_rows_in_set`). */
export const isSetTooLarge = (cause: unknown): boolean => cause instanceof ClickHouseError && cause.code === '191'

/** A result of more rows than the query may have: the question is too wide. */
export const isTooLarge = (cause: unknown): boolean => cause instanceof ClickHouseError && cause.code === '396'
