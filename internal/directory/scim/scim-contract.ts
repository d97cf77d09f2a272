/** The contract of `/scim/v2`: its resources, and what clients ask before all else (RFC 7643 sections 5 to 7). */

export const SCIM_PATH = '/scim/v2'
const CORE = 'urn:ietf:params:scim:schemas:core:2.0'
export const USER_SCHEMA = `${CORE}:User`
export const GROUP_SCHEMA = `${CORE}:Group`

/** The body of an answer. */
export interface ScimBody {
  readonly schemas: readonly string[]
}

/** A member of a group, or a group of a user. */
export interface ScimReference {
  readonly value: string
  readonly display: string
}

export interface ScimUser {
  readonly id: string
  readonly userName: string
  readonly active: boolean
  readonly groups: readonly ScimReference[]
}

export interface ScimTeam {
  readonly id: string
  readonly displayName: string
  /** Absent when the client has excluded them. */
  readonly members?: readonly ScimReference[]
}

export const userPath = (id: string): string => `${SCIM_PATH}/Users/${id}`
export const groupPath = (id: string): string => `${SCIM_PATH}/Groups/${id}`

export const userBody = (user: ScimUser): ScimBody & ScimUser => ({
  schemas: [USER_SCHEMA],
  ...user,
  ...metaOf('User', userPath(user.id)),
})

export const groupBody = (team: ScimTeam): ScimBody & ScimTeam => ({
  schemas: [GROUP_SCHEMA],
  ...team,
  ...metaOf('Group', groupPath(team.id)),
})

/** Resources per page of a list. */
export const COUNT_MAX = 200

const metaOf = (resourceType: string, location: string) => ({ meta: { resourceType, location } })

export const PROVIDER_CONFIG = {
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
}

const resourceType = (name: string, endpoint: string, schema: string) => ({
  schemas: [`${CORE}:ResourceType`],
  id: name,
  name,
  endpoint,
  schema,
})

export const RESOURCE_TYPES = [
  resourceType('User', '/Users', USER_SCHEMA),
  resourceType('Group', '/Groups', GROUP_SCHEMA),
]

const attribute = (name: string, stated: object = {}) => ({
  name,
  type: 'string',
  multiValued: false,
  required: false,
  caseExact: true,
  mutability: 'readWrite',
  returned: 'default',
  uniqueness: 'none',
  ...stated,
})

export const SCHEMAS = [
  {
    id: USER_SCHEMA,
    name: 'User',
    attributes: [
      attribute('userName', { required: true, mutability: 'immutable', uniqueness: 'server' }),
      attribute('active', { type: 'boolean' }),
      attribute('groups', { type: 'complex', multiValued: true, mutability: 'readOnly' }),
    ],
  },
  {
    id: GROUP_SCHEMA,
    name: 'Group',
    attributes: [
      attribute('displayName', { required: true, uniqueness: 'server' }),
      attribute('members', {
        type: 'complex',
        multiValued: true,
        subAttributes: [attribute('value'), attribute('display', { mutability: 'readOnly' })],
      }),
    ],
  },
]
