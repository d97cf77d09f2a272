import { z } from 'zod'
import { json, type Operation } from '../../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../../http/contract/page.js'
import { exampleId, idInPath, idOf, timeText } from '../../../text/answer-fields.js'

/** What the routes of a tenant's own model names take and promise. */

export const PATH = '/api/v1/model-names'

const modelName = z
  .object({
    id: idOf('mnm'),
    provider: z.string(),
    name: z.string(),
    served_provider: z.string(),
    served_model: z.string(),
    created_at: timeText(),
  })
  .meta({ id: 'ModelName' })

export const EXAMPLE_FIELDS = { provider: 'azure', name: 'prod-chat', served_model: 'gpt-4o' }

const EXAMPLE_NAME = {
  id: exampleId('mnm'),
  ...EXAMPLE_FIELDS,
  served_provider: 'azure',
  created_at: '2026-11-21T09:30:00.000Z',
}

const shown = json(modelName, EXAMPLE_NAME)
const parameters = { id: idInPath('mnm', 'id of the name.') }
const TAG = 'Prices'

export const LIST_NAMES: Operation = {
  id: 'listModelNames',
  tag: TAG,
  summary: "The tenant's own names for models, the newest first",
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page.',
      contents: json(pageOf(modelName), { data: [EXAMPLE_NAME], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_NAME: Operation = {
  id: 'getModelName',
  tag: TAG,
  summary: 'One name',
  parameters,
  replies: { 200: { description: 'The name.', contents: shown } },
}

export const CREATE_NAME: Operation = {
  id: 'createModelName',
  tag: TAG,
  summary: 'Say which model a name of yours stands for',
  description:
    'A deployment, an inference profile or a group of a gateway has a name that no price book knows. Calls that state it ' +
    'and are attributed from now on are priced, and their energy is worked out, as calls of the model behind it. A name ' +
    'is not changed: it is deleted, and set anew.',
  problems: ['CONFLICT'],
  replies: { 201: { description: 'It is known.', contents: shown } },
}

export const DELETE_NAME: Operation = {
  id: 'deleteModelName',
  tag: TAG,
  summary: 'Forget a name',
  description: 'Records that exist stay as they are.',
  parameters,
  replies: { 204: { description: 'It stands for nothing more.' } },
}
