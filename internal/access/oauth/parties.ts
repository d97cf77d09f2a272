import type { TokenParties } from '../../auth/access-tokens.js'
import type { Mode } from '../../auth/api-keys.js'

/**
 * Who issues tokens, and for whom. The issuer is the instance's address, under which its discovery document is found
 * (RFC 8414 3); production and sandbox have addresses of their own, and never the same audience.
 */
export const partiesOf = (mode: Mode, baseUrl: string): TokenParties => ({
  issuer: baseUrl.replace(/\/+$/, ''),
  audience: `urn:attribution:${mode}`,
})

/** The partner API is an audience of its own: a connector's token is good nowhere else, and no other token is good there. */
export const partnerPartiesOf = (mode: Mode, baseUrl: string): TokenParties => ({
  ...partiesOf(mode, baseUrl),
  audience: `urn:attribution:${mode}:partner`,
})
