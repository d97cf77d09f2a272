import { z } from 'zod'
import { SCOPES } from '../../auth/scopes.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { CONTAINS_PARAMETER, PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { wantedScopes } from '../../http/contract/scopes.js'
import { exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { isCommonPassword } from '../oauth/common-passwords.js'
import { PASSWORD_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN } from '../oauth/passwords.js'

/** The contract of the user routes. */

const STATUSES = ['active', 'disabled'] as const
const SIGNS_IN_BY = ['password', 'identity_provider'] as const

const password = () =>
  z
    .string()
    .min(PASSWORD_CHARACTERS_MIN)
    .max(PASSWORD_CHARACTERS_MAX)
    .refine((text) => !isCommonPassword(text), 'must not be a common password')

export const createBody = z
  .strictObject({
    username: z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/,
        'must begin with a letter or digit, and have at most 128 letters, digits and . _ @ + -',
      )
      .meta({ description: 'Unique within the tenant. Stored in lower case.' }),
    scopes: wantedScopes(),
    password: password().nullish().meta({ description: 'Not a common one. Default: a generated one.' }),
    owner: z
      .boolean()
      .nullish()
      .meta({
        description:
          'Whether the person is an owner of the tenant. Needs `admin:config`. Only an owner may set it; where ' +
          'there is none yet, any credential with all scopes may. Default: true for the first administrator that ' +
          'such a credential creates, else false.',
      }),
  })
  .meta({ id: 'NewUser' })
export type CreateBody = z.infer<typeof createBody>

export const updateBody = z
  .strictObject({
    scopes: wantedScopes().optional(),
    status: z.enum(STATUSES).optional(),
    owner: z.boolean().optional().meta({ description: 'Only an owner may change it.' }),
    password: password().optional().meta({ description: 'A new password; it ends all sign-ins of the person.' }),
    second_factor: z
      .literal(false)
      .optional()
      .meta({
        description:
          'Removes the second factor of a person who has lost it, and ends all their sign-ins. Where the tenant ' +
          'requires one, they set up another at their next sign-in.',
      }),
  })
  .meta({ id: 'UserPatch' })
export type UpdateBody = z.infer<typeof updateBody>

const user = z
  .object({
    id: idOf('usr'),
    username: z.string(),
    scopes: z.array(z.enum(SCOPES)).meta({ description: "The scopes that tokens on this person's behalf may have." }),
    status: z.enum(STATUSES),
    owner: z.boolean().meta({
      description:
        'Owners may give credentials scopes that they do not hold themselves. A tenant keeps its last owner.',
    }),
    signs_in_by: z.enum(SIGNS_IN_BY).meta({ description: "By password, or at the company's identity provider." }),
    second_factor: z.boolean().meta({ description: 'Whether the person has set up a second factor.' }),
    created_at: timeText(),
  })
  .meta({ id: 'User' })
export type ShownUser = z.infer<typeof user>

const createdUser = user
  .extend({
    password: z.string().optional().meta({ description: 'Only a generated password. Shown only once.' }),
  })
  .meta({ id: 'CreatedUser' })

const EXAMPLE_USER: ShownUser = {
  id: exampleId('usr'),
  username: 'ada@example.com',
  scopes: ['read:reporting'],
  status: 'active',
  owner: false,
  signs_in_by: 'password',
  second_factor: false,
  created_at: '2026-11-21T09:30:00.000Z',
}
export const EXAMPLE_NEW: CreateBody = { username: 'ada@example.com', scopes: ['read:reporting'] }
export const EXAMPLE_PATCH: UpdateBody = { status: 'disabled' }

export const PATH = '/api/v1/users'
export const locationOf = (id: string): string => `${PATH}/${id}`

const USER_IN_PATH = { id: idInPath('usr', 'Id of the person.') }

export const LIST_USERS: Operation = {
  id: 'listUsers',
  tag: 'Access',
  summary: "List the tenant's people, newest first",
  query: { ...PAGE_PARAMETERS, ...CONTAINS_PARAMETER },
  replies: {
    200: {
      description: 'A page of people.',
      contents: json(pageOf(user), { data: [EXAMPLE_USER], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_USER: Operation = {
  id: 'getUser',
  tag: 'Access',
  summary: 'Get a person',
  parameters: USER_IN_PATH,
  replies: { 200: { description: 'The person.', contents: json(user, EXAMPLE_USER) } },
}

export const CREATE_USER: Operation = {
  id: 'createUser',
  tag: 'Access',
  summary: 'Create a person who may sign in',
  description:
    'A username that is already in use is CONFLICT. A tenant may have at most 10000 people; one more is ' +
    'CONFLICT. Scopes that the caller does not hold are INSUFFICIENT_SCOPE, unless the caller is an owner or ' +
    '`delegation` is `any`.',
  replies: {
    201: {
      description: 'The person.',
      contents: json(createdUser, { ...EXAMPLE_USER, password: '7v3k9q2m4x8n5c1r6t0w3y9z' }),
    },
  },
  problems: ['NO_SCOPE', 'CONFLICT'],
}

export const UPDATE_USER: Operation = {
  id: 'updateUser',
  tag: 'Access',
  summary: "Change a person's scopes or password, or disable them",
  description:
    'Omitted fields are unchanged. Who signs in at an identity provider has no password here: to set one is ' +
    'CONFLICT. Removed scopes apply at once to existing tokens on their behalf. Disabling a person ends all ' +
    'their sign-ins: after being enabled, they must sign in again. To set a password, to remove a second factor ' +
    'or to enable a person needs all of their scopes, and to change an owner needs an owner, unless `delegation` ' +
    'is `any`. The last owner of a tenant stays: CONFLICT.',
  parameters: USER_IN_PATH,
  replies: { 200: { description: 'The updated person.', contents: json(user, EXAMPLE_USER) } },
  problems: ['NO_SCOPE', 'CONFLICT'],
}

export const DELETE_USER: Operation = {
  id: 'deleteUser',
  tag: 'Access',
  summary: 'Delete a person',
  description:
    'Tokens on their behalf are refused at once. Only an owner may delete an owner; the last one stays: CONFLICT.',
  parameters: USER_IN_PATH,
  replies: { 204: { description: 'Deleted.' } },
  problems: ['CONFLICT'],
}
