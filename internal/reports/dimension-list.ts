import { z } from 'zod'
import { DIMENSION_NAMES, DIMENSIONS } from '../filters/report-dimensions.js'
import { json, type Operation } from '../http/contract/operation.js'
import type { Route } from '../http/route.js'
import { type Dimension, tagFieldOf } from '../records/dimensions.js'

/** `GET /v1/reports/dimensions`: what a tenant's reports can be grouped and filtered by, its declared tags included. */

const PATH = '/v1/reports/dimensions'

const dimension = z
  .object({
    name: z.string().meta({ description: 'As in `group_by` and `filter[<name>]`.' }),
    description: z.string(),
    tag: z
      .object({
        key: z.string().meta({ description: 'As declared, and as in `tags` of records.' }),
        personal: z.boolean().meta({ description: 'Whether its values name people.' }),
      })
      .nullable()
      .meta({ description: 'Of a declared tag key; else null.' }),
  })
  .meta({ id: 'ReportDimension' })
type ShownDimension = z.infer<typeof dimension>

const list = z.object({ data: z.array(dimension) })

const LIST_DIMENSIONS: Operation = {
  id: 'listReportDimensions',
  tag: 'Reports',
  summary: 'List the dimensions of reports, and the declared tags among them',
  description: 'Also who may not read settings learns here which tag keys are declared. Values are not listed.',
  replies: {
    200: {
      description: 'All of them; declared tags are last.',
      contents: json(list, {
        data: [
          { name: 'owner', description: DIMENSIONS.owner.description, tag: null },
          { name: 'tags.team', description: 'The declared tag team.', tag: { key: 'team', personal: false } },
        ],
      }),
    },
  },
}

export const dimensionList = (dimensionsOf: (tenantId: string) => readonly Dimension[]): Route => ({
  method: 'get',
  path: PATH,
  operation: LIST_DIMENSIONS,
  access: ['read:reporting', 'read:attribution', 'export:create'],
  rateClass: 'read',
  handle: (exchange, { tenantId }) => exchange.replyJson('200 OK', { data: listed(dimensionsOf(tenantId)) }),
})

const listed = (declared: readonly Dimension[]): readonly ShownDimension[] => [
  ...DIMENSION_NAMES.map((name) => ({ name, description: DIMENSIONS[name].description, tag: null })),
  ...declared.map(({ key, personal }) => ({
    name: tagFieldOf(key),
    description: `The declared tag ${key}.`,
    tag: { key, personal },
  })),
]
