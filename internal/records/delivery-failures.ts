/** Why an export file is not in the tenant's bucket. A closed set that API clients and receivers of events rely on. */
export const DELIVERY_FAILURES = [
  'export_failed',
  'residency_blocked',
  'address_not_allowed',
  'host_unresolved',
  'access_denied',
  'no_such_bucket',
  'redirected',
  'tls',
  'timeout',
  'connection',
  'bucket_error',
  'files_unavailable',
] as const
export type DeliveryFailure = (typeof DELIVERY_FAILURES)[number]
