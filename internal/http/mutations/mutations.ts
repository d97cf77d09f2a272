import { createHmac, hkdfSync } from 'node:crypto'
import type { AuditSink } from '../../auth/audit-entry.js'
import type { Caller } from '../../auth/authenticate.js'
import { isBrokerUnavailable } from '../../broker/errors.js'
import { formatId, type IdPrefix, type TenantIds } from '../../ids/ids.js'
import type { KeyHash } from '../../ids/key-hash.js'
import { bytesOf, hashIdempotencyKey } from '../../ids/key-hash.js'
import type { SipKey } from '../../ids/siphash.js'
import { type ErrorCode, PROBLEMS, type Problem, problem } from '../../problems/problem-catalogue.js'
import type { Logger } from '../../telemetry/log.js'
import { json } from '../contract/operation.js'
import type { Exchange } from '../exchange.js'
import { takeFrom } from '../rate-limit.js'
import type { TenantRoute } from '../route.js'
import { audit, NotAudited } from './audited.js'
import type { Claim, Claims, Known } from './claims.js'
import {
  answerOf,
  authorityOf,
  canonicalKey,
  type KeptAnswer,
  openAnswer,
  refusalOf,
  sealAnswer,
} from './kept-answer.js'
import type { Mutation, MutationRequest, Reply } from './mutation.js'
import { MUTATION_BYTES_MAX, type ReadBody, readBody, readNoBody } from './read-body.js'
import { needsNewSignIn, STEP_UP } from './step-up.js'

export interface MutationDeps {
  readonly claims: Claims
  readonly auditSink: AuditSink
  readonly idsOf: (tenantId: string) => TenantIds
  /** The tenant's key for hashing Idempotency-Keys. */
  readonly keyHashingOf: (tenantId: string) => SipKey
  /** The instance's secret, 32 bytes: seals stored replies and fingerprints bodies. */
  readonly secret: Uint8Array
  readonly errorDocsUrl: string
  readonly clock: () => number
  readonly log: Logger
}

export type Mutate = <B = undefined>(mutation: Mutation<B>) => TenantRoute

/** How long a duplicate waits for the original request. */
const WAIT_MS_MAX = 2_000
/** Mutations running or waiting in this process: over all tenants, and per tenant. */
const OPEN_MAX = 2_000
const OPEN_MAX_OF_TENANT = 200
/** Route number in the key hash, the same for all mutations: the record's name tells them apart. */
const ROUTE = 2

/** Refusals that are final, like a 2xx. All others leave the key free, so that a corrected retry works. */
const KEPT_PROBLEMS: ReadonlySet<ErrorCode> = new Set([
  'NOT_FOUND',
  'CONFLICT',
  'RESIDENCY_BLOCKED',
  'WEBHOOK_URL_REJECTED',
])

/**
 * Turns mutations into routes. Each request takes effect once, across retries, gateways and crashes: its
 * Idempotency-Key is claimed before any effect, and the reply is stored under the key for 24 hours. A replay is judged
 * as a request of the credential that sends it, by its scopes and the mutation's `refusalOf`; not by what a change finds,
 * such as whether it widens a client, which it does once. A secret is replayed to the principal that made it only.
 */
export function createMutations(deps: MutationDeps): Mutate {
  const open = new OpenMutations()
  return (mutation) => {
    const { method, path, access, rateClass, needsStepUp, operation, body } = mutation
    return {
      method,
      path,
      access,
      rateClass,
      ...(needsStepUp && { needsStepUp }),
      chargesItself: true,
      operation: {
        ...operation,
        ...(body && {
          body: {
            contents: json(body.schema, body.example),
            ...(body.description !== undefined && { description: body.description }),
            ...(body.isOptional && { isOptional: body.isOptional }),
          },
        }),
      },
      whenDenied: (exchange, caller, denial) =>
        orUnavailable(exchange, chargeAndRefuse(exchange, caller, mutation, denial, deps), deps),
      handle: (exchange, caller) => begin(exchange, caller, mutation, open, deps),
    }
  }
}

/** Counts mutations that run or wait, so that one tenant cannot exhaust the limit for others. */
class OpenMutations {
  private count = 0
  private readonly ofTenant = new Map<string, number>()

