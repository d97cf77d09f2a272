import { JetStreamApiError, JetStreamError } from '@nats-io/jetstream'
import { errors } from '@nats-io/transport-node'
import { type Problem, problem } from '../problems/problem-catalogue.js'

/** The code of a JetStream error: 404 for "no such message", 10xxx for API errors. */
export const brokerErrorCode = (cause: unknown): number | undefined => {
  if (!(cause instanceof Error) || !('code' in cause)) return undefined
  return typeof cause.code === 'number' ? cause.code : undefined
}

/** JetStream's error 10071: the expected sequence is no longer the last one. */
export const WRONG_LAST_SEQUENCE = 10_071

/** JetStream's error 10059: there is no stream of that name. */
export const NO_SUCH_STREAM = 10_059

/** Another writer came first: the expected revision is no longer the last one, or the key exists. */
export const isLostRace = (cause: unknown): boolean => brokerErrorCode(cause) === WRONG_LAST_SEQUENCE

/**
 * The broker did not reply, or replied that it is temporarily unavailable. It may have executed the request
 * nevertheless.
 */
export function isBrokerUnavailable(cause: unknown): boolean {
  if (cause instanceof JetStreamApiError) return cause.apiError().code === 503
  return (
    cause instanceof NotStored ||
    cause instanceof MirrorBehind ||
    cause instanceof JetStreamError ||
    AWAY.some((kind) => cause instanceof kind) ||
    // The client has no class for this error: no responder for JetStream.
    (cause instanceof Error && cause.message === 'jetstream is not enabled')
  )
}

/** The problem of a read that failed because the broker is unavailable; undefined for any other cause. */
export const brokerProblem = (cause: unknown): Problem | undefined =>
  isBrokerUnavailable(cause)
    ? problem(
        'SERVICE_UNAVAILABLE',
        'The message broker is unavailable, so the instant up to which records are complete is unknown.',
        {
          retryAfterSeconds: 1,
        },
      )
    : undefined

/** A stream did not store a message: no reply, or the stream is full. */
export class NotStored extends Error {}

/** This process's mirror of a KV bucket lags behind the bucket. */
export class MirrorBehind extends Error {}

/** The KV watch that keeps the mirror of a bucket up to date has ended. */
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
