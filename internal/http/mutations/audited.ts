import type { AuditAction, AuditEntry, AuditSink } from '../../auth/audit-entry.js'
import type { Caller } from '../../auth/authenticate.js'
import { type ErrorCode, PROBLEMS, type Problem } from '../../problems/problem-catalogue.js'
import type { Exchange } from '../exchange.js'
import type { Reply } from './mutation.js'

/** Refusals that reveal neither permissions nor intent; a flood of them must not fill the audit log. */
const UNAUDITED: ReadonlySet<ErrorCode> = new Set([
  'RATE_LIMITED',
  'IDEMPOTENCY_IN_PROGRESS',
  'IDEMPOTENCY_KEY_REQUIRED',
])

/**
 * Records the outcome of a mutation before its reply is sent.
 *
 * @throws NotAudited when the audit log cannot store the entry
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
    action: reply?.action ?? action,
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
    throw new NotAudited('cannot write to the audit log', { cause })
  }
}

export class NotAudited extends Error {}

/** Only well-formed ids are recorded: other path segments may be content. */
const targetOf = (parameter: string): string | null =>
  /^[a-z]{3,4}_[0-9a-z]{1,32}$/.test(parameter) ? parameter : null
