import { randomBytes } from 'node:crypto'
import type { AuditAction, AuditSink } from '../../auth/audit-entry.js'
import type { Exchange } from '../../http/exchange.js'
import { NotAudited } from '../../http/mutations/audited.js'
import { PROBLEMS, type Problem } from '../../problems/catalogue.js'

/** What somebody has done with tokens, or was refused. */
export interface TokenDeed {
  readonly action: Extract<AuditAction, `token.${string}` | `session.${string}`>
  /** Of the client, also of one that only says that it is it; null when nobody knows it. */
  readonly tenantId: string | null
  /** The client or person who was authenticated; null when nobody was. */
  readonly actor: string | null
  readonly target: string | null
  /** Why it was refused; undefined when it was done. */
  readonly refusal?: Problem
}

/**
 * Writes down a deed before it is answered.
 *
 * @throws NotAudited when the log does not take it
 */
export async function recordDeed(
  { auditSink, clock }: { readonly auditSink: AuditSink; readonly clock: () => number },
  { traceId, address }: Exchange,
  { refusal, ...deed }: TokenDeed,
): Promise<void> {
  const isFailure = refusal !== undefined && PROBLEMS[refusal.code].status >= 500
  try {
    await auditSink.record({
      ...deed,
      outcome: refusal === undefined ? 'succeeded' : isFailure ? 'failed' : 'refused',
      errorCode: refusal?.code ?? null,
      traceId,
      at: clock(),
      ...(address !== '' && { sourceAddress: address }),
    })
  } catch (cause) {
    throw new NotAudited('the audit log does not take an entry', { cause })
  }
}

/** Writes down that the instance itself has put a new key in the place of the one that signed, since that was due. */
export const recordRotation = (
  auditSink: AuditSink,
  { before, after }: { readonly before: string; readonly after: string },
  nowMs: number,
): Promise<void> =>
  auditSink.record({
    tenantId: null,
    actor: null,
    action: 'signing_key.rotate',
    target: after,
    outcome: 'succeeded',
    errorCode: null,
    traceId: randomBytes(16).toString('hex'),
    at: nowMs,
    changes: { before: { key: before }, after: { key: after, how: 'due' } },
  })
