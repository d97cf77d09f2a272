/** Audit entries and rows of one tenant. A test states only the members of its case. */

import { toRow } from '../../internal/audit/audit-rows.js'
import { CHAIN_START, type ChainHead, chained, type RepeatedEntry } from '../../internal/audit/chain.js'
import type { AuditLogRow } from '../../internal/store/tables/audit-log.js'

export const auditEntry = (stated: Partial<RepeatedEntry> = {}): RepeatedEntry => ({
  tenantId: 'tnt_one',
  actor: 'key_one',
  action: 'settings.update',
  target: 'tnt_one',
  outcome: 'succeeded',
  errorCode: null,
  traceId: '0af7651916cd43dd8448eb211c80319c',
  at: Date.UTC(2026, 10, 21, 12),
  repeats: 1,
  ...stated,
})

/** The rows of these entries, as one chain. */
export function auditRows(entries: readonly RepeatedEntry[], head: ChainHead = CHAIN_START): AuditLogRow[] {
  let last = head
  return entries.map((entry) => {
    const record = chained(last, entry)
    last = record
    return toRow(record)
  })
}
