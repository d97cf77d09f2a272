/** The contract of `/scim/v2`: its resources, and what clients ask before all else (RFC 7643 sections 5 to 7). */

export const SCIM_PATH = '/scim/v2'
const CORE = 'urn:ietf:params:scim:schemas:core:2.0'
const USER_SCHEMA = `${CORE}:User`
const GROUP_SCHEMA = `${CORE}:Group`

/** The body of an answer. */
export interface ScimBody {
  readonly schemas: readonly string[]
}

/** A group of a user. */
export interface ScimReference {
  readonly value: string
  readonly display: string
}

export interface ScimUser {
  readonly id: string
  readonly externalId: string | undefined
  readonly userName: string
  /** Undefined: the client has removed it. */
  readonly active: boolean | undefined
  readonly groups: readonly ScimReference[]
}

export interface ScimTeam {
  readonly id: string
  readonly externalId: string | undefined
  readonly displayName: string
  /** Ids of users. Undefined where the client does not ask for them. */
  readonly members: readonly string[] | undefined
}

/** @param base where clients reach the service: some follow absolute addresses only */
export const userAddress = (base: string, id: string): string => `${base}${SCIM_PATH}/Users/${id}`
export const groupAddress = (base: string, id: string): string => `${base}${SCIM_PATH}/Groups/${id}`

export const userBody = (base: string, user: ScimUser) => ({
  schemas: [USER_SCHEMA],
  ...user,
  groups: user.groups.map((group) => ({ ...group, $ref: groupAddress(base, group.value), type: 'direct' })),
  ...metaOf('User', userAddress(base, user.id)),
})

export const groupBody = (base: string, team: ScimTeam) => ({
  schemas: [GROUP_SCHEMA],
  ...team,
  members: team.members?.map((value) => ({ value, $ref: userAddress(base, value), type: 'User' })),
  ...metaOf('Group', groupAddress(base, team.id)),
})

/** Resources per page of a list. */
export const COUNT_MAX = 200

const metaOf = (resourceType: string, location: string) => ({ meta: { resourceType, location } })

export const providerConfig = (base: string) => ({
  schemas: [`${CORE}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: COUNT_MAX },
  changePassword: { supported: false },
  sort: { supported: false },
  etag: { supported: false },
  authenticationSchemes: [
    {
      type: 'oauthbearertoken',
      name: 'Bearer',
      description: 'An API key or access token with the scope admin:config.',
      primary: true,
    },
  ],
  ...metaOf('ServiceProviderConfig', `${base}${SCIM_PATH}/ServiceProviderConfig`),
})

const resourceType = (base: string, name: string, endpoint: string, schema: string) => ({
  schemas: [`${CORE}:ResourceType`],
  id: name,
  name,
  endpoint,
  schema,
  ...metaOf('ResourceType', `${base}${SCIM_PATH}/ResourceTypes/${name}`),
})

export const resourceTypes = (base: string) => [
  resourceType(base, 'User', '/Users', USER_SCHEMA),
  resourceType(base, 'Group', '/Groups', GROUP_SCHEMA),
]

const attribute = (name: string, stated: object = {}) => ({
  name,
  type: 'string',
  multiValued: false,
  required: false,
  caseExact: false,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...stated,
})

/** The parts of a reference. */
const reference = (mutability: string, to: string, types: readonly string[]) => [
  attribute('value', { caseExact: true, mutability }),
  attribute('$ref', { type: 'reference', referenceTypes: [to], caseExact: true, mutability }),
  attribute('type', { canonicalValues: types, mutability }),
]

const schema = (base: string, id: string, name: string, description: string, attributes: readonly object[]) => ({
  schemas: [`${CORE}:Schema`],
  id,
  name,
  description,
  attributes,
  ...metaOf('Schema', `${base}${SCIM_PATH}/Schemas/${id}`),
})

export const schemas = (base: string) => [
  schema(base, USER_SCHEMA, 'User', 'A person whose calls are attributed.', [
    attribute('userName', { required: true, uniqueness: 'server' }),
    attribute('active', { type: 'boolean' }),
    attribute('groups', {
      type: 'complex',
      multiValued: true,
      mutability: 'readOnly',
      subAttributes: [...reference('readOnly', 'Group', ['direct']), attribute('display', { mutability: 'readOnly' })],
    }),
  ]),
  schema(base, GROUP_SCHEMA, 'Group', 'A team.', [
    attribute('displayName', { required: true, uniqueness: 'server' }),
    attribute('members', {
      type: 'complex',
      multiValued: true,
      subAttributes: reference('immutable', 'User', ['User']),
    }),
  ]),
]
