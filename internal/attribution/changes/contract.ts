import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { idInPath, idOf } from '../../text/answer-fields.js'
import { name } from '../../text/plain-text.js'
import { EXAMPLE_RECORD } from '../records/contract.js'
import { attributionRecord } from '../records/record.js'

/** What the routes of overrides and disputes take and promise. */

const reason = () =>
  name().meta({ description: 'Why, for those who look at the record later. At most 256 bytes; never content.' })

export const overrideBody = z.object({
  service: name().meta({ description: 'The service that the call is attributed to.' }),
  owner: name().meta({ description: 'The owner that the call is attributed to.' }),
  reason: reason(),
})
export type OverrideBody = z.infer<typeof overrideBody>

export const disputeBody = z.object({ reason: reason() })
export type DisputeBody = z.infer<typeof disputeBody>

export const EXAMPLE_OVERRIDE: OverrideBody = {
  service: 'support-chat',
  owner: 'team-support',
  reason: 'The proxy does not send its service.',
}
export const EXAMPLE_DISPUTE: DisputeBody = { reason: 'This is not our batch job.' }

const accepted = {
  description:
    'It is kept and takes effect in its turn, if the record is then in a state for it, but had none yet. The same request, ' +
    'sent again with its Idempotency-Key, gets the same answer; the record tells when it has, the audit log if it was refused.',
  contents: json(z.object({ id: idOf('attr'), status: z.literal('queued') })),
}

const changed = (description: string) => ({ description, contents: json(attributionRecord, EXAMPLE_RECORD) })

const parameters = { id: idInPath('attr', 'id of the record.') }
const problems = ['CONFLICT'] as const
const TAG = 'Attribution'

export const OVERRIDE_ATTRIBUTION: Operation = {
  id: 'overrideAttribution',
  tag: TAG,
  summary: 'Attribute a record by hand',
  description:
    'The record gets a new version: `output_state` overridden, `evidence_basis` manual_override, `confidence` 0.95. Earlier ' +
    'versions stay, in the history of its explanation. A record that is overridden is not overridden again (409): undo the ' +
    'first. A dispute stays open.',
  parameters,
  problems: [...problems],
  replies: { 200: changed('The record as it is now.'), 202: accepted },
}

export const UNDO_OVERRIDE: Operation = {
  id: 'undoAttributionOverride',
  tag: TAG,
  summary: 'Undo an override',
  description: 'The record is again what it was before. 409 when it is not overridden.',
  parameters,
  problems: [...problems],
  replies: { 204: { description: 'It is undone.' }, 202: accepted },
}

export const DISPUTE_ATTRIBUTION: Operation = {
  id: 'disputeAttribution',
  tag: TAG,
  summary: 'Dispute a record',
  description:
    'The record keeps its service and owner, and is not charged back while it is disputed: `output_state` and ' +
    '`export_eligibility` are disputed. 409 when it is disputed already.',
  parameters,
  problems: [...problems],
  replies: { 200: changed('The record as it is now.'), 202: accepted },
}

export const UNDO_DISPUTE: Operation = {
  id: 'undoAttributionDispute',
  tag: TAG,
  summary: 'Withdraw a dispute',
  description: 'The record is again what it was before. 409 when it is not disputed.',
  parameters,
  problems: [...problems],
  replies: { 204: { description: 'It is withdrawn.' }, 202: accepted },
}
