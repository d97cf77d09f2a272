import { formatId, ID_BYTES } from './ids.js'

/**
 * The tenant of the calls by which the service measures itself. It is reserved, and has no entry among the tenants: no
 * credential can name it, so nobody reads its records, and nothing that goes over the tenants (budgets, exports,
 * models, webhooks) meets it.
 */
export const PROBE_TENANT_ID = formatId('tnt', new Uint8Array(ID_BYTES))

/** How long its records are kept. */
export const PROBE_RETENTION_DAYS = 2
