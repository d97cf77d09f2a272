import { z } from 'zod'
import type { ResourceContract } from '../../http/resource/resource-operations.js'
import { decimalText, exampleId, idOf, timeText } from '../../text/answer-fields.js'
import { type BudgetChanges, type BudgetFields, budgetChanges, budgetFields, type StoredBudget } from './budget.js'

/** The API contract of budgets (design section 10). */

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

const FIELDS = {
  name: 'Support, OpenAI',
  filter: { owner: 'team-support', provider: 'openai' },
  monthly_ceiling_usd: '2500.00',
}
const RECORD: ShownBudget = { id: exampleId('bdg'), ...FIELDS, created_at: '2026-11-21T09:30:00.000Z' }

export const BUDGET = {
  path: '/api/v1/budgets',
  prefix: 'bdg',
  tag: 'Budgets',
  word: 'Budget',
  plural: 'Budgets',
  order: 'newest first',
  record: budget,
  fields: budgetFields,
  changes: budgetChanges,
  example: { record: RECORD, fields: FIELDS, changes: { monthly_ceiling_usd: '3000' } satisfies BudgetChanges },
  descriptions: {
    create:
      'Event `budget.threshold.crossed` is emitted when the cost of matching calls in a calendar month (UTC, by the time ' +
      'of the call) reaches 75, 100 and 150 percent of the ceiling: once per month and threshold, in ascending order. Late ' +
      'calls count towards their month until three days after it ends. Months that ended before the budget was created ' +
      'are ignored.',
    update:
      'A threshold already crossed this month is not emitted again. After the ceiling or the filter changes, no events ' +
      'are emitted for months that have ended.',
  },
} as const satisfies ResourceContract<BudgetFields, BudgetChanges>
