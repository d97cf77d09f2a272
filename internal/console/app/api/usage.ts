import type { ReportScope } from 'attribution-service/sdk/api'
import type { UsageAnswer, UsageRow } from '../../figures/usage.js'
import { ask } from './ask.js'

/** A question to `GET /v1/reports/usage`, in its own parameters; filters may repeat. */
export type UsageQuestion = Readonly<Record<string, string | readonly string[]>>

export interface UsageReport {
  readonly rows: readonly UsageRow[]
  readonly scope: ReportScope
  readonly suppressed: UsageAnswer['suppressed']
  /** Whether rows are left out, since there are more pages than were asked for. */
  readonly isCut: boolean
  /** Where they go on. */
  readonly next: string | undefined
}

export const ROWS_A_PAGE = 200

/**
 * @param pagesMax pages of `ROWS_A_PAGE` that are read at most
 * @param after the `next` of a report that is continued
 */
export async function readUsage(
  question: UsageQuestion,
  signal: AbortSignal,
  pagesMax = 1,
  after?: string,
): Promise<UsageReport> {
  const rows: UsageRow[] = []
  let cursor = after
  for (let pages = 1; ; pages++) {
    const query = new URLSearchParams({ limit: String(ROWS_A_PAGE), ...(cursor !== undefined && { cursor }) })
    for (const [name, values] of Object.entries(question))
      for (const value of [values].flat()) query.append(name, value)
    const answer = await ask<UsageAnswer>(`/v1/reports/usage?${query}`, { signal })
    rows.push(...answer.data)
    cursor = answer.page.next_cursor
    if (cursor === undefined || pages === pagesMax) {
      const isCut = cursor !== undefined
      return { rows, scope: answer.report, suppressed: answer.suppressed, isCut, next: cursor }
    }
  }
}
