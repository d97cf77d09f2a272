import { type AccessTokenClaims, CLOCK_SKEW_S, type MayVerify, type ReadToken } from './access-tokens.js'
import type { Billing } from './billing.js'
import type { Scope } from './scopes.js'

/** A token that is valid now, according to the watched buckets. */
export interface JudgedToken {
  readonly tenantId: string
  /** `cli_` or `usr_`. */
  readonly principal: string
  readonly scopes: readonly Scope[]
  /** Whether costs that its holder states count. */
  readonly trustsCost: boolean
  /** Whether it is a gateway's own token. */
  readonly isGateway: boolean
  /** Who pays for calls that do not say it. */
  readonly billing: Billing
  /** Seconds since the epoch; only on a person's token. */
  readonly authTimeS: number | undefined
  /** The token is valid from this instant to the next one, unless one of `dependsOn` changes. */
  readonly notBeforeMs: number
  readonly expiresAtMs: number
  /** Ids of the records that the verdict depends on: signing key, client, person, sign-in, and the token itself. */
  readonly dependsOn: readonly string[]
}

/** The current state of a client or person, which their tokens depend on. */
export interface TokenHolder {
  readonly tenant_id: string
  readonly scopes: readonly Scope[]
  readonly status: 'active' | 'disabled'
  /** False: costs that it states do not count. Only of a client. */
  readonly trusts_cost?: boolean
  /** True: a gateway, whose word on who called counts. Only of a client. */
  readonly is_gateway?: boolean
  /** Who pays for calls that do not say it. Only of a client. */
  readonly billing?: Billing
  /** Seconds since the epoch; a person's earlier sign-ins are invalid. */
  readonly signed_in_from?: number
}

export interface BearerTokenDeps {
  readonly read: (token: string, nowMs: number, mayVerify: MayVerify) => ReadToken | undefined
  readonly findClient: (clientId: string) => TokenHolder | undefined
  readonly findUser: (userId: string) => TokenHolder | undefined
  /** @param id of a token (`jti`) or of a sign-in (`sid`) */
  readonly isRevoked: (id: string) => boolean
}

export type JudgeToken = (token: string, nowMs: number, mayVerify: MayVerify) => JudgedToken | undefined

/** Checks a token, its client and its person. The token has only the scopes that these still have. */
export function bearerTokens({ read, findClient, findUser, isRevoked }: BearerTokenDeps): JudgeToken {
  return (token, nowMs, mayVerify) => {
    const found = read(token, nowMs, mayVerify)
    if (found === undefined) return undefined
    const { claims, kid } = found
    if (isRevoked(claims.jti) || (claims.sid !== undefined && isRevoked(claims.sid))) return undefined
    let { scopes } = found
    let trustsCost = true
    // A person who signs in at a gateway's client is no gateway.
    let isGateway = true
    let billing: Billing = 'auto'
    for (const holder of holdersOf(claims, findClient, findUser)) {
      if (holder?.status !== 'active' || holder.tenant_id !== claims.tenant_id) return undefined
      if ((holder.signed_in_from ?? 0) > (claims.auth_time ?? Number.POSITIVE_INFINITY)) return undefined
      if (holder.trusts_cost === false) trustsCost = false
      if (holder.is_gateway !== true) isGateway = false
      billing = holder.billing ?? billing
      scopes = scopes.filter((scope) => holder.scopes.includes(scope))
    }
    return {
      tenantId: claims.tenant_id,
      principal: claims.sub,
      scopes,
      trustsCost,
      isGateway,
      billing,
      authTimeS: claims.auth_time,
      notBeforeMs: (Math.max(claims.nbf, claims.iat) - CLOCK_SKEW_S) * 1_000,
      expiresAtMs: claims.exp * 1_000,
      dependsOn: [kid, claims.client_id, claims.sub, claims.jti, ...(claims.sid === undefined ? [] : [claims.sid])],
    }
  }
}

const holdersOf = (
  { sub, client_id: clientId }: AccessTokenClaims,
  findClient: BearerTokenDeps['findClient'],
  findUser: BearerTokenDeps['findUser'],
): readonly (TokenHolder | undefined)[] =>
  sub === clientId ? [findClient(clientId)] : [findClient(clientId), findUser(sub)]
