import { randomBytes } from 'node:crypto'
import type { AuditAction, AuditEntry, AuditSink } from '../../auth/audit-entry.js'
import type { Exchange } from '../../http/exchange.js'
import { NotAudited } from '../../http/mutations/audited.js'
import { PROBLEMS, type Problem } from '../../problems/problem-catalogue.js'

/** An audited action on a token or session. */
export interface TokenAction {
  readonly action: Extract<AuditAction, `token.${string}` | `session.${string}` | 'user.create' | 'user.update'>
  /** The client's tenant, also where the client only claims its id; null when the client is unknown. */
  readonly tenantId: string | null
  /** The client or person that authenticated; null when none did. */
  readonly actor: string | null
  readonly target: string | null
  /** Undefined when the action succeeded. */
  readonly refusal?: Problem
  readonly changes?: NonNullable<AuditEntry['changes']>
}

/**
 * Records an action in the audit log, before the request is answered.
 *
 * @throws NotAudited when the audit log does not accept the entry
 */
export async function recordTokenAction(
  { auditSink, clock }: { readonly auditSink: AuditSink; readonly clock: () => number },
  { traceId, address }: Exchange,
  { refusal, ...action }: TokenAction,
): Promise<void> {
  const isFailure = refusal !== undefined && PROBLEMS[refusal.code].status >= 500
  try {
    await auditSink.record({
      ...action,
      outcome: refusal === undefined ? 'succeeded' : isFailure ? 'failed' : 'refused',
      errorCode: refusal?.code ?? null,
      traceId,
      at: clock(),
      ...(address !== '' && { sourceAddress: address }),
    })
  } catch (cause) {
    throw new NotAudited('the audit log did not accept an entry', { cause })
  }
}

/** Records that the instance itself rotated the signing key, because a rotation was due. */
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
