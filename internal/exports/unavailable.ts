import { storeProblem } from '../store/failures.js'
import type { FailureReason } from './export-job.js'

/** The job can never succeed; retrying is pointless. */
export class ExportFailed extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, options?: ErrorOptions) {
    super(`the export failed: ${reason}`, options)
    this.reason = reason
  }
}

/** A dependency of the job is unavailable; a retry may succeed. */
export class Unavailable extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, options?: ErrorOptions) {
    super(`the export must be retried: ${reason}`, options)
    this.reason = reason
  }
}

/** Turns errors of the blob store into `Unavailable`. */
export async function withBlobErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    // Keep classified errors: the blob store also rethrows errors of the stream that it reads from.
    throw isClassified(cause) ? cause : new Unavailable('files_unavailable', { cause })
  }
}

/**
 * Turns errors of ClickHouse into `Unavailable` when it is down, or into `ExportFailed` when it refuses the query.
 *
 * @param refused the failure reason of a refused query
 */
export async function withStoreErrors<T>(refused: FailureReason, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (cause) {
    throw classified(cause, refused)
  }
}

/** Like `withStoreErrors`, for a stream of rows. */
export async function* streamWithStoreErrors<T>(refused: FailureReason, rows: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* rows
  } catch (cause) {
    throw classified(cause, refused)
  }
}

const classified = (cause: unknown, refused: FailureReason): Error =>
  storeProblem(cause) === undefined
    ? new ExportFailed(refused, { cause })
    : new Unavailable('store_unavailable', { cause })

const isClassified = (cause: unknown): boolean => cause instanceof Unavailable || cause instanceof ExportFailed
