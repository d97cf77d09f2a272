import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { count, decimalText } from '../../text/answer-fields.js'
import { rangeParameters } from '../../text/time-range.js'
import { attributionRecord } from '../records/record.js'
import { EXAMPLE_RECORD } from '../records/record-contract.js'

/** The contract of the audit queue. */

export const PATH = '/v1/attribution/audit-queue'
/** By default: older calls say little of those to come. */
export const DAYS = 30

const queued = z
  .object({
    record: attributionRecord,
    calls: count().meta({
      description: 'Calls like this one that nobody could name, itself among them: what an override of it may name.',
    }),
    cost_usd: decimalText().meta({ description: 'Their cost.' }),
    audited_calls: count().meta({ description: 'Calls like this one that people have overridden already.' }),
  })
  .meta({ id: 'AuditCandidate' })

export const AUDIT_QUEUE: Operation = {
  id: 'listAuditQueue',
  tag: 'Attribution',
  summary: 'List the unresolved calls whose answer would teach most',
  description:
    `Calls of a period (default: the last ${DAYS} days) that are in a cost pool, one of each kind: calls of a kind agree in all that a ` +
    'model can tell them apart by (credential, caller, model, layer, tags, size). First the kind that costs most, ' +
    'divided by one more than the number of its calls that people have overridden. An override of such a call is an ' +
    'audit: the next training learns from it whose the others are.',
  query: { ...PAGE_PARAMETERS, ...rangeParameters('calls') },
  replies: {
    200: {
      description: 'A page of calls.',
      contents: json(pageOf(queued), {
        data: [{ record: EXAMPLE_RECORD, calls: 1_204, cost_usd: '96.12', audited_calls: 0 }],
        page: { limit: 50, has_more: false },
      }),
    },
  },
}
