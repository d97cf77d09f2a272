import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { decimalText, exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import type { BudgetChanges, StoredBudget } from './budget.js'

/** What the routes of budgets take and promise (design section 10). */

export const PATH = '/api/v1/budgets'

const budget = z
  .object({
    id: idOf('bdg'),
    name: z.string(),
    filter: z.object({
      owner: z.string().optional(),
      service: z.string().optional(),
      provider: z.string().optional(),
    }),
    monthly_ceiling_usd: decimalText(),
    created_at: timeText(),
  })
  .meta({ id: 'Budget' })
export type ShownBudget = Omit<StoredBudget, 'tenant_id' | 'changed_at'>

export const EXAMPLE_FIELDS = {
  name: 'Support, OpenAI',
  filter: { owner: 'team-support', provider: 'openai' },
  monthly_ceiling_usd: '2500.00',
}
export const EXAMPLE_CHANGES: BudgetChanges = { monthly_ceiling_usd: '3000' }

const EXAMPLE: ShownBudget = { id: exampleId('bdg'), ...EXAMPLE_FIELDS, created_at: '2026-11-21T09:30:00.000Z' }

const shown = json(budget, EXAMPLE)
const parameters = { id: idInPath('bdg', 'id of the budget.') }
const TAG = 'Budgets'

export const LIST_BUDGETS: Operation = {
  id: 'listBudgets',
  tag: TAG,
  summary: 'Budgets, the newest first',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page.',
      contents: json(pageOf(budget), { data: [EXAMPLE], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_BUDGET: Operation = {
  id: 'getBudget',
  tag: TAG,
  summary: 'One budget',
  parameters,
  replies: { 200: { description: 'The budget.', contents: shown } },
}

export const CREATE_BUDGET: Operation = {
  id: 'createBudget',
  tag: TAG,
  summary: 'Set a budget',
  description:
    'When what its calls cost in a calendar month (UTC, by the time of the call) reaches 75, 100 and 150 percent of the ' +
    'ceiling, `budget.threshold.crossed` is told: once a month and threshold, in this order. Calls that come late count ' +
    'for their month until three days after its end; months that had ended when the budget was set do not count.',
  problems: ['CONFLICT'],
  replies: { 201: { description: 'It is set.', contents: shown } },
}

export const UPDATE_BUDGET: Operation = {
  id: 'updateBudget',
  tag: TAG,
  summary: 'Change a budget',
  description:
    'What the body does not name stays. A threshold that was told this month is not told again; after another ceiling or ' +
    'filter, nothing more is told of months that have ended.',
  parameters,
  replies: { 200: { description: 'The budget as it is now.', contents: shown } },
}

export const DELETE_BUDGET: Operation = {
  id: 'deleteBudget',
  tag: TAG,
  summary: 'Delete a budget',
  parameters,
  replies: { 204: { description: 'It is gone.' } },
}
