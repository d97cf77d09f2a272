import { z } from 'zod'
import { FILTER_PARAMETERS, FILTERS_DESCRIPTION } from '../filters/parameters.js'
import { json, type Operation, type Parameters } from '../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../http/contract/page.js'
import { INTERVALS, REPORT_DIMENSIONS } from '../store/queries/reports/usage.js'
import { count, decimalText, timeText } from '../text/answer-fields.js'
import { ADOPTION_DIMENSIONS, ADOPTION_INTERVALS } from './kinds.js'
import { BOUNDED_FIGURES } from './usage.js'

/** The OpenAPI contract of the reports (spec 4.2 and 8, design section 6). */

const TIMES: Parameters = {
  from: z
    .string()
    .optional()
    .meta({
      description:
        'Start of the period: a day (in the time zone), or an RFC 3339 time in UTC on a quarter hour. ' +
        'Default: the day thirty days before `to`, or thirty days before today if `to` is omitted too.',
      examples: ['2026-11-01'],
    }),
  to: z
    .string()
    .optional()
    .meta({
      description: 'End of the period, exclusive, in the same format as `from`. Default: the end of today.',
      examples: ['2026-12-01'],
    }),
  time_zone: z
    .string()
    .optional()
    .meta({
      description: 'Time zone of days, weeks and months: a name from the tz database.',
      default: 'UTC',
      examples: ['Asia/Kolkata'],
    }),
}

/** The record filters that reports support. */
const FILTERS: Parameters = Object.fromEntries(
  Object.entries(FILTER_PARAMETERS).filter(([name]) => {
    const [, field, operator] = /^filter\[(\w+)\]\[(\w+)\]$/.exec(name) ?? []
    if (field === 'event_time') return operator === 'gte' || operator === 'lt'
    return REPORT_DIMENSIONS.some((dimension) => dimension === field)
  }),
)

const groupBy = (names: readonly string[]) =>
  z
    .string()
    .optional()
    .meta({
      description: `Comma-separated dimensions out of ${names.join(', ')}, coarsest first. Default: one group for everything.`,
      examples: ['service'],
    })

const interval = (names: readonly [string, ...string[]]) =>
  z
    .enum(names)
    .optional()
    .meta({ description: 'Splits the period into intervals. Intervals without calls are omitted.' })

const rowBase = {
  from: timeText(),
  to: timeText(),
  ...Object.fromEntries(REPORT_DIMENSIONS.map((name) => [name, z.string().nullable().optional()])),
  folded: z.boolean().meta({
    description:
      'Whether the row combines groups that are not shown: groups with one to four people, and groups from which those ' +
      'could be derived as a difference. Their labels are null.',
  }),
}

/** Not an integer schema: the sum of many calls may exceed the integers that JSON numbers represent exactly. */
const tokenSum = () => z.number().min(0).meta({ type: 'integer' })

const usageRow = z
  .object({
    ...rowBase,
    cost_usd: decimalText(),
    energy_wh: decimalText(),
    carbon_gco2e: decimalText(),
    calls: count(),
    input_tokens: tokenSum(),
    output_tokens: tokenSum(),
    cached_input_tokens: tokenSum().meta({ type: 'integer', description: 'Included in `input_tokens`.' }),
    cache_write_tokens: tokenSum().meta({ type: 'integer', description: 'Included in `input_tokens`.' }),
    reasoning_tokens: tokenSum().meta({ type: 'integer', description: 'Included in `output_tokens`.' }),
    unpriced_calls: count().meta({ description: 'Calls without a price; their cost is not included in `cost_usd`.' }),
    lower_bounds: z.array(z.enum(BOUNDED_FIGURES)).meta({
      description: 'Figures that are lower bounds, because the value is unknown for some calls.',
    }),
  })
  .meta({ id: 'UsageRow' })

const adoptionRow = z
  .object({
    ...rowBase,
    people: count().meta({ description: 'Distinct identities, not counting workloads.' }),
    calls: count(),
  })
  .meta({ id: 'AdoptionRow' })