  hasCapacityFor(tenantId: string): boolean {
    return this.count < OPEN_MAX && (this.ofTenant.get(tenantId) ?? 0) < OPEN_MAX_OF_TENANT
  }

  async during(tenantId: string, work: Promise<void>): Promise<void> {
    this.add(tenantId, 1)
    try {
      await work
    } finally {
      this.add(tenantId, -1)
    }
  }

  private add(tenantId: string, change: 1 | -1): void {
    this.count += change
    const now = (this.ofTenant.get(tenantId) ?? 0) + change
    if (now === 0) this.ofTenant.delete(tenantId)
    else this.ofTenant.set(tenantId, now)
  }
}

/** Checks the headers, then reads the body, which uWebSockets.js offers only within the handler. */
function begin<B>(
  exchange: Exchange,
  caller: Caller,
  mutation: Mutation<B>,
  open: OpenMutations,
  deps: MutationDeps,
): void | Promise<void> {
  exchange.keepAddress() // for the audit log
  const keyHash: KeyHash = new Int32Array(4)
  const { idempotencyKey } = exchange.headers
  const hasKey = hashIdempotencyKey(deps.keyHashingOf(caller.tenantId), ROUTE, idempotencyKey, keyHash)
  const isStale = mutation.needsStepUp === true && needsNewSignIn(caller, deps.clock())
  const refusal = isStale ? STEP_UP : hasKey ? refusalOfMediaType(exchange, mutation) : NO_KEY
  if (refusal !== undefined) {
    return orUnavailable(exchange, chargeAndRefuse(exchange, caller, mutation, refusal, deps), deps)
  }
  const refuseTooMany = (): void => exchange.replyProblem(charge(caller, mutation, deps) ?? TOO_MANY)
  if (!open.hasCapacityFor(caller.tenantId)) return refuseTooMany()

  const recordKey = `mutation.${mutation.operation.id}.${Buffer.from(bytesOf(keyHash)).toString('hex')}`
  exchange.readBody(MUTATION_BYTES_MAX, (bytes) => {
    // Others may have started while this body was being received.
    if (!open.hasCapacityFor(caller.tenantId)) return refuseTooMany()
    const fingerprint = createHmac('sha256', deps.secret)
      .update(`${mutation.method} ${exchange.path}\n`)
      .update(bytes)
      .digest('hex')
    const read = mutation.body === undefined ? (readNoBody(bytes) as ReadBody<B>) : readBody(bytes, mutation.body)
    const keyed = { exchange, caller, mutation, recordKey, key: canonicalKey(idempotencyKey), fingerprint }
    const work = open.during(caller.tenantId, decide(keyed, read, deps))
    orUnavailable(exchange, work, deps).catch((cause: unknown) => exchange.fail(cause))
  })
}

interface Keyed<B> {
  readonly exchange: Exchange
  readonly caller: Caller
  readonly mutation: Mutation<B>
  readonly recordKey: string
  readonly key: string
  readonly fingerprint: string
}

function refusalOfMediaType<B>({ headers }: Exchange, { body }: Mutation<B>): Problem | undefined {
  if (body === undefined) return undefined
  const isAbsent = headers.contentLength === '' || headers.contentLength === '0'
  const isPlainJson = /^application\/json\s*(;|$)/i.test(headers.contentType) && headers.contentEncoding === ''
  return isPlainJson || (isAbsent && body.isOptional === true) ? undefined : NOT_JSON
}

async function decide<B>(keyed: Keyed<B>, read: ReadBody<B>, deps: MutationDeps): Promise<void> {
  const { exchange, caller, mutation, recordKey, fingerprint } = keyed
  if (!read.ok) {
    const known = await deps.claims.find(recordKey, fingerprint, WAIT_MS_MAX)
    if (known !== undefined) return answerKnown(keyed, known, read, deps)
    return chargeAndRefuse(exchange, caller, mutation, read.problem, deps)
  }
  for (;;) {
    const claim = await deps.claims.claim(recordKey, fingerprint, caller.principal, WAIT_MS_MAX)
    if (claim.kind !== 'claimed') return answerKnown(keyed, claim, read, deps)
    const limited = charge(caller, mutation, deps)
    if (limited !== undefined) {
      await giveUp(claim)
      return exchange.replyProblem(limited)
    }
    const answer = await execute(keyed, read.body, claim, deps)
    // Another attempt has taken over: its outcome is the reply.
    if (answer === 'overtaken') continue
    return 'code' in answer ? exchange.replyProblem(answer) : replyKept(exchange, answer.head, answer.body)
  }
}

