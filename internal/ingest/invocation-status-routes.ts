import { brokerProblem } from '../broker/errors.js'
import type { Exchange } from '../http/exchange.js'
import type { Route } from '../http/route.js'
import { formatId, hasTagOf, parseId, type TenantIds } from '../ids/ids.js'
import { problem } from '../problems/problem-catalogue.js'
import { storeProblem } from '../store/failures.js'
import { GET_INVOCATION } from './invocation-contract.js'

export interface InvocationStatusDeps {
  readonly idsOf: (tenantId: string) => TenantIds
  /** The hex id of the record that counts the event's call: its own, or one that another source of the call has. */
  readonly recordOf: (tenantId: string, idHex: string) => Promise<string | undefined>
  readonly findQuarantined: (
    tenantId: string,
    idHex: string,
  ) => Promise<{ readonly stage: string; readonly reason: string } | undefined>
  /** Whether the event was admitted, as far as this gateway knows. */
  readonly isAdmitted: (id: Uint8Array) => boolean
  /** Whether it was admitted, as far as the other gateways know. */
  readonly isAdmittedElsewhere: (id: Uint8Array) => Promise<boolean | undefined>
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
  const idHex = Buffer.from(id).toString('hex')
  const invocation = { invocation_id: formatId('inv', id) }
  try {
    const record = await deps.recordOf(tenantId, idHex)
    if (record !== undefined) {
      const attributionId = formatId('attr', Buffer.from(record, 'hex'))
      return exchange.replyJson('200 OK', { ...invocation, status: 'attributed', attribution_id: attributionId })
    }
    const quarantined = await deps.findQuarantined(tenantId, idHex)
    if (quarantined !== undefined) {
      const { stage, reason } = quarantined
      return exchange.replyJson('200 OK', { ...invocation, status: 'quarantined', stage, reason })
    }
  } catch (cause) {
    const known = storeProblem(cause) ?? brokerProblem(cause)
    if (known === undefined) throw cause
    return exchange.replyProblem(known)
  }
  const isAdmitted = deps.isAdmitted(id) || (await deps.isAdmittedElsewhere(id))
  if (isAdmitted === true) return exchange.replyJson('200 OK', { ...invocation, status: 'queued' })
  exchange.replyProblem(isAdmitted === undefined ? UNDECIDED : UNKNOWN)
}

const UNKNOWN = problem('NOT_FOUND', 'No such invocation was admitted in the last seven days.')
const UNDECIDED = problem(
  'SERVICE_UNAVAILABLE',
  'Another gateway may have admitted it, but it does not answer at present.',
  {
    retryAfterSeconds: 1,
  },
)
