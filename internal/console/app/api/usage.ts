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
}

/** @param pagesMax pages of 200 rows that are read at most */
export async function readUsage(question: UsageQuestion, signal: AbortSignal, pagesMax = 1): Promise<UsageReport> {
  const rows: UsageRow[] = []
  let cursor: string | undefined
  for (let pages = 1; ; pages++) {
    const query = new URLSearchParams({ limit: '200', ...(cursor !== undefined && { cursor }) })
    for (const [name, values] of Object.entries(question))
      for (const value of [values].flat()) query.append(name, value)
    const answer = await ask<UsageAnswer>(`/v1/reports/usage?${query}`, { signal })
    rows.push(...answer.data)
    cursor = answer.page.next_cursor
    if (cursor === undefined || pages === pagesMax) {
      return { rows, scope: answer.report, suppressed: answer.suppressed, isCut: cursor !== undefined }
    }
  }
}