async function answerKnown<B>(keyed: Keyed<B>, known: Known, read: ReadBody<B>, deps: MutationDeps): Promise<void> {
  const { exchange, caller, mutation, recordKey, key } = keyed
  switch (known.kind) {
    case 'conflict':
      return chargeAndRefuse(exchange, caller, mutation, CONFLICT, deps)
    case 'busy':
      return exchange.replyProblem(charge(caller, mutation, deps) ?? BUSY)
    case 'decided': {
      const answer = openAnswer(deps.secret, key, recordKey, known.sealed)
      const refusal = await refusalOfReplay(keyed, answer, read)
      if (refusal !== undefined) return chargeAndRefuse(exchange, caller, mutation, refusal, deps)
      if (answer.traceId !== undefined) exchange.continueTrace(answer.traceId)
      return replyKept(exchange, `${answer.head}\r\nIdempotency-Replayed: true`, answer.body)
    }
  }
}

/** Why this caller does not get the stored reply of another credential. */
async function refusalOfReplay<B>(
  { exchange: { parameter }, caller, mutation }: Keyed<B>,
  { maker, body }: KeptAnswer,
  read: ReadBody<B>,
): Promise<Problem | undefined> {
  if (maker?.authority === authorityOf(caller)) return undefined
  if (!read.ok) return read.problem
  const refusal = await mutation.refusalOf?.({ caller, body: read.body, parameter })
  if (refusal !== undefined) return refusal
  // An earlier version did not keep whose a reply is: one with a secret is then nobody's.
  const isOthers = maker === undefined ? SHOWS_SECRET.test(body) : maker.principal !== caller.principal
  return isOthers && maker?.hasSecret !== false ? OTHERS_SECRET : undefined
}

/** Members of replies in which version 0.3.0 shows a secret. */
const SHOWS_SECRET = /"(?:secret|client_secret|signing_secret|password)":/

/** A 204 may not even have a Content-Length of 0 (RFC 9110 section 8.6). */
const replyKept = (exchange: Exchange, head: string, body: string): void =>
  body === '' ? exchange.replyEmpty(head) : exchange.reply(head, body)

async function execute<B>(
  { exchange, caller, mutation, recordKey, key }: Keyed<B>,
  body: B,
  claim: Claim,
  deps: MutationDeps,
): Promise<KeptAnswer | Problem | 'overtaken'> {
  const { tag } = deps.idsOf(caller.tenantId)
  let hasSecret = false
  const request: MutationRequest<B> = {
    caller,
    body,
    parameter: exchange.parameter,
    query: exchange.query,
    traceId: exchange.traceId,
    newId: (prefix) => formatId(prefix, idBytes(claim.seed, prefix, tag)),
    newSecret: () => {
      // An interrupted attempt of another principal, or of one unknown: its secret is not this one's to see.
      if (claim.principal !== caller.principal) throw new OthersSecret()
      hasSecret = true
      return secretBytes(deps.secret, claim.seed, key)
    },
    isRepeat: claim.isRepeat,
  }
  try {
    const outcome = (await mutation.refusalOf?.(request)) ?? (await handled(mutation, request))
    await audit(deps, exchange, caller, mutation.action, outcome)
    if ('code' in outcome && !isFinal(outcome, mutation)) {
      await (PROBLEMS[outcome.code].status >= 500 ? claim.leave() : giveUp(claim))
      return outcome
    }
    const isRefused = 'code' in outcome
    const answer = {
      ...(isRefused ? refusalOf(outcome, exchange, deps.errorDocsUrl) : answerOf(outcome)),
      maker: { principal: caller.principal, authority: authorityOf(caller), hasSecret: hasSecret && !isRefused },
    }
    return (await claim.decide(sealAnswer(deps.secret, key, recordKey, answer))) ? answer : 'overtaken'
  } catch (cause) {
    await claim.leave().catch(() => undefined)
    if (!isUnavailable(cause)) await audit(deps, exchange, caller, mutation.action, FAILED)
    throw cause
  }
}

