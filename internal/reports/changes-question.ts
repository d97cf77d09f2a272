import { isFilterName } from '../filters/parse.js'
import type { Problem } from '../problems/problem-catalogue.js'
import type { Dimension } from '../records/dimensions.js'
import { badParameter, namedOnce, readPairs } from '../text/query-string.js'
import { type ReportQuestion, readReport } from './question.js'

/** What a caller asks of the changes: the usage report that is compared, of which only what moves most is shown. */
export interface ChangesQuestion {
  readonly report: ReportQuestion & { readonly previous: NonNullable<ReportQuestion['previous']> }
  /** Groups that are shown of those that rose, and of those that fell. */
  readonly moversMax: number
}

export type ReadChanges =
  | { readonly ok: true; readonly question: ChangesQuestion }
  | { readonly ok: false; readonly problem: Problem }

const PARAMETERS = ['group_by', 'movers', 'time_zone', 'from', 'to', 'compare_from', 'compare_to', 'as_of'] as const

export const DEFAULT_GROUPS = 'service,served_model,pathway_category'
/** Each dimension more divides people among smaller groups, and takes longer. */
export const GROUPS_MAX = 4
export const MOVERS = { default: 10, max: 50 } as const
/** By these each call would be a group of its own. */
const OF_CALLS: ReadonlySet<string> = new Set(['trace_id', 'operation_id'])

export function readChanges(text: string, nowMs: number, declared: readonly Dimension[]): ReadChanges {
  const read = readPairs(text)
  if (!read.ok) return read
  const named = namedOnce(
    read.pairs.filter(([name]) => !isFilterName(name)),
    PARAMETERS,
  )
  if (!named.ok) return named
  const { movers, group_by: groups = DEFAULT_GROUPS, compare_from, compare_to } = named.values
  const moversMax = movers === undefined ? MOVERS.default : Number(movers)
  if (!Number.isInteger(moversMax) || moversMax < 1 || moversMax > MOVERS.max) {
    return refused('/movers', `movers must be an integer from 1 to ${MOVERS.max}.`)
  }
  const usage = new URLSearchParams(
    read.pairs.filter(([name]) => name !== 'movers').map(([name, value]): [string, string] => [name, value]),
  )
  usage.set('group_by', groups)
  if (compare_from === undefined && compare_to === undefined) usage.set('compare', 'previous')
  const report = readReport('usage', usage.toString(), nowMs, declared)
  if (!report.ok) return report
  const { groupBy, previous } = report.question
  if (groupBy.length > GROUPS_MAX || groupBy.some((name) => OF_CALLS.has(name))) {
    return refused('/group_by', `group_by must have at most ${GROUPS_MAX} dimensions, without those of single calls.`)
  }
  if (previous === undefined) throw new Error('the question is compared')
  return { ok: true, question: { report: { ...report.question, previous }, moversMax } }
}

const refused = (pointer: string, detail: string) => ({ ok: false, problem: badParameter(pointer, detail) }) as const
