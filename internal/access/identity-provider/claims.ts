import { SCOPES, type Scope } from '../../auth/scopes.js'
import type { ProviderSettings } from './provider.js'

/** A person, as a provider's claims and the operator's groups describe them. */
export interface ProviderPerson {
  readonly issuer: string
  readonly subject: string
  /** As the provider spells it. */
  readonly username: string
  readonly scopes: readonly Scope[]
  /** Undefined: no group of the provider makes owners, so that the flag is given in the service. */
  readonly isOwner: boolean | undefined
  readonly team: string | undefined
}

export type Claims = Readonly<Record<string, unknown>> & { readonly sub: string }

/**
 * The permissions of a person, by the groups in their claims.
 *
 * @returns a sentence for the person, where they may not sign in
 */
export function personOf(provider: ProviderSettings, claims: Claims): ProviderPerson | string {
  const username = usernameIn(provider, claims)
  if (username === undefined) {
    return `${provider.name} does not state your user name (the claim ${provider.username_claim}).`
  }
  const member = groupsIn(claims[provider.groups_claim])
  const groups = provider.groups.filter(({ group }) => member.has(group))
  if (groups.length === 0) return `None of your groups at ${provider.name} gives access here.`
  const given = new Set(groups.flatMap(({ scopes }) => scopes))
  return {
    issuer: provider.issuer,
    subject: claims.sub,
    username,
    scopes: SCOPES.filter((scope) => given.has(scope)),
    isOwner: provider.groups.some(({ owner }) => owner) ? groups.some(({ owner }) => owner) : undefined,
    team: groups.find(({ team }) => team !== undefined)?.team,
  }
}

/** An address that the provider has not verified may be anybody's. */
function usernameIn({ username_claim: name }: ProviderSettings, claims: Claims): string | undefined {
  const value = claims[name]
  if (typeof value !== 'string' || value.trim() === '') return undefined
  return name === 'email' && claims['email_verified'] === false ? undefined : value.trim()
}

const groupsIn = (value: unknown): ReadonlySet<string> =>
  new Set((Array.isArray(value) ? value : [value]).filter((each) => typeof each === 'string'))
