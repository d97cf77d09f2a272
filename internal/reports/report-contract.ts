import { z } from 'zod'
import { COHORT_SCOPES } from '../auth/tenant.js'
import { withTagPattern } from '../filters/filter-fields.js'
import { FILTERS_DESCRIPTION, filterParameters } from '../filters/parameters.js'
import { DIMENSION_NAMES } from '../filters/report-dimensions.js'
import { json, type Operation, type Parameters } from '../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../http/contract/page.js'
import { COMPARED } from '../store/queries/reports/compared.js'
import { REASON_NAMES } from '../store/queries/reports/figures.js'
import { INTERVALS } from '../store/queries/reports/intervals.js'
import { COST_PART_NAMES } from '../store/queries/reports/priced-figures.js'
import { count, decimalText, timeText } from '../text/answer-fields.js'
import { COMPARED_FIGURES, PERCENT_DECIMALS, type ReportKind } from './compared.js'
import { CANNOT_KNOW_CODES } from './priced-figures.js'
import { REPORT_FIELDS } from './question.js'
import { BOUNDED_FIGURES, CONFIDENCE_DECIMALS, SHARE_DECIMALS, TRUST_PARTS } from './report-rows.js'
import { sortNames } from './sort.js'
import { PRICE_DECIMALS } from './unit-prices.js'

/** The OpenAPI contract of the reports. */

