import type { z } from 'zod'
import type { AuditAction, AuditEntry } from '../../auth/audit-entry.js'
import type { Caller } from '../../auth/authenticate.js'
import type { RateClass } from '../../auth/rate-limits.js'
import type { Scope } from '../../auth/scopes.js'
import type { IdPrefix } from '../../ids/ids.js'
import type { Problem } from '../../problems/catalogue.js'
import type { Operation } from '../contract/operation.js'

/** What a mutation is told. Everything of the request that it may act on. */
export interface MutationRequest<B> {
  readonly caller: Caller
  readonly body: B
  /** The path's parameter, as it stands there; empty without one. */
  readonly parameter: string
  /** Without its question mark. */
  readonly query: string
  readonly traceId: string
  /**
   * The id of what is made. The same at every attempt of the same request, so that what an attempt that died had made
   * is found and not made again.
   */
  readonly newId: (prefix: IdPrefix) => string
  /**
   * 32 bytes that nobody can guess, for a secret that is shown once. The same at every attempt of the same request, so
   * that whichever of them answers, its secret is the one that opens.
   */
  readonly newSecret: () => Uint8Array
  /** Whether an earlier attempt of this request may have had its effect, or a part of it. */
  readonly isRepeat: boolean
}

/** The answer to a mutation that was carried out. */
export interface Reply {
  readonly status: 200 | 201 | 202 | 204
  /** In wire form; absent with a 204. */
  readonly body?: unknown
  /** Path of what was made. */
  readonly location?: string
  /** Id of what it was done to, for the audit log; by default the path's parameter. */
  readonly target?: string
  readonly changes?: NonNullable<AuditEntry['changes']>
}

/** One POST, PATCH or DELETE: what is declared of its route, and what it does. */
export interface Mutation<B> {
  readonly method: 'post' | 'patch' | 'del'
  readonly path: string
  readonly access: 'any' | Scope
  readonly rateClass: RateClass
  readonly needsStepUp?: true
  readonly action: AuditAction
  readonly operation: Omit<Operation, 'body'>
  /** Absent: the body does not matter. */
  readonly body?: {
    readonly schema: z.ZodType<B>
    readonly example?: unknown
    readonly description?: string
    /** Whether no body stands for one without members. */
    readonly isOptional?: true
    /** Refuses a body before its schema does, where a code of its own says why. */
    readonly screen?: (body: Readonly<Record<string, unknown>>) => Problem | undefined
  }
  /** Whether what it is done to may appear by itself: that it was not found is then not final, and not kept. */
  readonly mayAppear?: true
  /**
   * Carries it out, once a request. An owner that dies is followed by another, so that each effect is safe to repeat:
   * what is made has the id of `newId`, and in a repeat what is found done (made, or gone) counts as done. A problem
   * means that nothing was done.
   *
   * @throws what cannot be expected: a broker that is away becomes a 503, everything else a 500. The client's next
   *   attempt is then a repeat.
   */
  readonly handle: (request: MutationRequest<B>) => Promise<Reply | Problem>
}
