import { z } from 'zod'
import { json, type Operation } from '../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../http/contract/page.js'
import { count, timeText } from '../text/answer-fields.js'
import { suppressed, TIMES, tokenSum } from './report-contract.js'

/** The OpenAPI contract of the report of unpriced calls. */

const row = z
  .object({
    provider: z.string().nullable(),
    served_model: z.string().nullable(),
    calls: count().meta({ description: 'Unpriced calls.' }),
    input_tokens: tokenSum().nullable().meta({ description: 'Of the unpriced calls; null with `scope`.' }),
    output_tokens: tokenSum().nullable().meta({ description: 'Of the unpriced calls; null with `scope`.' }),
    lower_bounds: z
      .array(z.enum(['input_tokens', 'output_tokens']))
      .meta({ description: 'Token counts that are lower bounds, because some calls state none.' }),
    people: count()
      .nullable()
      .meta({ description: 'Distinct identities with unpriced calls, not counting workloads.' }),
    folded: z.boolean().meta({
      description: 'Whether the row combines models that are not shown: too few people have unpriced calls of them.',
    }),
    groups: count().optional().meta({ description: 'Only in folded rows: how many models it combines.' }),
    scope: z
      .enum(['parent'])
      .optional()
      .meta({
        description:
          'Only where fewer people than `min_cohort` have unpriced calls: the row is of all calls of a model, of ' +
          'which `calls` are unpriced.',
      }),
  })
  .meta({ id: 'UnpricedRow' })

const EXAMPLE = {
  provider: 'openai',
  served_model: 'acme-tuned-1',
  calls: 311,
  input_tokens: 402_112,
  output_tokens: 20_410,
  lower_bounds: [],
  people: 12,
  folded: false,
}

export const UNPRICED_REPORT: Operation = {
  id: 'reportUnpriced',
  tag: 'Prices',
  summary: 'List calls without a price by model, with their tokens, most calls first',
  description:
    'Calls whose cost is unknown (`cost_basis: unpriced`): add a negotiated price, a model name, or a newer ' +
    'price book, then revalue the records. The cohort rule of reports applies: no row, and no sum of rows, ' +
    'covers fewer people than the tenant setting `min_cohort`. All pages show the figures as of the first page.',
  query: { ...PAGE_PARAMETERS, ...TIMES },
  replies: {
    200: {
      description: 'A page of models.',
      contents: json(
        z.object({
          suppressed: suppressed.optional(),
          ...pageOf(row).shape,
          report: z.object({ from: timeText(), to: timeText() }).meta({ description: 'The period.' }),
        }),
        {
          data: [EXAMPLE],
          page: { limit: 50, has_more: false },
          report: { from: '2026-11-01T00:00:00.000Z', to: '2026-12-01T00:00:00.000Z' },
        },
      ),
    },
  },
}
