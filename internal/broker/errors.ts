import { JetStreamApiError, JetStreamError } from '@nats-io/jetstream'
import { errors } from '@nats-io/transport-node'
import { type Problem, problem } from '../problems/catalogue.js'

/** The code that a JetStream error carries: 404 for "no such message", 10xxx for API errors. */
export const brokerErrorCode = (cause: unknown): number | undefined => {
  if (!(cause instanceof Error) || !('code' in cause)) return undefined
  return typeof cause.code === 'number' ? cause.code : undefined
}

/** JetStream's error 10071: the expected sequence is no longer the last one. */
export const WRONG_LAST_SEQUENCE = 10_071

/** Another writer was first: the expected revision is no longer the last one, or the key exists. */
export const isLostRace = (cause: unknown): boolean => brokerErrorCode(cause) === WRONG_LAST_SEQUENCE

/**
 * The broker did not answer, or says that it cannot now. What was asked of it may have happened all the same.
 */
export function isBrokerUnavailable(cause: unknown): boolean {
  if (cause instanceof JetStreamApiError) return cause.apiError().code === 503
  return (
    cause instanceof NotStored ||
    cause instanceof MirrorBehind ||
    cause instanceof JetStreamError ||
    AWAY.some((kind) => cause instanceof kind) ||
    // The package does not name this one: nobody answers for JetStream.
    (cause instanceof Error && cause.message === 'jetstream is not enabled')
  )
}

/** What a broker that is away means to whoever reads; undefined is not of the broker. */
export const brokerProblem = (cause: unknown): Problem | undefined =>
  isBrokerUnavailable(cause)
    ? problem('SERVICE_UNAVAILABLE', 'It cannot be known now up to when records are complete.', {
        retryAfterSeconds: 1,
      })
    : undefined

/** A stream did not take a message: nobody answered, or it is full. */
export class NotStored extends Error {}

/** This process's copy of a KV bucket lags behind the bucket. */
export class MirrorBehind extends Error {}

/** The KV watch that keeps a copy of a bucket up to date has ended. */
export class KvWatchLost extends Error {
  readonly bucket: string

  constructor(bucket: string, cause: unknown) {
    super(`KV watch lost (bucket=${bucket})`, { cause })
    this.bucket = bucket
  }
}

const AWAY = [
  errors.TimeoutError,
  errors.RequestError,
  errors.NoRespondersError,
  errors.ConnectionError,
  errors.ClosedConnectionError,
  errors.DrainingConnectionError,
]

/** Nobody hears what was asked: other than of one who does not answer, that is known at once. */
export const isNoResponders = (cause: unknown): boolean =>
  cause instanceof errors.NoRespondersError || (cause instanceof errors.RequestError && cause.isNoResponders())
