import { z } from 'zod'
import type { ResourceContract } from '../../http/resource/resource-operations.js'
import { exampleId, idOf, timeText } from '../../text/answer-fields.js'
import { type ConventionFields, conventionFields, PLACES } from './convention.js'

/** The contract of a tenant's usage conventions. */

export const CONVENTIONS_PATH = '/api/v1/usage-conventions'

const usageConvention = z
  .object({
    id: idOf('ucv'),
    sender: z.string(),
    provider: z.string().nullable(),
    cache: z.enum(PLACES).nullable(),
    reasoning: z.enum(PLACES).nullable(),
    valid_from: timeText(),
    valid_to: timeText().nullable(),
    created_at: timeText(),
  })
  .meta({ id: 'UsageConvention' })

export const EXAMPLE_CONVENTION: ConventionFields = {
  sender: 'acme.llm.tracer',
  provider: 'anthropic',
  cache: 'apart',
  valid_from: '2026-11-01T00:00:00Z',
}

export const USAGE_CONVENTION = {
  path: CONVENTIONS_PATH,
  prefix: 'ucv',
  tag: 'Usage conventions',
  word: 'UsageConvention',
  plural: 'UsageConventions',
  order: 'newest first',
  record: usageConvention,
  fields: conventionFields,
  example: {
    record: {
      id: exampleId('ucv'),
      ...EXAMPLE_CONVENTION,
      reasoning: null,
      valid_from: '2026-11-01T00:00:00.000Z',
      valid_to: null,
      created_at: '2026-11-21T09:30:00.000Z',
    },
    fields: EXAMPLE_CONVENTION,
  },
  descriptions: {
    create:
      'Says what the counts of a sender mean, for calls of a period whose counts can be read in two ways: their ' +
      'records are then no longer `ambiguous`. It applies to calls that are attributed after this request; ' +
      '`/api/v1/usage-conventions/apply` applies it to earlier records. Of several that fit a call, one of its ' +
      'provider wins, then the latest `valid_from`. A convention cannot be updated: delete it and add it again.',
    delete: 'Existing records are unchanged.',
  },
} as const satisfies ResourceContract<ConventionFields, never>
