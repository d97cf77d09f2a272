import { AUDIT_ACTIONS, AUDIT_OUTCOMES } from '../auth/audit-entry.js'
import type { Caller } from '../auth/authenticate.js'
import type { Exchange } from '../http/exchange.js'
import { pageOf, readPage } from '../http/resource/collection.js'
import { answerFromStore } from '../http/resource/from-store.js'
import type { CursorCodec } from '../http/resource/pages.js'
import type { Route } from '../http/route.js'
import { type Problem, problem } from '../problems/problem-catalogue.js'
import type { AuditQuestion } from '../store/queries/audit-log.js'
import type { AuditLogRow } from '../store/tables/audit-log.js'
import { RANGE_NAMES, readRange } from '../text/time-range.js'
import { LIST_AUDIT_LOG } from './audit-contract.js'
import { toRecord } from './audit-rows.js'
import type { AuditRecord } from './chain.js'

export interface AuditRoutesDeps {
  readonly list: (question: AuditQuestion, signal: AbortSignal) => Promise<AuditLogRow[]>
  readonly cursors: CursorCodec
  readonly clock: () => number
}

const PATH = '/api/v1/audit-log'
const FILTERS = ['action', 'actor', 'outcome', ...RANGE_NAMES] as const
type Filters = { readonly [K in (typeof FILTERS)[number]]?: string }

/** `GET /api/v1/audit-log`: the audit records of the caller's tenant, newest first. */
export function auditRoutes(deps: AuditRoutesDeps): readonly Route[] {
  return [
    {
      method: 'get',
      path: PATH,
      operation: LIST_AUDIT_LOG,
      access: 'admin:config',
      rateClass: 'control',
      handle: (exchange, caller) => list(exchange, caller, deps),
    },
  ]
}

async function list(exchange: Exchange, caller: Caller, deps: AuditRoutesDeps): Promise<void> {
  const read = readPage(exchange, caller, PATH, deps, FILTERS)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const { request } = read
  const filters = readFilters(request.filters)
  if ('code' in filters) return exchange.replyProblem(filters)

  const [last] = request.after ?? []
  await answerFromStore(exchange, async (signal) => {
    const rows = await deps.list(
      {
        tenantId: caller.tenantId,
        before: last === undefined ? undefined : Number(last),
        ...filters,
        // One more than the page shows whether there is another page.
        limit: request.limit + 1,
      },
      signal,
    )
    exchange.replyJson(
      '200 OK',
      pageOf(request, rows, ({ sequence }) => [String(sequence)], shownAs),
    )
  })
}

/** An altered row is shown without its unreadable part; `audit verify` reports the alteration. */
const shownAs = (row: AuditLogRow): AuditRecord => {
  const record = toRecord(row) ?? toRecord({ ...row, changes: 'null' })
  if (record === undefined) throw new Error('unreadable audit log row')
  return record
}

type ReadFilters = Pick<AuditQuestion, 'action' | 'actor' | 'outcome' | 'fromMs' | 'toMs'>

function readFilters({ action, actor, outcome, ...stated }: Filters): ReadFilters | Problem {
  if (action !== undefined && !AUDIT_ACTIONS.some((known) => known === action)) {
    return refused('action must be one of the audited actions.')
  }
  if (outcome !== undefined && !AUDIT_OUTCOMES.some((known) => known === outcome)) {
    return refused(`outcome must be one of ${AUDIT_OUTCOMES.join(', ')}.`)
  }
  if (actor !== undefined && !ACTOR.test(actor)) return refused('actor must be the id of a credential, or cli.')
  const range = readRange(stated)
  return 'code' in range ? range : { action, actor, outcome, ...range }
}

const ACTOR = /^(?:cli|[a-z]{3}_[0-9a-z]{1,64})$/

const refused = (detail: string): Problem => problem('INVALID_FILTER', detail)
