import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { instant, name } from '../../text/plain-text.js'

/** The contract of the routes of SQL users (`deploy/docs/sql.md`). */

export const createBody = z
  .strictObject({
    name: name(),
    expires_at: instant().nullish().meta({
      description: "Within the tenant's maximum lifetime of API keys. Default: as late as that allows.",
    }),
  })
  .meta({ id: 'NewSqlUser' })
export type CreateBody = z.infer<typeof createBody>

const sqlUser = z
  .object({
    id: idOf('sql').meta({ description: 'Also the user name for SQL.' }),
    name: z.string(),
    expires_at: timeText(),
    created_at: timeText(),
    last_four: z.string().meta({ description: 'The last characters of the password.' }),
    status: z.enum(['active', 'expired', 'revoked']),
  })
  .meta({ id: 'SqlUser' })
export type ShownSqlUser = z.infer<typeof sqlUser>

const createdSqlUser = sqlUser
  .extend({ password: z.string().meta({ description: 'The password for SQL. Shown only once.' }) })
  .meta({ id: 'CreatedSqlUser' })

const EXAMPLE_USER: ShownSqlUser = {
  id: exampleId('sql'),
  name: 'Dashboards',
  expires_at: '2027-11-21T09:30:00.000Z',
  created_at: '2026-11-21T09:30:00.000Z',
  last_four: '7mzq',
  status: 'active',
}
const EXAMPLE_CREATED = { ...EXAMPLE_USER, password: `sp_live_${'7mzq'.padStart(52, '0')}` }

export const EXAMPLE_NEW: CreateBody = { name: 'Dashboards' }

export const PATH = '/api/v1/sql-users'
export const locationOf = (id: string): string => `${PATH}/${id}`

const USER_IN_PATH = { id: idInPath('sql', 'Id of the SQL user.') }

export const LIST_SQL_USERS: Operation = {
  id: 'listSqlUsers',
  tag: 'Access',
  summary: "List the tenant's SQL users, newest first",
  description: 'Of the expired and revoked users, the 100 that ended last stay listed.',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of SQL users.',
      contents: json(pageOf(sqlUser), { data: [EXAMPLE_USER], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_SQL_USER: Operation = {
  id: 'getSqlUser',
  tag: 'Access',
  summary: 'Get an SQL user',
  parameters: USER_IN_PATH,
  replies: { 200: { description: 'The SQL user.', contents: json(sqlUser, EXAMPLE_USER) } },
}

export const CREATE_SQL_USER: Operation = {
  id: 'createSqlUser',
  tag: 'Access',
  summary: 'Create an SQL user',
  description:
    "It reads the tenant's records by SQL, on the port of `--sql-port`. That equals the scope " +
    '`read:attribution`, which the caller must be able to give. A tenant may have at most 100 active SQL users; ' +
    'one more is CONFLICT.',
  replies: {
    201: { description: 'The SQL user, with its password.', contents: json(createdSqlUser, EXAMPLE_CREATED) },
  },
  problems: ['CONFLICT'],
}

export const REVOKE_SQL_USER: Operation = {
  id: 'revokeSqlUser',
  tag: 'Access',
  summary: 'Revoke an SQL user',
  description: 'Permanently, and at once on every gateway. Revoking a revoked user succeeds as well.',
  parameters: USER_IN_PATH,
  replies: { 204: { description: 'Revoked.' } },
}
