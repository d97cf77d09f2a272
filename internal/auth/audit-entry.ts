import type { ErrorCode } from '../problems/catalogue.js'
import type { CanonicalValue } from '../text/canonical-json.js'

/**
 * What is audited: the closed list, `<what>.<done to it>`. Ingestion is not in it, since what it takes is its own
 * record; nor is a read.
 */
export const AUDIT_ACTIONS = [
  'api_key.create',
  'api_key.rotate',
  'api_key.revoke',
  'budget.create',
  'budget.update',
  'budget.delete',
  'client.create',
  'client.update',
  'client.rotate_secret',
  'client.delete',
  'connector.create',
  'connector.update',
  'connector.delete',
  'connector.report_health',
  'coverage.update',
  'directory.put',
  'budget.create',
  'budget.update',
  'budget.delete',
  'directory.delete',
  'export.create',
  'identity.erase',
  'master_key.rotate',
  'model.train',
  'model.promote',
  'model_name.create',
  'model_name.delete',
  'model.recall',
  'model.restore',
  'audit.head_lost',
  'attribution.dispute',
  'attribution.undo_dispute',
  'attribution.override',
  'attribution.undo_override',
  'attribution.reattribute',
  'pool.create',
  'pool.update',
  'pool.delete',
  'price_book.import',
  'price.create',
  'price.update',
  'price.delete',
  'quarantine.replay',
  'session.sign_in',
  'session.sign_out',
  'settings.update',
  'signing_key.rotate',
  'tenant.create',
  'tenant.update',
  'tenant.delete',
  'token.issue',
  'token.refresh',
  'token.revoke',
  'user.create',
  'user.update',
  'user.delete',
  'webhook.create',
  'webhook.update',
  'webhook.delete',
  'webhook.verify',
  'webhook.rotate_secret',
  'webhook.replay',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/** Written by the writer of the logs itself: the signed place of this log was gone, so that records may be too. */
export const HEAD_LOST = 'audit.head_lost' satisfies AuditAction

export const AUDIT_OUTCOMES = ['succeeded', 'refused', 'failed'] as const
/** `refused`: we said no (4xx). `failed`: we could not (5xx). */
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number]

/** One thing that somebody did or was refused. */
export interface AuditEntry {
  /** Whose log it goes to; null for what concerns the instance itself (its keys, a tenant that is not known). */
  readonly tenantId: string | null
  /** Id of the credential (`key_`, `cli_`, `usr_`), `cli` for the command line, null when nobody was authenticated. */
  readonly actor: string | null
  readonly action: AuditAction
  /** Id of what it was done to; null when there is none, as for a refused creation. */
  readonly target: string | null
  readonly outcome: AuditOutcome
  /** Why not; null when it succeeded. */
  readonly errorCode: ErrorCode | null
  /** 32 hex digits: of the request. */
  readonly traceId: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Of the peer, as text. */
  readonly sourceAddress?: string
  /** A configuration before and after; never a secret, a token, content, or an address with its query. */
  readonly changes?: { readonly before?: CanonicalValue; readonly after?: CanonicalValue }
}

export interface AuditSink {
  /**
   * Resolves once the entry is durable. Called when the effect is there and before it is answered, and before a
   * refusal is.
   *
   * @throws Error when it could not be made durable: the mutation is then answered with 503, whatever it came to
   */
  record(entry: AuditEntry): Promise<void>
}
