import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { idInPath, idOf } from '../../text/answer-fields.js'
import { name } from '../../text/plain-text.js'
import { attributionRecord } from '../records/record.js'
import { EXAMPLE_RECORD } from '../records/record-contract.js'

/** The OpenAPI contract of overrides, disputes and the undoing of merges. */

const reason = () =>
  name().meta({
    description:
      'Reason, shown to anyone who inspects the record later. At most 256 bytes; must not contain prompt or ' +
      'response content.',
  })

export const overrideBody = z.strictObject({
  service: name().meta({ description: 'Service to attribute the call to.' }),
  owner: name().meta({ description: 'Owner to attribute the call to.' }),
  reason: reason(),
})
export type OverrideBody = z.infer<typeof overrideBody>

export const disputeBody = z.strictObject({ reason: reason() })
export type DisputeBody = z.infer<typeof disputeBody>

export const EXAMPLE_OVERRIDE: OverrideBody = {
  service: 'support-chat',
  owner: 'team-support',
  reason: 'The proxy does not send its service.',
}
export const EXAMPLE_DISPUTE: DisputeBody = { reason: 'This is not our batch job.' }

const accepted = {
  description:
    'The change is queued and has not taken effect yet. It is applied in order if the record is in a suitable state ' +
    'by then. A repeated request with the same Idempotency-Key gets the same response. The record shows when the ' +
    'change has taken effect; the audit log shows if it was refused.',
  contents: json(z.object({ id: idOf('attr'), status: z.literal('queued') })),
}

const changed = (description: string) => ({ description, contents: json(attributionRecord, EXAMPLE_RECORD) })

const parameters = { id: idInPath('attr', 'id of the record.') }
const problems = ['CONFLICT'] as const
const TAG = 'Attribution'

export const OVERRIDE_ATTRIBUTION: Operation = {
  id: 'overrideAttribution',
  tag: TAG,
  summary: 'Override an attribution',
  description:
    'Adds a new version of the record with `output_state` overridden, `evidence_basis` manual_override and ' +
    '`confidence` 0.95. Earlier versions remain in the history of its explanation. Returns 409 if the record is ' +
    'already overridden: undo that override first. An open dispute stays open.',
  parameters,
  problems: [...problems],
  replies: { 200: changed('The changed record.'), 202: accepted },
}

export const UNDO_OVERRIDE: Operation = {
  id: 'undoAttributionOverride',
  tag: TAG,
  summary: 'Undo an override',
  description: 'Restores the record as it was before the override. Returns 409 if the record is not overridden.',
  parameters,
  problems: [...problems],
  replies: { 204: { description: 'The override is undone.' }, 202: accepted },
}

export const DISPUTE_ATTRIBUTION: Operation = {
  id: 'disputeAttribution',
  tag: TAG,
  summary: 'Dispute a record',
  description:
    'The record keeps its service and owner but is excluded from chargeback while it is disputed: `output_state` and ' +
    '`export_eligibility` become disputed. Returns 409 if the record is already disputed.',
  parameters,
  problems: [...problems],
  replies: { 200: changed('The changed record.'), 202: accepted },
}

export const UNDO_DISPUTE: Operation = {
  id: 'undoAttributionDispute',
  tag: TAG,
  summary: 'Withdraw a dispute',
  description: 'Restores the record as it was before the dispute. Returns 409 if the record is not disputed.',
  parameters,
  problems: [...problems],
  replies: { 204: { description: 'The dispute is withdrawn.' }, 202: accepted },
}

export const UNDO_MERGE: Operation = {
  id: 'undoAttributionMerge',
  tag: TAG,
  summary: 'Take apart a call that was seen twice',
  description:
    'Every event that the record counts (`seen_by` of its explanation) gets its own record again, under its own id, ' +
    'and these records are never merged again. Returns 409 if the record counts no other event.',
  parameters,
  problems: [...problems],
  replies: { 204: { description: 'Each event has its own record.' }, 202: accepted },
}
