import type { ErrorCode } from '../problems/problem-catalogue.js'
import type { CanonicalValue } from '../text/canonical-json.js'

/**
 * The closed list of audited actions, `<object>.<verb>`. Ingestion is not in it, because each event has a record of its
 * own; neither are reads, except those by SQL.
 */
export const AUDIT_ACTIONS = [
  'annotation.create',
  'annotation.update',
  'annotation.delete',
  'api_key.create',
  'api_key.rotate',
  'api_key.revoke',
  'budget.create',
  'budget.update',
  'budget.test',
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
  'directory.delete',
  'directory.import',
  'export.create',
  'export_schedule.create',
  'export_schedule.update',
  'export_schedule.delete',
  'export_schedule.test',
  'export_schedule.run',
  'export_schedule.deliver',
  'identity.erase',
  'identity_provider.check',
  'identity_provider.delete',
  'identity_provider.put',
  'master_key.rotate',
  'mapping_rule.create',
  'mapping_rule.update',
  'mapping_rule.delete',
  'mapping_rule.dry_run',
  'mapping_rule.apply',
  'model.train',
  'model.promote',
  'model_name.create',
  'model_name.delete',
  'usage_convention.create',
  'usage_convention.delete',
  'usage_convention.dry_run',
  'usage_convention.apply',
  'model.recall',
  'model.restore',
  'audit.head_lost',
  'attribution.dispute',
  'attribution.undo_dispute',
  'attribution.override',
  'attribution.undo_merge',
  'attribution.undo_override',
  'attribution.preview_overrides',
  'attribution.apply_overrides',
  'attribution.undo_overrides',
  'attribution.preview_reattribution',
  'attribution.reattribute',
  'pool.create',
  'pool.update',
  'pool.delete',
  'energy_table.propose',
  'energy_table.accept',
  'energy_table.undo',
  'price_book.import',
  'price_book.propose',
  'price_book.accept',
  'price_book.undo',
  'price.create',
  'price.update',
  'price.delete',
  'quarantine.replay',
  'scim_group.put',
  'scim_group.delete',
  'sql.query',
  'sql_user.create',
  'sql_user.revoke',
  'session.set_up_second_factor',
  'session.sign_in',
  'session.sign_out',
  'settings.apply',
  'settings.cancel',
  'settings.update',
  'signing_key.rotate',
  'backup.create',
  'streams.apply',
  'tenant.create',
  'tenant.update',
  'tenant.delete',
  'token.issue',
  'token.refresh',
  'token.revoke',
  'user.create',
  'user.update',
  'user.delete',
  'view.create',
  'view.update',
  'view.delete',
  'webhook.create',
  'webhook.update',
  'webhook.delete',
  'webhook.verify',
  'webhook.rotate_secret',
  'webhook.replay',
] as const
export type AuditAction = (typeof AUDIT_ACTIONS)[number]

/**
 * Recorded by the writer of the logs itself: the signed head of this log was missing, so that records may be missing
 * too.
 */
export const HEAD_LOST = 'audit.head_lost' satisfies AuditAction

export const AUDIT_OUTCOMES = ['succeeded', 'refused', 'failed'] as const
/** `refused`: rejected by us (4xx). `failed`: we were unable to perform it (5xx). */
export type AuditOutcome = (typeof AUDIT_OUTCOMES)[number]

/** One action, performed or refused. */
export interface AuditEntry {
  /** The tenant whose log it belongs to; null for the instance itself (its keys, an unknown tenant). */
  readonly tenantId: string | null
  /** Id of the credential (`key_`, `cli_`, `usr_`), `cli` for the command line, null without authentication. */
  readonly actor: string | null
  readonly action: AuditAction
  /** Id of the object; null without one, as for a refused creation. */
  readonly target: string | null
  readonly outcome: AuditOutcome
  /** Null when it succeeded. */
  readonly errorCode: ErrorCode | null
  /** Of the request: 32 hex digits. */
  readonly traceId: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Of the peer, as text. */
  readonly sourceAddress?: string
  /** A configuration before and after; never with a secret, a token, content, or the query of an address. */
  readonly changes?: { readonly before?: CanonicalValue; readonly after?: CanonicalValue }
}

export interface AuditSink {
  /**
   * Resolves once the entry is durable. To be called after the effect and before the reply, and before the reply of a
   * refusal.
   *
   * @throws Error when the entry could not be stored: the reply is then 503, even if the mutation succeeded
   */
  record(entry: AuditEntry): Promise<void>
}
