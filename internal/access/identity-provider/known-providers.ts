/** How well-known providers differ from what OpenID Connect lets one expect, in words for those who set one up. */
export interface KnownProvider {
  readonly name: string
  /** How it can state a person's groups. */
  readonly groups: string
  /** Whether it can state them at all. */
  readonly hasGroups: boolean
  /** How it states when a person authenticated (`auth_time`), which changes that need a recent sign-in rest on. */
  readonly authTime: string
  readonly hasAuthTime: 'always' | 'if_set_up' | 'never'
  /** What an administrator does where a person is in too many groups. */
  readonly overage: string
  /** A claim that names people, where `preferred_username` does not. */
  readonly username?: string
}

const TOO_MANY = 'to have only the groups that matter here sent to this application'

const ENTRA: KnownProvider = {
  name: 'Microsoft Entra ID',
  groups:
    'It sends ids of groups, not names: list these ids. Above 200 groups it sends none: assign app roles and set ' +
    'groups_claim to roles, or send only groups assigned to the application.',
  hasGroups: true,
  authTime: 'It states auth_time only if you add the optional claim auth_time to the ID token (Token configuration).',
  hasAuthTime: 'if_set_up',
  overage:
    'to assign app roles and set groups_claim to roles, or to send only groups that are assigned to this application',
}
const GOOGLE: KnownProvider = {
  name: 'Google',
  groups:
    'It sends no groups. Put a broker that adds them between (Keycloak, Auth0, Okta), or let people sign in by password.',
  hasGroups: false,
  authTime: 'It never states auth_time.',
  hasAuthTime: 'never',
  overage: TOO_MANY,
  username: 'email',
}
const OKTA: KnownProvider = {
  name: 'Okta',
  groups:
    'Add a groups claim with a filter to the application or the authorization server. The organisation’s own server ' +
    'sends it with the scope groups: add that to scope.',
  hasGroups: true,
  authTime: 'It states auth_time.',
  hasAuthTime: 'always',
  overage: 'to narrow the filter of the groups claim: Okta sends at most 100 groups',
}
const AUTH0: KnownProvider = {
  name: 'Auth0',
  groups:
    'An Action adds groups or roles under a name with a namespace, such as https://example.com/roles: set groups_claim ' +
    'to that name.',
  hasGroups: true,
  authTime: 'It states auth_time where max_age is asked, as it is here for a recent sign-in.',
  hasAuthTime: 'always',
  overage: TOO_MANY,
  username: 'nickname or email',
}
const KEYCLOAK: KnownProvider = {
  name: 'Keycloak',
  groups:
    'Add the mapper "Group Membership" to the client (with "Full group path" groups begin with /), or set groups_claim ' +
    'to realm_access.roles and add the roles to the ID token.',
  hasGroups: true,
  authTime: 'It states auth_time.',
  hasAuthTime: 'always',
  overage: TOO_MANY,
}
const PING: KnownProvider = {
  name: 'Ping',
  groups: 'Map the attribute with the group names (memberOfGroupNames) to a claim of the application.',
  hasGroups: true,
  authTime: 'It states auth_time.',
  hasAuthTime: 'always',
  overage: TOO_MANY,
}
const OTHER: KnownProvider = {
  name: 'the provider',
  groups: 'Have it send the groups in the ID token or the user info.',
  hasGroups: true,
  authTime: 'OpenID Connect has it state auth_time where max_age is asked; not every provider does.',
  hasAuthTime: 'if_set_up',
  overage: TOO_MANY,
}

const KNOWN: readonly (readonly [issuer: RegExp, provider: KnownProvider])[] = [
  [/^https:\/\/(?:login\.microsoftonline\.(?:com|us)|sts\.windows\.net|[^/]+\.ciamlogin\.com)\//, ENTRA],
  [/^https:\/\/accounts\.google\.com(?:\/|$)/, GOOGLE],
  [/^https:\/\/[^/]+\.(?:okta|oktapreview|okta-emea)\.com(?:\/|$)/, OKTA],
  [/^https:\/\/[^/]+\.auth0\.com(?:\/|$)/, AUTH0],
  [/^https?:\/\/[^/]+\/(?:auth\/)?realms\//, KEYCLOAK],
  [/^https:\/\/(?:auth\.pingone\.(?:com|eu|ca|asia|com\.au)|[^/]+\.ping-?(?:one|identity)[^/]*)\//, PING],
]

/** By the address of its issuer. */
export const kindOf = (issuer: string): KnownProvider => KNOWN.find(([form]) => form.test(issuer))?.[1] ?? OTHER
