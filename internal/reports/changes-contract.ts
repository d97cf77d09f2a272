import { z } from 'zod'
import { COHORT_SCOPES } from '../auth/tenant.js'
import { DIMENSION_NAMES } from '../filters/report-dimensions.js'
import { json, type Operation } from '../http/contract/operation.js'
import { count, decimalText, timeText } from '../text/answer-fields.js'
import { DEFAULT_GROUPS, GROUPS_MAX, MOVERS } from './changes-question.js'
import { CELLS_MAX } from './read-changes.js'
import { AS_OF, COMPARED_PERIOD, FILTERS, groupField, suppressed, TIMES, tokenSum } from './report-contract.js'

/** The contract of the report of what changed. */

const side = (description: string) =>
  z
    .object({ cost_usd: decimalText(), calls: count(), tokens: tokenSum(), unpriced_calls: count() })
    .meta({ description })

const effects = {
  volume_usd: decimalText().meta({ description: 'Of more or fewer priced calls, each at what a call cost before.' }),
  size_usd: decimalText().meta({
    description: 'Of more or fewer tokens per call. 0 where calls lack tokens or prices; `price_usd` then has it.',
  }),
  price_usd: decimalText().meta({
    description: 'Of other dollars per token: prices, discounts, and the mix of input, cached and output tokens.',
  }),
}

const part = {
  change_usd: decimalText().meta({ description: 'The cost of the period minus that of the one before.' }),
  effects: z.object(effects).meta({ id: 'ChangeEffects', description: 'They add up to `change_usd`.' }),
  now: side('In the period.'),
  before: side('In the period that it is compared with.'),
}

const labels = Object.fromEntries(DIMENSION_NAMES.map((name) => [name, z.string().nullable().optional()]))

const mover = z
  .object({
    ...labels,
    unattributed: z.boolean().meta({ description: 'Whether it is the calls without a service or an owner.' }),
    compared: z.enum(['both', 'new', 'gone']).meta({
      description: 'Whether there were calls in both periods; of a group that is `new` or `gone`, all is volume.',
    }),
    ...part,
  })
  .meta({ id: 'Mover' })

const whole = z
  .object({
    ...part,
    effects: z
      .object({
        ...effects,
        mix_usd: decimalText().meta({ description: 'Of calls that moved to groups of dearer or cheaper calls.' }),
      })
      .meta({
        description: 'They add up to `change_usd`; `size_usd` and `price_usd` are the sums of those of the parts.',
      }),
    change_percent: decimalText().nullable().meta({ description: 'Null where there was no cost before.' }),
  })
  .meta({ id: 'WholeChange' })

const period = { from: timeText(), to: timeText() }

const answer = z.object({
  suppressed: suppressed.optional(),
  whole,
  increases: z.array(mover).meta({ description: 'Groups whose cost rose, the largest change first.' }),
  decreases: z.array(mover).meta({ description: 'Groups whose cost fell, the largest change first.' }),
  others: z
    .object({ groups: count(), ...part })
    .meta({ id: 'OtherChanges', description: 'All other groups together, with the sign of their sum.' }),
  rest: z
    .object({
      ...part,
      has_unread_groups: z
        .boolean()
        .meta({ description: `Whether it also has the groups beyond the ${CELLS_MAX} that moved most.` }),
    })
    .meta({ id: 'FoldedChange' })
    .nullable()
    .meta({
      description:
        'Groups of too few people in one of the periods (`min_cohort`), with all that they are folded with, as one. ' +
        'Null: there are none.',
    }),
  explains_most: z
    .object({ ...labels, group_by: z.array(groupField) })
    .meta({ id: 'MostOfChange' })
    .nullable()
    .meta({
      description:
        'By which of the dimensions, one alone or all together, the difference is explained best, and its group whose ' +
        'cost changed most relative to its share of the earlier cost. Null: nothing changed, all groups changed alike, ' +
        'or there was no cost before.',
    }),
  report: z.object({
    ...period,
    time_zone: z.string(),
    group_by: z.array(groupField),
    compared_with: z.object(period),
    widened_filters: z.array(groupField),
    cohort_scope: z.enum(COHORT_SCOPES),
    min_cohort: count(),
    as_of: timeText(),
  }),
})

const EXAMPLE_PART = {
  change_usd: '100',
  effects: { volume_usd: '60', size_usd: '0', price_usd: '40' },
  now: { cost_usd: '400', calls: 1_200, tokens: 1_200_000, unpriced_calls: 0 },
  before: { cost_usd: '300', calls: 1_000, tokens: 1_000_000, unpriced_calls: 0 },
}
const NONE = { cost_usd: '0', calls: 0, tokens: 0, unpriced_calls: 0 }

export const CHANGES_REPORT: Operation = {
  id: 'reportChanges',
  tag: 'Reports',
  summary: 'Explain the difference of cost between two periods',
  description:
    'The groups of several dimensions at once whose cost rose and fell most. `increases`, `decreases`, `others` and ' +
    '`rest` add up to `change_usd` of `whole`, to the last digit; so do the effects of each. Price and volume are apart ' +
    'as in a price-volume variance analysis: with cost C, priced calls N and tokens T, before (0) and now (1), volume is ' +
    'C0 × N1/N0 - C0, size C0 × T1/T0 - C0 × N1/N0, and price C1 - C0 × T1/T0. The cohort rule of reports holds in each ' +
    'period: a group is shown where it has a row of its own in the reports of both.',
  query: {
    ...TIMES,
    ...COMPARED_PERIOD,
    ...AS_OF,
    group_by: z
      .string()
      .optional()
      .meta({
        description: `At most ${GROUPS_MAX} dimensions, as in the usage report, without \`trace_id\` and \`operation_id\`.`,
        default: DEFAULT_GROUPS,
      }),
    movers: z
      .int()
      .min(1)
      .max(MOVERS.max)
      .optional()
      .meta({ description: 'Groups of each direction.', default: MOVERS.default }),
    ...FILTERS,
  },
  replies: {
    200: {
      description: 'The difference and its parts.',
      contents: json(answer, {
        whole: { ...EXAMPLE_PART, effects: { ...EXAMPLE_PART.effects, mix_usd: '0' }, change_percent: '33.33' },
        increases: [
          {
            service: 'support-chat',
            served_model: 'gpt-4o',
            pathway_category: 'application_direct',
            unattributed: false,
            compared: 'both',
            ...EXAMPLE_PART,
          },
        ],
        decreases: [],
        others: {
          groups: 0,
          change_usd: '0',
          effects: { volume_usd: '0', size_usd: '0', price_usd: '0' },
          now: NONE,
          before: NONE,
        },
        rest: null,
        explains_most: { group_by: ['served_model'], served_model: 'gpt-4o' },
        report: {
          from: '2026-11-01T00:00:00.000Z',
          to: '2026-12-01T00:00:00.000Z',
          time_zone: 'UTC',
          group_by: DEFAULT_GROUPS.split(',') as ('service' | 'served_model' | 'pathway_category')[],
          compared_with: { from: '2026-10-01T00:00:00.000Z', to: '2026-11-01T00:00:00.000Z' },
          widened_filters: [],
          cohort_scope: 'all',
          min_cohort: 5,
          as_of: '2026-12-01T06:00:00.120Z',
        },
      }),
    },
  },
}
