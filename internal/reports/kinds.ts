import { INTERVALS, type Interval, REPORT_DIMENSIONS, type ReportDimension } from '../store/queries/reports/usage.js'
import { type ReadReport, type ReportParameter, readReport } from './question.js'

/** The kinds of report, and the parameters of each. */

export type ReportKind = 'usage' | 'adoption'

export const ADOPTION_DIMENSIONS = ['owner', 'service', 'provider', 'served_model'] as const
export const ADOPTION_INTERVALS = ['day', 'week', 'month'] as const

const PARAMETERS = ['group_by', 'interval', 'time_zone', 'from', 'to', 'limit', 'cursor'] as const

type Accepted = readonly [readonly ReportParameter[], readonly ReportDimension[], readonly Interval[]]
const ACCEPTED: Readonly<Record<ReportKind, Accepted>> = {
  usage: [[...PARAMETERS, 'allocate'], REPORT_DIMENSIONS, INTERVALS],
  adoption: [PARAMETERS, ADOPTION_DIMENSIONS, ADOPTION_INTERVALS],
}

/** Parses a query string; the gateway and the report thread get the same result. */
export const readQuestion = (kind: ReportKind, query: string, nowMs: number): ReadReport =>
  readReport(query, nowMs, ...ACCEPTED[kind])
