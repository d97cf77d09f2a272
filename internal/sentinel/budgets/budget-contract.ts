import { z } from 'zod'
import { EVENT_TYPES } from '../../events/event-contract.js'
import { DIMENSION_NAMES, type DimensionName } from '../../filters/report-dimensions.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import type { ResourceContract } from '../../http/resource/resource-operations.js'
import { count, decimalText, exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { type BudgetChanges, type BudgetFields, budgetChanges, budgetFields, perField } from './budget.js'
import { FORECAST_AFTER } from './budget-figures.js'
import { PERIODS } from './budget-period.js'

/** The API contract of budgets. */

const figures = {
  spent_usd: decimalText().meta({ description: 'Cost of the matching calls of the period so far. Exact.' }),
  percent: decimalText()
    .nullable()
    .meta({ description: 'Of the ceiling, cut to two decimals: below 100.00 until the ceiling is reached.' }),
  forecast_usd: decimalText()
    .nullable()
    .meta({
      description:
        'Run rate: `spent_usd` × length of the period ÷ time elapsed, rounded half to even to six decimals. ' +
        `Null until 1/${FORECAST_AFTER} of the period has passed (one hour of a day, 30 hours of a month of 30 ` +
        'days).',
    }),
  forecast_percent: decimalText()
    .nullable()
    .meta({ description: 'The forecast in percent of the ceiling, cut to two decimals.' }),
}

const crossings = z
  .array(
    z.object({
      threshold: z.int().meta({ description: 'Percent.' }),
      crossed_at: timeText().nullable().meta({ description: 'When the event was emitted. Null: not crossed.' }),
    }),
  )
  .meta({
    description:
      'The thresholds, ascending. A crossing stays for the rest of the period, also when a correction lowers ' +
      'the spend again.',
  })
export interface ShownCrossing {
  readonly threshold: number
  readonly crossed_at: string | null
}

const group = z
  .object({
    value: z.string().meta({ description: 'Value of the dimension `per`.' }),
    ceiling_usd: decimalText().meta({ description: 'Of this group: its own, or that of the budget.' }),
    ...figures,
    crossings,
  })
  .meta({ id: 'BudgetGroup' })

const current = z
  .object({
    from: timeText(),
    to: timeText().meta({ description: 'The end of the period, exclusive.' }),
    as_of: timeText(),
    ...figures,
    crossings: crossings.optional().meta({ description: 'Only without `per`.' }),
    groups: z
      .object({
        count: count().meta({ description: 'Groups with calls in the period.' }),
        crossed: z
          .array(z.object({ threshold: z.int(), count: count() }))
          .meta({ description: 'By threshold: how many groups have crossed it.' }),
        top: z.array(group).meta({ description: 'The ten groups that cost most; all are in `/groups`.' }),
      })
      .optional()
      .meta({
        description:
          'Only with `per`. The figures beside it are those of all groups together; their percentages are null, ' +
          'because the ceiling is one of each group.',
      }),
  })
  .meta({ id: 'PeriodSpending' })

type ShownFilter = { readonly [D in DimensionName]: z.ZodOptional<z.ZodString> }

const budget = z
  .object({
    id: idOf('bdg'),
    name: z.string(),
    filter: z.object({
      ...(Object.fromEntries(DIMENSION_NAMES.map((name) => [name, z.string().optional()])) as ShownFilter),
      tags: z.record(z.string(), z.string()).optional().meta({ description: 'Values of tags, by key in lower case.' }),
    }),
    per: perField().nullable().meta({ description: 'The ceiling is one of each value of this dimension, or tag.' }),
    period: z.enum(PERIODS),
    time_zone: z.string().meta({ description: 'In which periods start and end.' }),
    ceiling_usd: decimalText(),
    monthly_ceiling_usd: decimalText()
      .nullable()
      .meta({ description: 'The same as `ceiling_usd` if the period is a month, null otherwise.' }),
    group_ceilings_usd: z
      .record(z.string(), decimalText())
      .meta({ description: 'Ceilings of single groups, by value of `per`, in place of `ceiling_usd`.' }),
    thresholds: z.array(z.int()).meta({ description: 'Percent of the ceiling, ascending.' }),
    created_at: timeText(),
    current: current.optional().meta({ description: 'The current period. Only in answers to `GET`.' }),
  })
  .meta({ id: 'Budget' })
export type ShownBudget = z.infer<typeof budget>
export type ShownPeriod = z.infer<typeof current>
export type ShownGroup = z.infer<typeof group>

const BUDGET_FIELDS = {
  name: 'Support, OpenAI',
  filter: { owner: 'team-support', provider: 'openai' },
  ceiling_usd: '2500.00',
  time_zone: 'Europe/Berlin',
  thresholds: [50, 75, 100],
} satisfies BudgetFields
const RECORD: ShownBudget = {
  id: exampleId('bdg'),
  name: BUDGET_FIELDS.name,
  filter: BUDGET_FIELDS.filter,
  per: null,
  period: 'month',
  time_zone: 'Europe/Berlin',
  ceiling_usd: '2500.00',
  monthly_ceiling_usd: '2500.00',
  group_ceilings_usd: {},
  thresholds: BUDGET_FIELDS.thresholds,
  created_at: '2026-11-21T09:30:00.000Z',
  current: {
    from: '2026-10-31T23:00:00.000Z',
    to: '2026-11-30T23:00:00.000Z',
    as_of: '2026-11-21T11:00:00.000Z',
    spent_usd: '1875.2',
    percent: '75.00',
    forecast_usd: '2738.799189',
    forecast_percent: '109.55',
    crossings: [
      { threshold: 50, crossed_at: '2026-11-15T08:12:44.102Z' },
      { threshold: 75, crossed_at: '2026-11-21T10:58:03.771Z' },
      { threshold: 100, crossed_at: null },
    ],
  },
}
const GROUP: ShownGroup = {
  value: 'team-support',
  ceiling_usd: '500.00',
  spent_usd: '410.25',
  percent: '82.05',
  forecast_usd: '599.182692',
  forecast_percent: '119.83',
  crossings: [
    { threshold: 75, crossed_at: '2026-11-20T17:03:11.940Z' },
    { threshold: 100, crossed_at: null },
    { threshold: 150, crossed_at: null },
  ],
}

const PATH = '/api/v1/budgets'

export const BUDGET = {
  path: PATH,
  prefix: 'bdg',
  tag: 'Budgets',
  word: 'Budget',
  plural: 'Budgets',
  order: 'newest first',
  record: budget,
  fields: budgetFields,
  changes: budgetChanges,
  example: { record: RECORD, fields: BUDGET_FIELDS, changes: { ceiling_usd: '3000' } satisfies BudgetChanges },
  descriptions: {
    create:
      'Event `budget.threshold.crossed` is emitted when the cost of matching calls in a period (by the time of ' +
      'the call) reaches 75, 100 and 150 percent of the ceiling, and `budget.threshold.custom` at other ' +
      'thresholds: once per period, group and threshold, in ascending order. Late calls count towards their ' +
      'period until three days after it ends. Periods that ended before the budget was created are ignored.',
    update:
      '`monthly_ceiling_usd` also sets `period` to `month`. A threshold already crossed in a period is not ' +
      'emitted again for it, whatever changes; a new threshold that is already reached is emitted at once. A ' +
      'changed `period` or `per` starts with no threshold crossed. After a change no events are emitted for ' +
      'periods that have ended.',
  },
} as const satisfies ResourceContract<BudgetFields, BudgetChanges>

export const GROUPS_PATH = `${PATH}/:id/groups`

const parameters = { id: idInPath('bdg', 'Id of the budget.') }

export const LIST_GROUPS: Operation = {
  id: 'listBudgetGroups',
  tag: 'Budgets',
  summary: 'List the groups of a budget in its current period, the highest cost first',
  description:
    'All pages show the spend as of the first page. A budget without `per` has no groups. A cursor is not valid ' +
    'any more once the rule of the budget has changed.',
  parameters,
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of groups.',
      contents: json(pageOf(group), { data: [GROUP], page: { limit: 50, has_more: false } }),
    },
  },
}

export const TEST_PATH = `${PATH}/:id/test`

export const testBody = z.strictObject({
  threshold: z
    .int()
    .min(1)
    .max(1_000)
    .optional()
    .meta({ description: 'Percent. Default: the lowest threshold of the budget, or 100 if it has none.' }),
})
export type TestBody = z.infer<typeof testBody>
export const EXAMPLE_TEST: TestBody = { threshold: 100 }

const testEvent = z
  .object({ event_id: idOf('evt'), type: z.enum(EVENT_TYPES), threshold: z.int() })
  .meta({ id: 'BudgetTestEvent' })

export const TEST_BUDGET: Omit<Operation, 'body'> = {
  id: 'testBudget',
  tag: 'Budgets',
  summary: 'Send a test event of a budget',
  description:
    'Emits the event of a threshold with `test` true in its `data`, to every verified endpoint that subscribes ' +
    'to its type. Its amount is the one at which the threshold would be crossed, its group `test`. It uses up no ' +
    'threshold.',
  parameters,
  replies: {
    202: {
      description: 'Emitted.',
      contents: json(testEvent, { event_id: exampleId('evt'), type: 'budget.threshold.crossed', threshold: 100 }),
    },
  },
}
