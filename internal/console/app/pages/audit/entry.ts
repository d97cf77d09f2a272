import type { AuditRecord } from 'attribution-service/sdk/api'

/** Records of `GET /api/v1/audit-log`. */
export type Entry = AuditRecord

export const AUDIT_PATH = '/api/v1/audit-log'
