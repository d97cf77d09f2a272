import type { TokenParties } from '../../auth/access-tokens.js'
import type { Mode } from '../../auth/api-keys.js'

/**
 * Issuer and audience of tokens. The issuer is the instance's address, where its discovery document is found (RFC 8414
 * 3); production and sandbox have different addresses, and always different audiences.
 */
export const partiesOf = (mode: Mode, baseUrl: string): TokenParties => ({
  issuer: baseUrl.replace(/\/+$/, ''),
  audience: `urn:attribution:${mode}`,
})

/** The partner API has its own audience: it accepts only connectors' tokens, and no other API accepts those. */
export const partnerPartiesOf = (mode: Mode, baseUrl: string): TokenParties => ({
  ...partiesOf(mode, baseUrl),
  audience: `urn:attribution:${mode}:partner`,
})
