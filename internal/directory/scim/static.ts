import { GROUP_SCHEMA, USER_SCHEMA } from './messages.js'

/** What SCIM clients ask before all else (RFC 7643 sections 5 to 7). */

const CORE = 'urn:ietf:params:scim:schemas:core:2.0'

export const PROVIDER_CONFIG = {
  schemas: [`${CORE}:ServiceProviderConfig`],
  patch: { supported: true },
  bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
  filter: { supported: true, maxResults: 200 },
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
