import { z } from 'zod'
import type { ResourceContract } from '../../http/resource/resource-operations.js'
import { exampleId, idOf, timeText } from '../../text/answer-fields.js'
import { VIEWS_MAX, VIEWS_OF_ONE_MAX, type ViewChanges, type ViewFields, viewChanges, viewFields } from './view.js'

/** The contract of saved views. */

const view = z
  .object({
    id: idOf('view'),
    name: z.string(),
    page: z.string(),
    query: z.string(),
    shared: z.boolean(),
    owner: z.string().meta({ description: 'Id of the credential that saved it: a person, an API key or a client.' }),
    owner_name: z.string().nullable().meta({ description: 'Null: the owner was deleted.' }),
    created_at: timeText(),
  })
  .meta({ id: 'View' })
export type ShownView = z.infer<typeof view>

const FIELDS: ViewFields = {
  name: 'Last month of checkout',
  page: 'explorer',
  query: 'filter[service][eq]=checkout&period=last-month',
  shared: true,
}

export const VIEW = {
  path: '/api/v1/views',
  prefix: 'view',
  tag: 'Console',
  word: 'View',
  plural: 'Views',
  order: 'by name',
  record: view,
  fields: viewFields,
  changes: viewChanges,
  example: {
    record: {
      id: exampleId('view'),
      ...FIELDS,
      owner: exampleId('usr'),
      owner_name: 'ada@example.org',
      created_at: '2026-11-21T09:30:00.000Z',
    },
    fields: FIELDS,
    changes: { shared: false },
  },
  descriptions: {
    list:
      "The caller's own views, and those that others share, with the names of their owners. Programs (API keys and " +
      'clients that act for themselves) see only their own, unless they have the scope `admin:config`.',
    create:
      'Saves a page of the console with its parameters under a name. It holds no figures: who opens it sees what their ' +
      `scopes permit. At most ${VIEWS_OF_ONE_MAX} of one owner, and ${VIEWS_MAX} of a tenant.`,
    update: 'By its owner; one that is shared also with the scope `admin:config`.',
    delete:
      'By its owner; one that is shared also with the scope `admin:config`. When a person is deleted, so are their ' +
      'views that are not shared; the others belong to the credential that deleted the person.',
  },
  problems: { update: ['CONFLICT'] },
} as const satisfies ResourceContract<ViewFields, ViewChanges>