const report = z
  .object({
    from: timeText(),
    to: timeText(),
    time_zone: z.string(),
    interval: z.enum(INTERVALS).nullable(),
    group_by: z.array(z.enum(REPORT_DIMENSIONS)),
    allocated: z
      .boolean()
      .meta({ description: 'Whether the amounts of cost pools are spread over services and owners.' }),
    allocation_weights: z
      .array(z.object({ from: timeText(), to: timeText(), as_of: timeText().nullable() }))
      .optional()
      .meta({
        description:
          'Only in allocated reports: for each month, the time of the weights by which its pools are spread, which are the ' +
          'latest ones at the end of the month. Null when there are none; pools are then not spread.',
      }),
    widened_filters: z.array(z.enum(REPORT_DIMENSIONS)).meta({
      description:
        'Filters that were not applied, because the matching or the excluded calls would reveal fewer than five people.',
    }),
  })
  .meta({
    id: 'ReportScope',
    description:
      'The effective scope of the report. The period is wider than requested where its edges would reveal individual people.',
  })

const answer = (row: z.ZodType) => pageOf(row).extend({ report })

const COHORTS =
  'No row, and no difference between rows, reveals fewer than five people, however selective the query is: such groups ' +
  'are folded into their parents. Sums are exact. All pages show the figures as of the first page. The figures are kept ' +
  'for five minutes after each page; a cursor used later, when they have changed, is rejected as INVALID_CURSOR. ' +
  FILTERS_DESCRIPTION

const EXAMPLE_SCOPE = {
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-12-01T00:00:00.000Z',
  time_zone: 'UTC',
  interval: null,
  group_by: ['service'],
  allocated: false,
  widened_filters: [],
}
const EXAMPLE_ROW = { from: EXAMPLE_SCOPE.from, to: EXAMPLE_SCOPE.to, service: 'support-chat', folded: false }
const EXAMPLE_PAGE = { limit: 50, has_more: false }

export const USAGE_REPORT: Operation = {
  id: 'reportUsage',
  tag: 'Reports',
  summary: 'Report cost, energy, carbon, tokens and calls by group and time',
  description: COHORTS,
  query: {
    ...PAGE_PARAMETERS,
    ...TIMES,
    group_by: groupBy(REPORT_DIMENSIONS),
    interval: interval(INTERVALS),
    allocate: z
      .enum(['true', 'false'])
      .optional()
      .meta({
        description:
          'Whether the cost, energy and carbon of cost pools are spread over services and owners, by their shares of the cost ' +
          'that was resolved in the previous thirty days (the `weights` of an allocated record). The spread amounts add up ' +
          'exactly to the amounts of the pools. Calls and tokens cannot be split and stay with their pool; so do amounts that ' +
          'would reveal fewer than five people, shares whose weights would, and pools that calls state as their service. ' +
          'Filters on `service` and `owner` apply after spreading.',
        default: 'false',
      }),
    ...FILTERS,
  },
  replies: {
    200: {
      description: 'A page of rows, ordered by time and labels.',
      contents: json(answer(usageRow), {
        data: [
          {
            ...EXAMPLE_ROW,
            cost_usd: '1204.5512',
            energy_wh: '80211.25',
            carbon_gco2e: '30114.5',
            calls: 18_204,
            input_tokens: 40_112_000,
            output_tokens: 4_210_400,
            cached_input_tokens: 12_000_000,
            cache_write_tokens: 0,
            reasoning_tokens: 0,
            unpriced_calls: 0,
            lower_bounds: [],
          },
        ],
        page: EXAMPLE_PAGE,
        report: EXAMPLE_SCOPE,
      }),
    },
  },
}

export const ADOPTION_REPORT: Operation = {
  id: 'reportAdoption',
  tag: 'Reports',
  summary: 'Report the number of people by group and time',
  description: COHORTS,
  query: {
    ...PAGE_PARAMETERS,
    ...TIMES,
    group_by: groupBy(ADOPTION_DIMENSIONS),
    interval: interval(ADOPTION_INTERVALS),
    ...FILTERS,
  },
  replies: {
    200: {
      description: 'A page of rows, ordered by time and labels.',
      contents: json(answer(adoptionRow), {
        data: [{ ...EXAMPLE_ROW, people: 42, calls: 18_204 }],
        page: EXAMPLE_PAGE,
        report: EXAMPLE_SCOPE,
      }),
    },
  },
}
