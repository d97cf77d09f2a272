import type { TokenParties } from '../auth/access-tokens.js'
import type { Mode } from '../auth/api-keys.js'

/**
 * Who issues tokens, and for whom. The issuer is the instance's address, under which its discovery document is found
 * (RFC 8414 3); production and sandbox have addresses of their own, and never the same audience.
 */
export const partiesOf = (mode: Mode, baseUrl: string): TokenParties => ({
  issuer: baseUrl.replace(/\/+$/, ''),
  audience: `urn:attribution:${mode}`,
})
