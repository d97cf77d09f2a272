import { storeProblem } from '../store/failures.js'
import type { FailureReason } from './job.js'

/** A job that cannot come to an end, whoever tries. */
export class ExportFailed extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, options?: ErrorOptions) {
    super(`the export failed: ${reason}`, options)
    this.reason = reason
  }
}

/** Something that a job needs is away: it may be there the next time. */
export class Unavailable extends Error {
  readonly reason: FailureReason

  constructor(reason: FailureReason, options?: ErrorOptions) {
    super(`not now: ${reason}`, options)
    this.reason = reason
  }
}

/** Tells of a blob store that it is away. */
export async function storing<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (cause) {
    // What has a name keeps it: a blob store also passes on what the source of its bytes throws.
    throw hasName(cause) ? cause : new Unavailable('files_unavailable', { cause })
  }
}

/**
 * Tells of the read model whether it is away, or does not answer such a question at all.
 *
 * @param refused what cannot be known without the answer
 */
export async function asking<T>(refused: FailureReason, answer: Promise<T>): Promise<T> {
  try {
    return await answer
  } catch (cause) {
    throw nameOf(cause, refused)
  }
}

/** The same of rows as they come. */
export async function* askingAll<T>(refused: FailureReason, rows: AsyncIterable<T>): AsyncGenerator<T> {
  try {
    yield* rows
  } catch (cause) {
    throw nameOf(cause, refused)
  }
}

const nameOf = (cause: unknown, refused: FailureReason): Error =>
  storeProblem(cause) === undefined
    ? new ExportFailed(refused, { cause })
    : new Unavailable('store_unavailable', { cause })

const hasName = (cause: unknown): boolean => cause instanceof Unavailable || cause instanceof ExportFailed
