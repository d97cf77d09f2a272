import type { Dimension } from '../records/dimensions.js'
import { namedOnce, readPairs } from '../text/query-string.js'
import { type ReadReport, readReport } from './question.js'
import type { ReportPage } from './report.js'
import { type ShownBy, shownUsage } from './report-rows.js'

/**
 * Unpriced calls by model: the usage report of provider and served model, filtered by `cost_basis`, so that its cohort
 * rule is that of reports.
 */

const PARAMETERS = ['from', 'to', 'time_zone', 'limit', 'cursor'] as const
const QUESTION = 'group_by=provider,served_model&filter[cost_basis][eq]=unpriced&sort=-unpriced_calls'

export function readUnpriced(text: string, nowMs: number, declared: readonly Dimension[]): ReadReport {
  const read = readPairs(text)
  if (!read.ok) return read
  const named = namedOnce(read.pairs, PARAMETERS)
  if (!named.ok) return named
  const question = readReport('usage', text === '' ? QUESTION : `${text}&${QUESTION}`, nowMs, declared)
  return question.ok ? { ok: true, question: { ...question.question, selectsFreeCalls: true } } : question
}

/**
 * Where too few people made unpriced calls for rows of their own, rows are of a model's calls, and only some are
 * unpriced.
 */
export const shownUnpriced = ({ rows }: ReportPage, by: ShownBy): readonly object[] =>
  rows
    .filter(({ figures }) => figures.unpriced_calls !== '0')
    .map((row) => {
      const shown: Readonly<Record<string, unknown>> = shownUsage(row, by)
      const ofAllCalls = (name: string) => (by.isParent ? null : shown[name])
      return {
        provider: shown['provider'],
        served_model: shown['served_model'],
        calls: shown['unpriced_calls'],
        input_tokens: ofAllCalls('input_tokens'),
        output_tokens: ofAllCalls('output_tokens'),
        lower_bounds: by.isParent
          ? []
          : (shown['lower_bounds'] as readonly string[]).filter((name) => TOKENS.has(name)),
        people: by.isParent ? null : shown['people'],
        folded: shown['folded'],
        ...(row.isFolded && { groups: row.groups }),
        ...(by.isParent && { scope: 'parent' as const }),
      }
    })

const TOKENS: ReadonlySet<string> = new Set(['input_tokens', 'output_tokens'])