export const TIMES: Parameters = {
  from: z
    .string()
    .optional()
    .meta({
      description:
        'Start of the period: a day (in the time zone), or an RFC 3339 time on a quarter hour. ' +
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

/** The filters that reports support. */
export const FILTERS: Parameters = filterParameters(withTagPattern(REPORT_FIELDS))

/** So that several reports show the same calls. */
export const AS_OF: Parameters = {
  as_of: z
    .string()
    .optional()
    .meta({
      description:
        'Shows the figures as of this time: the `as_of` of a report that was answered within the last hour, so ' +
        'that several reports agree. Default: the newest time. `report.as_of` states the time that was used.',
    }),
}

const GROUPING: Parameters = {
  group_by: z
    .string()
    .optional()
    .meta({
      description:
        `Comma-separated dimensions out of ${DIMENSION_NAMES.join(', ')}, and \`tags.<key>\` of declared tag ` +
        'keys, coarsest first. Rows have a member of the same name, with the key in lower case. Default: one ' +
        'group for everything.',
      examples: ['service'],
    }),
  interval: z
    .enum(INTERVALS)
    .optional()
    .meta({ description: 'Splits the period into intervals. Intervals without calls are omitted.' }),
}

const sort = (kind: ReportKind): Parameters => ({
  sort: z
    .string()
    .optional()
    .meta({
      description:
        `Sorts the rows by ${sortNames(kind).join(', ')}, or a dimension of \`group_by\`; descending with the ` +
        'prefix `-`. With `compare`, also by `change.<figure>` and `change_percent.<figure>`; rows ' +
        'without a previous figure come last. Default: by time, and within an interval by ' +
        `${kind === 'usage' ? 'the highest cost' : 'the most people'} first.`,
      examples: [kind === 'usage' ? '-cost_usd' : '-people'],
    }),
})

/** Any period to compare with, in place of the one before. */
export const COMPARED_PERIOD: Parameters = {
  compare_from: z
    .string()
    .optional()
    .meta({
      description:
        'Start of a period to compare with in place of the one before, in the form of `from`, together with ' +
        '`compare_to`. The periods must not overlap. Not with an interval.',
      examples: ['2025-11-01'],
    }),
  compare_to: z
    .string()
    .optional()
    .meta({ description: 'End of the period to compare with, exclusive.', examples: ['2025-12-01'] }),
}

const COMPARE: Parameters = {
  compare: z
    .enum(['previous'])
    .optional()
    .meta({
      description:
        'Adds to each row what it had in the period before, and the change. Without an interval this is the ' +
        'period before of the same length: as many calendar months where the period consists of months, else as ' +
        'many days, or quarters of an hour. With an interval it is the interval before the row, and `from` and ' +
        '`to` must be where an interval starts. Rows that had calls only before are added, with figures of 0.',
    }),
  ...COMPARED_PERIOD,
}

const rowBase = {
  from: timeText(),
  to: timeText().meta({ description: 'An interval at the edge of the period is cut to it.' }),
  ...Object.fromEntries(DIMENSION_NAMES.map((name) => [name, z.string().nullable().optional()])),
  scope: z.enum(['parent']).optional().meta({
    description:
      'Only where filters were dropped (`suppressed`): the figures are those of a larger group than the one asked for.',
  }),
  folded: z.boolean().meta({
    description:
      'Whether the row combines groups that are not shown: those of fewer people than `min_cohort`, and at most ' +
      'one larger one where these alone would be too few. The labels that they do not share are null.',
  }),
  groups: count().optional().meta({ description: 'Only in folded rows: how many groups it combines.' }),
  people: count()
    .nullable()
    .meta({
      description:
        'Distinct identities, not counting workloads. Null where a folded row has fewer than `min_cohort`, ' +
        'because the whole interval has, and in usage with `cohort_scope` `people`.',
    }),
}

/** Not an integer schema: the sum of many calls may exceed the integers that JSON numbers represent exactly. */
export const tokenSum = () => z.number().min(0).meta({ type: 'integer' })

const rounded = (decimals: number, description: string) =>
  decimalText()
    .nullable()
    .meta({ description: `${description} Rounded half to even, to ${decimals} decimals; null without a divisor.` })

const compared = (kind: ReportKind) => {
  const members = (value: (name: string) => z.ZodType) =>
    z.object(Object.fromEntries(COMPARED_FIGURES[kind].map((name) => [name, value(name)])))
  const isDecimal = (name: string): boolean => /^(cost|energy|carbon)_/.test(name)
  return {
    compared: z
      .enum(COMPARED)
      .optional()
      .meta({
        description:
          'Only with `compare`: the row has calls in `both` periods, is `new`, or is `gone`; `not_shown`: it is ' +
          'folded in one of the periods, or the filters select too few people in the previous one.',
      }),
    previous: members((name) => (isDecimal(name) ? decimalText() : tokenSum()).nullable())
      .nullable()
      .optional()
      .meta({ description: 'The figures of the period before; null where they are not shown.' }),
    change: members((name) => (isDecimal(name) ? decimalText() : z.number().meta({ type: 'integer' })).nullable())
      .nullable()
      .optional()
      .meta({ description: 'The figures of the row minus the previous ones.' }),
    change_percent: members(() => decimalText().nullable())
      .nullable()
      .optional()
      .meta({
        description:
          `The change in percent of the previous figure, rounded half to even, to ${PERCENT_DECIMALS} decimals; ` +
          'null where that is 0.',
      }),
  }
}

const usageRow = z
  .object({
    ...rowBase,
    unattributed: z.boolean().meta({
      description:
        'Whether the row is the calls without a service (in the default pool) or without an owner; `reasons` ' +
        'says why. Such a row is a group of its own, unlike a folded one.',
    }),
    cost_usd: decimalText(),
    energy_wh: decimalText(),
    carbon_gco2e: decimalText(),
    energy_class_estimate_wh: decimalText()
      .optional()
      .meta({
        description:
          'Part of `energy_wh` that is estimated from the class of the model (`energy_basis` `class_estimate`), with a ' +
          'wide range; absent if there is none. The same calls have the same part in `carbon_gco2e`.',
      }),
    calls: count(),
    input_tokens: tokenSum(),
    output_tokens: tokenSum(),
    cached_input_tokens: tokenSum().meta({ type: 'integer', description: 'Included in `input_tokens`.' }),
    cache_write_tokens: tokenSum().meta({ type: 'integer', description: 'Included in `input_tokens`.' }),
    reasoning_tokens: tokenSum().meta({ type: 'integer', description: 'Included in `output_tokens`.' }),
    unpriced_calls: count().meta({ description: 'Calls without a price; their cost is not included in `cost_usd`.' }),
    cost_share: rounded(SHARE_DECIMALS, 'Share of the cost of the whole report, 0 to 1.'),
    cost_usd_per_call: rounded(PRICE_DECIMALS, 'Cost per call.'),
    cost_usd_per_1k_tokens: rounded(PRICE_DECIMALS, 'Cost per 1,000 input and output tokens.'),
    lower_bounds: z.array(z.enum(BOUNDED_FIGURES)).meta({
      description: 'Figures that are lower bounds, because the value is unknown for some calls.',
    }),
    confidence: rounded(CONFIDENCE_DECIMALS, 'Mean confidence, weighted by cost.'),
    cost_usd_by_band: z
      .object({ chargeback_ready: decimalText(), provisional: decimalText(), estimated: decimalText() })
      .meta({ description: 'Cost at each confidence band. Adds up to `cost_usd`.' }),
    cost_usd_by_trust: z.object(Object.fromEntries(TRUST_PARTS.map((part) => [part, decimalText()]))).meta({
      id: 'CostByTrust',
      description:
        'Cost by whether it can be charged back; each call is in the first part that applies. `eligible`: a chargeback ' +
        'file of the same calls has it (`export_eligibility` `eligible`). `unattributed`: without a service or an owner. ' +
        '`held_back`: attributed above the chargeback floor, and not charged back for another reason, as a disputed call ' +
        'or an implausible cost. `provisional` and `estimated`: attributed below it, by confidence band. Adds up to ' +
        '`cost_usd`.',
    }),
    unattributed_calls: count().meta({ description: 'Calls without a service or without an owner.' }),
    unattributed_cost_usd: decimalText(),
    notional_cost_usd: decimalText()
      .optional()
      .meta({
        description:
          'Only with `include_notional`: dollars that were stated for calls which nobody is billed for. Included ' +
          'in no other figure, and not spread where the report is allocated.',
      }),
    not_spread_usd: decimalText()
      .optional()
      .meta({ description: 'Only in allocated reports: the part of `cost_usd` that is still with cost pools.' }),
    cost_usd_by_part: z
      .object({ ...Object.fromEntries(COST_PART_NAMES.map((part) => [part, decimalText()])), not_split: decimalText() })
      .optional()
      .meta({
        id: 'CostByPart',
        description:
          'Only with `include_cost_parts`: what the tokens of each kind, and the fees of tools and other units, cost. ' +
          '`not_split`: dollars that are no price times a count, as of calls whose cost is stated. Adds up to `cost_usd`.',
      }),
    repriced: z
      .object({
        cost_usd: decimalText(),
        instead_of_usd: decimalText().meta({ description: 'What the same calls cost.' }),
        change_usd: decimalText(),
        calls: count(),
        calls_left_out: count().meta({
          description: 'Calls without token counts or with contradictory ones, or billed by other units.',
        }),
      })
      .optional()
      .meta({
        id: 'RepricedCost',
        description:
          'Only with `reprice_as`: the cost of the counted tokens at the prices of the other model; calls that nobody is ' +
          'billed for stay free. `report.repriced` has its rates, and what they cannot know.',
      }),
    reasons: z
      .object(
        Object.fromEntries(
          REASON_NAMES.map((reason) => [reason, z.object({ calls: count(), cost_usd: decimalText() }).optional()]),
        ),
      )
      .meta({
        description:
          'Calls whose attribution or cost cannot be relied on, by reason: no rule and no evidence ' +
          '(`default_pool`), no known owner (`no_owner`), confidence below the chargeback floor (`below_floor`), ' +
          'attributed by the heuristic baseline, or counts that the sender estimated (`advisory`), a stated cost far from the price ' +
          '(`implausible_cost`), counts that can be read in two ways (`ambiguous_usage`), no price (`unpriced`), ' +
          'cached tokens at the input rate (`cost_upper_bound`). A call may have several. Reasons without calls are ' +
          'omitted. In allocated reports the cost of a reason is spread like that of its calls, which stay with ' +
          'their pool.',
      }),
    ...compared('usage'),
  })
  .meta({ id: 'UsageRow' })

const adoptionRow = z.object({ ...rowBase, calls: count(), ...compared('adoption') }).meta({ id: 'AdoptionRow' })

export const groupField = z.union([z.enum(DIMENSION_NAMES), z.string().regex(/^tags\./)])

const filter = z.object({
  field: groupField,
  operator: z.string(),
  values: z.array(z.string()),
})
export const suppressed = z
  .object({ reason: z.literal('cohort_too_small'), asked: z.array(filter), applied: z.array(filter) })
  .meta({
    id: 'SuppressedFilters',
    description:
      'Only where the filters select or leave out fewer people than `min_cohort`: filters were dropped, the last ' +
      'first, until neither was so. The rows are those of the larger group.',
  })

const report = z
  .object({
    from: timeText(),
    to: timeText(),
    time_zone: z.string(),
    interval: z.enum(INTERVALS).nullable(),
    group_by: z.array(groupField),
    allocated: z
      .boolean()
      .meta({ description: 'Whether the amounts of cost pools are spread over services and owners.' }),
    allocation_weights: z
      .array(z.object({ from: timeText(), to: timeText(), as_of: timeText().nullable() }))
      .optional()
      .meta({
        description:
          'Only in allocated reports: for each month, the time of the weights by which its pools are spread, ' +
          'which are the latest ones at the end of the month. Null when there are none; pools are then not ' +
          'spread.',
      }),
    not_spread_usd: decimalText()
      .optional()
      .meta({
        description:
          'Only in allocated reports: dollars that are still with cost pools, since weights are missing ' +
          '(`allocation_weights` with a null `as_of`), leave a part with the pool, or may not be shown.',
      }),
    widened_filters: z.array(groupField).meta({
      description: 'Fields of the filters that were dropped; see `suppressed`.',
    }),
    cohort_scope: z.enum(COHORT_SCOPES).meta({
      description: 'What `min_cohort` protects here (setting `cohort_scope`): every group, or what names people.',
    }),
    min_cohort: count().meta({ description: 'The least number of people that a row has (setting `min_cohort`).' }),
    as_of: timeText().meta({
      description: 'The figures are those of this time: later calls and changes are not in them.',
    }),
    rows: count().meta({ description: 'Rows of the whole report.' }),
    total_cost_usd: decimalText().meta({ description: 'Cost of the whole report: the sum of its rows.' }),
    total_notional_cost_usd: decimalText()
      .optional()
      .meta({ description: 'Only with `include_notional`: the sum over the rows, apart from `total_cost_usd`.' }),
    repriced: z
      .object({
        provider: z.string(),
        model: z.string(),
        source: z.enum(['price_book', 'tenant_price']),
        book_as_of: z.string(),
        confidence: decimalText(),
        rates: z
          .record(z.string(), decimalText())
          .meta({ description: 'USD per 1,000,000 tokens, of short requests, at the end of the period.' }),
        flags: z.array(z.string()).meta({ description: 'Doubts about the price, as in `cost_details` of a record.' }),
        cannot_know: z.array(z.object({ code: z.enum(CANNOT_KNOW_CODES), detail: z.string() })),
      })
      .optional()
      .meta({ id: 'Repricing', description: 'Only with `reprice_as`: the price, and what it cannot know.' }),
    compared_with: z
      .object({ from: timeText(), to: timeText(), total_cost_usd: decimalText().nullable() })
      .optional()
      .meta({
        description:
          'Only with `compare`: the period before, and the cost of all its rows, shown or not; null where its ' +
          'filters select too few people, or there are no rows.',
      }),
  })
  .meta({ id: 'ReportScope', description: 'What the report covers.' })

const answer = (row: z.ZodType) => z.object({ suppressed: suppressed.optional(), ...pageOf(row).shape, report })

const COHORTS =
  'No row, and no sum of rows, covers fewer people than the tenant setting `min_cohort` (5 by default), except ' +
  'for a whole interval of the tenant: smaller groups are folded into their parents. Groups without people are ' +
  'always shown. Sums are exact. All pages show the figures as of the first page. ' +
  FILTERS_DESCRIPTION

const EXAMPLE_SCOPE = {
  from: '2026-11-01T00:00:00.000Z',
  to: '2026-12-01T00:00:00.000Z',
  time_zone: 'UTC',
  interval: null,
  group_by: ['service'],
  allocated: false,
  widened_filters: [],
  cohort_scope: 'all' as const,
  min_cohort: 5,
  as_of: '2026-12-01T06:00:00.120Z',
  rows: 1,
  total_cost_usd: '1204.5512',
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
    ...AS_OF,
    ...GROUPING,
    ...sort('usage'),
    ...COMPARE,
    allocate: z
      .enum(['true', 'false'])
      .optional()
      .meta({
        description:
          'Whether the cost, energy and carbon of cost pools are spread over services and owners, by their ' +
          'shares of the cost that was resolved in the previous thirty days (the `weights` of an allocated ' +
          'record). The spread amounts add up exactly to the amounts of the pools. Calls and tokens cannot be ' +
          'split and stay with their pool; so do the amounts of pools that are folded or have fewer people than ' +
          '`min_cohort`, and shares whose weights would reveal as few. Filters on `service` and `owner` apply ' +
          'after spreading.',
        default: 'false',
      }),
    include_notional: z
      .enum(['true', 'false'])
      .optional()
      .meta({
        description:
          'Whether rows and the report also have the dollars that were stated for calls which nobody is billed ' +
          'for (`cost_basis` `notional`, such as those of Claude Code), as figures of their own.',
        default: 'false',
      }),
    include_cost_parts: z
      .enum(['true', 'false'])
      .optional()
      .meta({
        description:
          'Whether rows also have the dollars of input, cached input, cache writes, output and fees apart ' +
          '(`cost_usd_by_part`). Not with `allocate`.',
        default: 'false',
      }),
    reprice_as: z
      .string()
      .optional()
      .meta({
        description:
          'A model, as `<provider>/<model>`: rows also have what their calls would have cost at its prices at the end of ' +
          'the period (`repriced`). Not with `allocate`.',
        examples: ['openai/gpt-4o-mini'],
      }),
    ...FILTERS,
  },
  replies: {
    200: {
      description: 'A page of rows.',
      contents: json(answer(usageRow), {
        data: [
          {
            ...EXAMPLE_ROW,
            people: 42,
            unattributed: false,
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
            cost_share: '1',
            cost_usd_per_call: '0.066169589101',
            cost_usd_per_1k_tokens: '0.027177112459',
            lower_bounds: [],
            confidence: '0.9312',
            cost_usd_by_band: { chargeback_ready: '1180.1', provisional: '24.4512', estimated: '0' },
            cost_usd_by_trust: {
              eligible: '1130.1',
              held_back: '50',
              provisional: '24.4512',
              estimated: '0',
              unattributed: '0',
            },
            unattributed_calls: 0,
            unattributed_cost_usd: '0',
            reasons: {
              below_floor: { calls: 311, cost_usd: '24.4512' },
              implausible_cost: { calls: 2, cost_usd: '50' },
            },
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
  query: { ...PAGE_PARAMETERS, ...TIMES, ...AS_OF, ...GROUPING, ...sort('adoption'), ...COMPARE, ...FILTERS },
  replies: {
    200: {
      description: 'A page of rows.',
      contents: json(answer(adoptionRow), {
        data: [{ ...EXAMPLE_ROW, people: 42, calls: 18_204 }],
        page: EXAMPLE_PAGE,
        report: EXAMPLE_SCOPE,
      }),
    },
  },
}
