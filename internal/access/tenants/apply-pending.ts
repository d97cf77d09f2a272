import { randomBytes } from 'node:crypto'
import type { AuditEntry } from '../../auth/audit-entry.js'
import type { AppliedChange, Tenant } from '../../auth/tenant.js'
import type { Records } from '../../broker/records.js'
import { withDueChanges } from './pending-changes.js'

export interface ApplyPendingDeps {
  readonly tenants: Pick<Records<Tenant>, 'change' | 'read'>
  /** Records an entry once per id. */
  readonly auditOnce: (entry: AuditEntry, id: string) => Promise<void>
  readonly clock: () => number
}

/**
 * Applies the changes of a tenant's settings that are due. Of several processes that try, one does: by compare-and-set
 * of the tenant's record, which keeps each applied change until its audit entry is stored, so that a crash in between
 * loses none.
 */
export async function applyPending(
  tenant: Tenant,
  { tenants, auditOnce, clock }: ApplyPendingDeps,
): Promise<readonly AppliedChange[]> {
  if (tenant.pending_changes === undefined && tenant.applied_changes === undefined) return []
  const after = await tenants.change(tenant.id, (current) => withDueChanges(current, clock()))
  const applied = after?.applied_changes ?? []
  for (const change of applied) await auditOnce(entryOf(tenant.id, change, clock()), idOf(tenant.id, change))
  if (applied.length === 0) return []
  const ids = applied.map((change) => idOf(tenant.id, change))
  await tenants.change(tenant.id, ({ applied_changes: all = [], ...current }) => {
    const left = all.filter((change) => !ids.includes(idOf(tenant.id, change)))
    return left.length === all.length ? undefined : { ...current, ...(left.length > 0 && { applied_changes: left }) }
  })
  return applied
}

const idOf = (tenantId: string, { setting, takes_effect_at }: AppliedChange): string =>
  `settings.apply ${tenantId} ${setting} ${takes_effect_at}`

const entryOf = (tenantId: string, { setting, from, to, requested_by }: AppliedChange, at: number): AuditEntry => ({
  tenantId,
  actor: requested_by,
  action: 'settings.apply',
  target: tenantId,
  outcome: 'succeeded',
  errorCode: null,
  traceId: randomBytes(16).toString('hex'),
  at,
  changes: { before: { [setting]: from }, after: { [setting]: to } },
})
