import { z } from 'zod'
import { FILTER_PARAMETERS, FILTERS_DESCRIPTION } from '../filters/parameters.js'
import { json, type Operation, type Parameters } from '../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../http/contract/page.js'
import { INTERVALS, REPORT_DIMENSIONS } from '../store/queries/reports/usage.js'
import { count, decimalText, timeText } from '../text/answer-fields.js'
import { ADOPTION_DIMENSIONS, ADOPTION_INTERVALS } from './kinds.js'
import { BOUNDED_FIGURES } from './usage.js'

/** What the reports take and promise (spec 4.2 and 8, design section 6). */

const TIMES: Parameters = {
  from: z
    .string()
    .optional()
    .meta({
      description:
        'Where the period begins: a day (in the time zone), or an RFC 3339 time in UTC on the quarter of an hour. ' +
        'Without it: the day thirty days before `to`; before today where that is not there either.',
      examples: ['2026-11-01'],
    }),
  to: z
    .string()
    .optional()
    .meta({
      description:
        'Where the period ends, in the same form; the day or time itself is no part of it. Without it: tonight.',
      examples: ['2026-12-01'],
    }),
  time_zone: z
    .string()
    .optional()
    .meta({
      description: 'Where days, weeks and months begin: a name of the tz database.',
      default: 'UTC',
      examples: ['Asia/Kolkata'],
    }),
}

/** Those of the record filters that reports take. */
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
      description: `Names of ${names.join(', ')}, parted by commas, the coarsest first. Without it: all together.`,
      examples: ['service'],
    })

const interval = (names: readonly [string, ...string[]]) =>
  z
    .enum(names)
    .optional()
    .meta({ description: 'Into what the period is parted. Intervals without calls are left out.' })

const rowBase = {
  from: timeText(),
  to: timeText(),
  ...Object.fromEntries(REPORT_DIMENSIONS.map((name) => [name, z.string().nullable().optional()])),
  folded: z.boolean().meta({
    description:
      'Whether the row is what its parent does not show of itself: groups in which one to four people appear, and those ' +
      'that would tell of them by difference. Labels that were folded away are null.',
  }),
}

/** Of many calls, each of which may state as much as a number of JSON holds exactly. */
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
    cached_input_tokens: tokenSum().meta({ type: 'integer', description: 'Within `input_tokens`.' }),
    cache_write_tokens: tokenSum().meta({ type: 'integer', description: 'Within `input_tokens`.' }),
    reasoning_tokens: tokenSum().meta({ type: 'integer', description: 'Within `output_tokens`.' }),
    unpriced_calls: count().meta({ description: 'Calls without a price, whose cost is not in `cost_usd`.' }),
    lower_bounds: z.array(z.enum(BOUNDED_FIGURES)).meta({
      description: 'Figures that are at least what is shown: some calls did not tell, and no price or model is known.',
    }),
  })
  .meta({ id: 'UsageRow' })

const adoptionRow = z
  .object({
    ...rowBase,
    people: count().meta({ description: 'Distinct identities; none of workloads.' }),
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
    allocated: z.boolean().meta({ description: "Whether pools' amounts are spread over those who caused the rest." }),
    allocation_weights: z
      .array(z.object({ from: timeText(), to: timeText(), as_of: timeText().nullable() }))
      .optional()
      .meta({
        description:
          'Of allocated reports: as of when the weights are by which the pools of each month are spread, the newest by its ' +
          'end; null where there are none, and nothing is spread.',
      }),
    widened_filters: z.array(z.enum(REPORT_DIMENSIONS)).meta({
      description:
        'Filters that were not applied, since what they hold, or leave out, tells of fewer than five people.',
    }),
  })
  .meta({
    id: 'ReportScope',
    description:
      'What the rows are of. The period is wider than asked for where its edges would tell of single people.',
  })

const answer = (row: z.ZodType) => pageOf(row).extend({ report })

const COHORTS =
  'No row, and no difference between rows, tells of fewer than five people, however selective the question is: such ' +
  'groups are folded into their parents. Sums are exact. Figures are those of the moment of the first page; they are kept ' +
  'for five minutes after each page, and a cursor that comes later, when they have changed, is INVALID_CURSOR. ' +
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
  summary: 'Cost, energy, carbon, tokens and calls by groups and time',
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
          'Whether the cost, energy and carbon of cost pools is spread over services and owners, by their shares in the cost of ' +
          'what was resolved in the thirty days before (the `weights` of an allocated record). Exact: what is spread sums up to ' +
          'what the pools had. Calls and tokens cannot be parted and stay with their pool, and so do amounts that would tell of ' +
          'fewer than five people, shares of those whose weight would, and pools that calls name as their service. Filters on ' +
          '`service` and `owner` hold what is theirs after that.',
        default: 'false',
      }),
    ...FILTERS,
  },
  replies: {
    200: {
      description: 'A page of rows, in order of time and labels.',
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
  summary: 'How many people use what, over time',
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
      description: 'A page of rows, in order of time and labels.',
      contents: json(answer(adoptionRow), {
        data: [{ ...EXAMPLE_ROW, people: 42, calls: 18_204 }],
        page: EXAMPLE_PAGE,
        report: EXAMPLE_SCOPE,
      }),
    },
  },
}
