import type { z } from 'zod'
import type { AuditAction, AuditEntry } from '../../auth/audit-entry.js'
import type { Caller } from '../../auth/authenticate.js'
import type { RateClass } from '../../auth/rate-limits.js'
import type { Scope } from '../../auth/scopes.js'
import type { IdPrefix } from '../../ids/ids.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import type { Operation } from '../contract/operation.js'

/** Everything in a request that a mutation may act on. */
export interface MutationRequest<B> {
  readonly caller: Caller
  readonly body: B
  /** The path's parameter, verbatim; empty without one. */
  readonly parameter: string
  /** Without its question mark. */
  readonly query: string
  readonly traceId: string
  /**
   * The id of the created record. The same at every attempt of the same request, so that a record created by an attempt
   * that crashed is found and not created twice.
   */
  readonly newId: (prefix: IdPrefix) => string
  /**
   * 32 unpredictable bytes for a secret that is shown only once. The same at every attempt of the same request, so that
   * the secret in the reply is valid whichever attempt sends it.
   */
  readonly newSecret: () => Uint8Array
  /** Whether an earlier attempt of this request may already have had its effect, or part of it. */
  readonly isRepeat: boolean
}

/** The reply to a successful mutation. */
export interface Reply {
  readonly status: 200 | 201 | 202 | 204
  /** In wire form; absent with a 204. */
  readonly body?: unknown
  /** Path of the created record. */
  readonly location?: string
  /** For the audit log, where one route does two things. Default: the mutation's. */
  readonly action?: AuditAction
  /** Id of the affected record, for the audit log. Default: the path's parameter. */
  readonly target?: string
  readonly changes?: NonNullable<AuditEntry['changes']>
}

/** The part of a request by which a caller may be refused who has the scope. */
export type Asked<B> = Pick<MutationRequest<B>, 'caller' | 'body' | 'parameter'>

/** One POST, PATCH or DELETE: the declaration of its route, and its handler. */
export interface Mutation<B> {
  readonly method: 'post' | 'patch' | 'del'
  readonly path: string
  readonly access: 'any' | Scope
  readonly rateClass: RateClass
  readonly needsStepUp?: true
  readonly action: AuditAction
  readonly operation: Omit<Operation, 'body'>
  /** Absent: a request body with members is refused. */
  readonly body?: {
    readonly schema: z.ZodType<B>
    readonly example?: unknown
    readonly description?: string
    /** Whether an empty body is read as `{}`. */
    readonly isOptional?: true
    /** Checked before the schema, for refusals with an error code of their own. */
    readonly screen?: (body: Readonly<Record<string, unknown>>) => Problem | undefined
  }
  /** The target may appear later without another request: a 404 is then not final, and not stored. */
  readonly mayAppear?: true
  /**
   * Refuses callers who have the scope and may still not ask for this. Asked before every attempt, and before another
   * credential's reply is replayed: a replay is a request of the credential that sends it.
   */
  readonly refusalOf?: (asked: Asked<B>) => Promise<Problem | undefined>
  /**
   * Applies the mutation. If an attempt crashes, another one repeats it, so that each effect must be safe to repeat:
   * created records take their id from `newId`, and a repeat treats an effect that it finds (created, deleted) as its
   * own. Returning a problem means that nothing was changed.
   *
   * @throws unexpected errors: an unreachable broker becomes a 503, everything else a 500. The client's next attempt is
   *   then a repeat.
   */
  readonly handle: (request: MutationRequest<B>) => Promise<Reply | Problem>
}
