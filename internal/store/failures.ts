import { ClickHouseError } from '@clickhouse/client'
import { type Problem, problem } from '../problems/problem-catalogue.js'

/**
 * ClickHouse error codes that are worth a retry: too many queries, memory, time or network limits; no disk space or too
 * many parts; a query killed by an operator or by shutdown; no table or database yet (first start); an incomplete part,
 * until the embedded engine starts again (`failed-writes.ts`).
 */
const NOT_NOW = new Set(['202', '241', '159', '160', '209', '210', '243', '75', '252', '394', '236', '60', '81', '33'])

/** ClickHouse gave no answer or an incomplete one, and the error has no code of ClickHouse or the socket. */
export class StoreAway extends Error {}

/**
 * The problem for a failed query: 503 when ClickHouse is unavailable or overloaded; undefined when the error is a
 * defect or has another origin.
 */
export function storeProblem(cause: unknown): Problem | undefined {
  if (cause instanceof ClickHouseError) {
    if (!NOT_NOW.has(cause.code)) return undefined
    return problem('SERVICE_UNAVAILABLE', 'The read model is busy.', { retryAfterSeconds: 1 })
  }
  if (!(cause instanceof StoreAway) && !isOfSystem(cause)) return undefined
  return problem('SERVICE_UNAVAILABLE', 'The read model is unavailable.', { retryAfterSeconds: 1 })
}

/** The result of a query, or its problem. @throws errors that `storeProblem` does not know */
export async function withStoreErrors<T>(read: () => Promise<T>): Promise<T | Problem> {
  try {
    return await read()
  } catch (cause) {
    const known = storeProblem(cause)
    if (known === undefined) throw cause
    return known
  }
}

/**
 * Wraps errors of the client that have no code into `StoreAway`: its timeout, an aborted request, a truncated answer,
 * and an answer that a proxy in between gave.
 */
export const asFailureOfStore = (cause: unknown): unknown =>
  cause instanceof ClickHouseError || isDefect(cause) || isOfSystem(cause)
    ? cause
    : new StoreAway(cause instanceof Error ? cause.message : 'the store did not answer', { cause })

/** Errors of the socket, TLS, the HTTP parser or a stream that ends too early: all have a textual code. */
const isOfSystem = (cause: unknown): boolean =>
  cause instanceof Error && !isDefect(cause) && 'code' in cause && typeof cause.code === 'string'

const DEFECTS = [TypeError, RangeError, SyntaxError, ReferenceError]
const isDefect = (cause: unknown): boolean => DEFECTS.some((kind) => cause instanceof kind)

/** For a tenant that exceeds its concurrent queries (`turns.ts`). */
export const TOO_MANY_QUERIES = problem('RATE_LIMITED', 'Too many concurrent queries of this tenant; try again.', {
  retryAfterSeconds: 1,
})

/** The set of an IN subquery exceeds `max_rows_in_set`. */
export const isSetTooLarge = (cause: unknown): boolean => cause instanceof ClickHouseError && cause.code === '191'

/** The table does not exist yet: the attributor, which creates it, has not started or is older. */
export const isUnknownTable = (cause: unknown): boolean => cause instanceof ClickHouseError && cause.code === '60'
