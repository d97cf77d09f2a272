import { SCOPES, type Scope } from '../../auth/scopes.js'
import { kindOf } from './known-providers.js'
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

/** What of a provider says who a person is. */
export type ClaimNames = Pick<ProviderSettings, 'name' | 'issuer' | 'username_claim' | 'groups_claim' | 'groups'>

/**
 * The permissions of a person, by the groups in their claims.
 *
 * @returns a sentence for the person, where they may not sign in
 */
export function personOf(provider: ClaimNames, claims: Claims): ProviderPerson | string {
  const { name, issuer, username_claim, groups_claim } = provider
  const username = usernameIn(provider, claims)
  if (username === undefined) {
    return username_claim === 'email' && isName(claims['email'])
      ? `${name} does not state that it has verified your e-mail address, your user name here (email_verified).`
      : `${name} does not state your user name (the claim ${username_claim}).`
  }
  const stated = claimAt(claims, groups_claim)
  if (areGroupsLeftOut(claims, groups_claim)) {
    return (
      `${name} left out your groups, because you are in too many (overage). Ask an administrator ` +
      `${kindOf(issuer).overage}.`
    )
  }
  const member = groupsIn(stated)
  const groups = provider.groups.filter(({ group }) => member.has(group.normalize('NFC')))
  if (groups.length === 0) return `None of your groups at ${name} gives access here.`
  const given = new Set(groups.flatMap(({ scopes }) => scopes))
  return {
    issuer,
    subject: claims.sub,
    username,
    scopes: SCOPES.filter((scope) => given.has(scope)),
    isOwner: provider.groups.some(({ owner }) => owner) ? groups.some(({ owner }) => owner) : undefined,
    team: groups.find(({ team }) => team !== undefined)?.team,
  }
}

/** Whether claims lack what a person's name or groups are read from: the user info may have it. */
export const lacksClaims = (claims: Claims, { username_claim, groups_claim }: ClaimNames): boolean =>
  claimAt(claims, username_claim) === undefined ||
  (claimAt(claims, groups_claim) === undefined && !areGroupsLeftOut(claims, groups_claim)) ||
  (username_claim === 'email' && claims['email_verified'] === undefined)

/** An address that the provider has not verified may be anybody's. */
function usernameIn({ username_claim }: ClaimNames, claims: Claims): string | undefined {
  const value = claimAt(claims, username_claim)
  if (!isName(value)) return undefined
  return username_claim === 'email' && claims['email_verified'] !== true ? undefined : value.trim()
}

const isName = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''

/** A claim by its name, which may have dots of its own, else by a path. */
function claimAt(claims: Claims, name: string): unknown {
  if (Object.hasOwn(claims, name)) return claims[name]
  return name
    .split('.')
    .reduce<unknown>(
      (at, key) => (typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined),
      claims,
    )
}

/** How Entra says that a token has no room for a person's groups. */
function areGroupsLeftOut(claims: Claims, groupsClaim: string): boolean {
  if (claimAt(claims, groupsClaim) !== undefined) return false
  const elsewhere = claims['_claim_names']
  const isElsewhere = typeof elsewhere === 'object' && elsewhere !== null && Object.hasOwn(elsewhere, groupsClaim)
  return isElsewhere || (groupsClaim === 'groups' && String(claims['hasgroups']) === 'true')
}

const groupsIn = (value: unknown): ReadonlySet<string> =>
  new Set(
    (Array.isArray(value) ? value : [value])
      .filter((each) => typeof each === 'string')
      .map((each) => each.normalize('NFC')),
  )
