import { brokerProblem } from '../broker/errors.js'
import type { Exchange } from '../http/exchange.js'
import type { Route } from '../http/route.js'
import { formatId, hasTagOf, parseId, type TenantIds } from '../ids/ids.js'
import { problem } from '../problems/problem-catalogue.js'
import { storeProblem } from '../store/failures.js'
import { GET_INVOCATION } from './invocation-contract.js'

export interface InvocationStatusDeps {
  readonly idsOf: (tenantId: string) => TenantIds
  /**
   * The hex id of the record that counts the event's call: its own, or one that another source of the call has.
   *
   * @param as of which instant: `renewed` includes all that is processed at the call
   */
  readonly recordOf: (tenantId: string, idHex: string, as: 'latest' | 'renewed') => Promise<string | undefined>
  readonly findQuarantined: (
    tenantId: string,
    idHex: string,
  ) => Promise<{ readonly stage: string; readonly reason: string } | undefined>
  /**
   * Whether the event was admitted and has no record yet; undefined while more waits than can be searched, or events
   * are in spools.
   */
  readonly isAdmitted: (id: Uint8Array) => Promise<boolean | undefined>
  /** Whether the event has a record, perhaps one that is not visible yet. */
  readonly isRecorded: (id: Uint8Array) => Promise<boolean>
}

/** `GET /api/v1/invocations/{invocation_id}`: status of an accepted event. */
export function invocationStatusRoutes(deps: InvocationStatusDeps): readonly Route[] {
  return [
    {
      method: 'get',
      path: '/api/v1/invocations/:id',
      operation: GET_INVOCATION,
      access: 'any',
      rateClass: 'read',
      handle: (exchange, { tenantId }) => answer(exchange, tenantId, deps),
    },
  ]
}

async function answer(exchange: Exchange, tenantId: string, deps: InvocationStatusDeps): Promise<void> {
  const id = parseId('inv', exchange.parameter)
  if (id === undefined) return exchange.replyProblem(UNKNOWN)
  if (!hasTagOf(id, deps.idsOf(tenantId))) {
    return exchange.replyProblem(problem('TENANT_MISMATCH', 'The invocation belongs to another tenant.'))
  }
  try {
    const status = await statusOf(tenantId, id, deps)
    if (status === undefined) exchange.replyProblem(UNKNOWN)
    else if (status === 'undecided') exchange.replyProblem(UNDECIDED)
    else exchange.replyJson('200 OK', { invocation_id: formatId('inv', id), ...status })
  } catch (cause) {
    const known = storeProblem(cause) ?? brokerProblem(cause)
    if (known === undefined) throw cause
    return exchange.replyProblem(known)
  }
}

/**
 * In the order in which an event passes: one that moves on meanwhile is found at the next step.
 *
 * @returns undefined for an event that was not admitted
 */
async function statusOf(
  tenantId: string,
  id: Uint8Array,
  deps: InvocationStatusDeps,
): Promise<object | 'undecided' | undefined> {
  const before = await processedStatus(tenantId, id, deps, 'latest')
  if (before !== undefined) return before
  const isAdmitted = await deps.isAdmitted(id)
  if (isAdmitted === true) return QUEUED
  const processed = await processedStatus(tenantId, id, deps, 'renewed')
  if (processed !== undefined) return processed
  if (isAdmitted === undefined) return 'undecided'
  // A batch that began before its own may still be open: reads then end before it.
  return (await deps.isRecorded(id)) ? QUEUED : undefined
}

/** The status of an event that the stages have processed. */
async function processedStatus(
  tenantId: string,
  id: Uint8Array,
  { recordOf, findQuarantined }: InvocationStatusDeps,
  as: 'latest' | 'renewed',
): Promise<object | undefined> {
  const idHex = Buffer.from(id).toString('hex')
  const record = await recordOf(tenantId, idHex, as)
  if (record !== undefined) {
    return { status: 'attributed', attribution_id: formatId('attr', Buffer.from(record, 'hex')) }
  }
  const quarantined = await findQuarantined(tenantId, idHex)
  return quarantined && { status: 'quarantined', stage: quarantined.stage, reason: quarantined.reason }
}

const QUEUED = { status: 'queued' }
const UNKNOWN = problem('NOT_FOUND', 'No such invocation was admitted in the last seven days.')
const UNDECIDED = problem(
  'SERVICE_UNAVAILABLE',
  'It may wait where it cannot be searched for at present: in a long backlog, or on the disk of a gateway.',
  { retryAfterSeconds: 1 },
)
