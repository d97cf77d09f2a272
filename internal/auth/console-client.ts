/** What the console and the authorization server agree on: the client follows from the tenant and is never stored. */

const SUFFIX = /^[0-9a-z]{26}$/

/** @returns undefined for a tenant whose id has another form, which then has no console */
export function consoleClientId(tenantId: string): string | undefined {
  const suffix = tenantId.replace(/^tnt_/, '')
  return SUFFIX.test(suffix) ? `cli_${suffix}` : undefined
}

/** Where the answers of its sign-ins go. */
export const consoleRedirectUri = (baseUrl: string): string => `${baseUrl}/console/callback`

/**
 * The redirect address of the one-time links that the machine's operator prints. No client is registered with it, so
 * that a code that the authorization server issued to somebody signs nobody else in by a link.
 */
export const consoleLinkUri = (baseUrl: string): string => `${baseUrl}/console/link`
