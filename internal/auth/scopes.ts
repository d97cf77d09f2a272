/** The closed set of scopes (spec 5, rule 4). None implies another. */
export const SCOPES = [
  'read:attribution',
  'read:reporting',
  'export:create',
  'webhooks:manage',
  'admin:config',
] as const
export type Scope = (typeof SCOPES)[number]
