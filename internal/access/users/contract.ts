import { z } from 'zod'
import { SCOPES } from '../../auth/scopes.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { wantedScopes } from '../../http/contract/scopes.js'
import { exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { PASSWORD_CHARACTERS_MAX, PASSWORD_CHARACTERS_MIN } from '../oauth/passwords.js'

/** What the routes of people take and promise (design section 7). */

const STATUSES = ['active', 'disabled'] as const

const password = () => z.string().min(PASSWORD_CHARACTERS_MIN).max(PASSWORD_CHARACTERS_MAX)

export const createBody = z
  .object({
    username: z
      .string()
      .regex(/^[A-Za-z0-9][A-Za-z0-9._@+-]{0,127}$/, 'does not have the required form')
      .meta({ description: 'Unique within the tenant; kept in lower case.' }),
    scopes: wantedScopes(),
    password: password().nullish().meta({ description: 'One is made up without it.' }),
  })
  .meta({ id: 'NewUser' })
export type CreateBody = z.infer<typeof createBody>

export const updateBody = z
  .strictObject({
    scopes: wantedScopes().optional(),
    status: z.enum(STATUSES).optional(),
    password: password().optional().meta({ description: 'A new one; it ends every sign-in with the old one.' }),
  })
  .meta({ id: 'UserPatch' })
export type UpdateBody = z.infer<typeof updateBody>

const user = z
  .object({
    id: idOf('usr'),
    username: z.string(),
    scopes: z.array(z.enum(SCOPES)).meta({ description: "The most that a token may carry on this person's behalf." }),
    status: z.enum(STATUSES),
    created_at: timeText(),
  })
  .meta({ id: 'User' })
export type ShownUser = z.infer<typeof user>

const createdUser = user
  .extend({
    password: z.string().optional().meta({ description: 'Where it was made up; shown this once.' }),
  })
  .meta({ id: 'CreatedUser' })

const EXAMPLE_USER: ShownUser = {
  id: exampleId('usr'),
  username: 'ada@example.com',
  scopes: ['read:reporting'],
  status: 'active',
  created_at: '2026-11-21T09:30:00.000Z',
}
export const EXAMPLE_NEW: CreateBody = { username: 'ada@example.com', scopes: ['read:reporting'] }
export const EXAMPLE_PATCH: UpdateBody = { status: 'disabled' }

export const PATH = '/api/v1/users'
export const locationOf = (id: string): string => `${PATH}/${id}`

const USER_IN_PATH = { id: idInPath('usr', 'Of the person.') }

export const LIST_USERS: Operation = {
  id: 'listUsers',
  tag: 'Access',
  summary: 'The people of the tenant, the newest first',
  query: PAGE_PARAMETERS,
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
  summary: 'One person',
  parameters: USER_IN_PATH,
  replies: { 200: { description: 'The person.', contents: json(user, EXAMPLE_USER) } },
}

export const CREATE_USER: Operation = {
  id: 'createUser',
  tag: 'Access',
  summary: 'Let a person sign in',
  description: 'A username that is taken is CONFLICT, and so is one person more than ten thousand.',
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
  summary: 'Change what a person may do, their password, or disable them',
  description:
    'What is not named stays. Tokens on their behalf may do less from now on where they may, and nothing at all once ' +
    'they are disabled: who is let in again signs in again.',
  parameters: USER_IN_PATH,
  replies: { 200: { description: 'The person as they are then.', contents: json(user, EXAMPLE_USER) } },
  problems: ['NO_SCOPE'],
}

export const DELETE_USER: Operation = {
  id: 'deleteUser',
  tag: 'Access',
  summary: 'Delete a person',
  description: 'Tokens on their behalf are good no more.',
  parameters: USER_IN_PATH,
  replies: { 204: { description: 'They are gone.' } },
}
