import type { AuditAction, AuditEntry, AuditSink } from '../../auth/audit-entry.js'
import type { Caller } from '../../auth/authenticate.js'
import { type ErrorCode, PROBLEMS, type Problem } from '../../problems/catalogue.js'
import type { Exchange } from '../exchange.js'
import type { Reply } from './mutation.js'

/** Refusals that say nothing of what the caller may or wanted; a flood of them must not fill the audit log. */
const UNAUDITED: ReadonlySet<ErrorCode> = new Set([
  'RATE_LIMITED',
  'IDEMPOTENCY_IN_PROGRESS',
  'IDEMPOTENCY_KEY_REQUIRED',
])

/**
 * Writes down what a mutation came to, before it is answered.
 *
 * @throws NotAudited when the log does not take it
 */
export async function audit(
  { auditSink, clock }: { readonly auditSink: AuditSink; readonly clock: () => number },
  { parameter, traceId, address }: Exchange,
  caller: Caller,
  action: AuditAction,
  outcome: Reply | Problem,
): Promise<void> {
  const refusal = 'code' in outcome ? outcome : undefined
  const reply = 'code' in outcome ? undefined : outcome
  if (refusal !== undefined && UNAUDITED.has(refusal.code)) return
  const isFailure = refusal !== undefined && PROBLEMS[refusal.code].status >= 500
  const entry: AuditEntry = {
    tenantId: caller.tenantId,
    actor: caller.principal,
    action,
    target: reply?.target ?? targetOf(parameter),
    outcome: refusal === undefined ? 'succeeded' : isFailure ? 'failed' : 'refused',
    errorCode: refusal?.code ?? null,
    traceId,
    at: clock(),
    ...(address !== '' && { sourceAddress: address }),
    ...(reply?.changes && { changes: reply.changes }),
  }
  try {
    await auditSink.record(entry)
  } catch (cause) {
    throw new NotAudited('the audit log does not take an entry', { cause })
  }
}

export class NotAudited extends Error {}

/** Only what has the form of an id is written down: whatever else stands in a path may be content. */
const targetOf = (parameter: string): string | null =>
  /^[a-z]{3,4}_[0-9a-z]{1,32}$/.test(parameter) ? parameter : null
