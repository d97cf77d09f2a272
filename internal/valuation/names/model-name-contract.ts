import { z } from 'zod'
import type { ResourceContract } from '../../http/resource/resource-operations.js'
import { exampleId, idOf, timeText } from '../../text/answer-fields.js'
import { type NameFields, nameFields } from './name.js'

/** The contract of a tenant's own model names. */

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

const EXAMPLE_FIELDS = { provider: 'azure', name: 'prod-chat', served_model: 'gpt-4o' }

export const MODEL_NAME = {
  path: '/api/v1/model-names',
  prefix: 'mnm',
  tag: 'Prices',
  word: 'ModelName',
  plural: 'ModelNames',
  order: 'newest first',
  record: modelName,
  fields: nameFields,
  example: {
    record: {
      id: exampleId('mnm'),
      ...EXAMPLE_FIELDS,
      served_provider: 'azure',
      created_at: '2026-11-21T09:30:00.000Z',
    },
    fields: EXAMPLE_FIELDS,
  },
  descriptions: {
    create:
      'Maps the name of a deployment, an inference profile or a gateway group, which no price book knows, to the ' +
      'model behind it. Cost and energy of calls that state the name, and are attributed after this request, are ' +
      'those of that model. A model name cannot be updated: delete it and add it again.',
    delete: 'Existing records are unchanged.',
  },
} as const satisfies ResourceContract<NameFields, never>
