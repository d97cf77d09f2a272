/** The closed set of scopes. None implies another. */
export const SCOPES = [
  'read:attribution',
  'read:reporting',
  'export:create',
  'webhooks:manage',
  'admin:config',
] as const
export type Scope = (typeof SCOPES)[number]