class OthersSecret extends Error {}

const handled = <B>({ handle }: Mutation<B>, request: MutationRequest<B>): Promise<Reply | Problem> =>
  handle(request).catch((cause: unknown) => {
    if (cause instanceof OthersSecret) return OTHERS_SECRET
    throw cause
  })

const isFinal = <B>({ code }: Problem, { mayAppear }: Mutation<B>): boolean =>
  KEPT_PROBLEMS.has(code) && !(mayAppear && code === 'NOT_FOUND')

/** This attempt had no effect, an earlier one may have: a new seed would create a duplicate, so reuse it. */
const giveUp = (claim: Claim): Promise<void> => (claim.isRepeat ? claim.leave() : claim.withdraw())

/** The tenant's tag, then unpredictable bytes. */
const idBytes = (seed: Uint8Array, prefix: IdPrefix, tag: Uint8Array): Uint8Array =>
  Buffer.concat([tag, createHmac('sha256', seed).update(prefix).digest()]).subarray(0, 16)

/**
 * As with the sealing in `kept-answer.ts`: neither a copy of the bucket, which holds the seed, nor that copy with the
 * master key can derive it. The client's Idempotency-Key is needed as well.
 */
const secretBytes = (secret: Uint8Array, seed: Uint8Array, idempotencyKey: string): Uint8Array =>
  Buffer.from(hkdfSync('sha256', secret, seed, `attribution once-only secrets v1 ${idempotencyKey}`, 32))

/** Every request costs the same, even one that only waits; only a replay is free. */
const charge = <B>(caller: Caller, { rateClass }: Mutation<B>, { clock }: MutationDeps): Problem | undefined =>
  takeFrom(caller.budgets[rateClass], 1, clock())

async function chargeAndRefuse<B>(
  exchange: Exchange,
  caller: Caller,
  mutation: Mutation<B>,
  what: Problem,
  deps: MutationDeps,
): Promise<void> {
  const refusal = charge(caller, mutation, deps) ?? what
  await audit(deps, exchange, caller, mutation.action, refusal)
  exchange.replyProblem(refusal)
}

const isUnavailable = (cause: unknown): boolean => cause instanceof NotAudited || isBrokerUnavailable(cause)

/** Replies 503 when the broker, and with it the audit log, is unreachable: that is no defect of the gateway. */
async function orUnavailable(exchange: Exchange, work: Promise<void>, { log }: MutationDeps): Promise<void> {
  try {
    await work
  } catch (cause) {
    if (!isUnavailable(cause)) throw cause
    log.warn({ err: cause, trace_id: exchange.traceId }, 'mutation could not be completed')
    exchange.replyProblem(
      problem('SERVICE_UNAVAILABLE', 'The outcome could not be stored; retry with the same Idempotency-Key.', {
        retryAfterSeconds: 1,
      }),
    )
  }
}

const NO_KEY = problem('IDEMPOTENCY_KEY_REQUIRED', 'Send exactly one Idempotency-Key header: a UUID or a ULID.')
const NOT_JSON = problem('UNSUPPORTED_MEDIA_TYPE', 'Send the body as application/json without Content-Encoding.')
const CONFLICT = problem(
  'IDEMPOTENCY_CONFLICT',
  'This Idempotency-Key was used for a different request; use a new one.',
)
const OTHERS_SECRET = problem(
  'IDEMPOTENCY_CONFLICT',
  'This Idempotency-Key was used by another credential, or before an update, and the reply may show a secret; use ' +
    'a new one.',
)
const BUSY = problem(
  'IDEMPOTENCY_IN_PROGRESS',
  'The original request is still in progress; retry with the same Idempotency-Key.',
  {
    retryAfterSeconds: 1,
  },
)
const FAILED = problem('INTERNAL_ERROR', '')
const TOO_MANY = problem('RATE_LIMITED', 'Too many changes in progress; retry later.', { retryAfterSeconds: 1 })
