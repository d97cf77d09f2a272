import type { Verdict } from '../records/row.js'

/** One message of the stream CHANGES, as JSON: a change of one record. */

export type Decision =
  | { readonly kind: 'override'; readonly service: string; readonly owner: string; readonly reason: string }
  | { readonly kind: 'undo_override' }
  | { readonly kind: 'dispute'; readonly reason: string }
  | { readonly kind: 'undo_dispute' }

/** Withdraws that the events of a record show one call: each of them gets its own record again. */
export interface UndoMerge {
  readonly kind: 'undo_merge'
}

/** What a person may ask for. */
export type RequestedDecision = Decision | UndoMerge

/** Records that share an id of a call, from at least two sources: those that show the same call become one. */
export interface Comparing {
  readonly kind: 'same_call'
  /** Hex ids. */
  readonly members: readonly string[]
  /** The times of their events lie within. */
  readonly fromMs: number
  readonly toMs: number
}

/** A later verdict of the trace stage on an event that was already attributed. A person's decision takes precedence. */
export interface Correcting {
  readonly kind: 'correction'
  readonly verdict: Verdict
}

/**
 * Follows a decision, with the same id, when its request was answered with 202 before it took effect: if the decision
 * is then refused, the refusal goes to the audit log.
 */
export interface Promised {
  readonly kind: 'promised'
  readonly decided: RequestedDecision['kind']
  /** Of the request. */
  readonly traceId: string
}

/** A change of one record, with its actor. */
export interface Change {
  /** `chg_...` for a request, the same for each attempt; for a correction, derived from the batch that caused it. */
  readonly id: string
  readonly tenantId: string
  /** Hex of the record's 16 bytes. */
  readonly recordId: string
  /** Id of the credential; for a correction, the stage; `same_call` for a comparison. */
  readonly actor: string
  readonly decision: RequestedDecision | Correcting | Comparing | Promised
}

/** A change requested through the API. */
export interface RequestedChange extends Change {
  readonly decision: RequestedDecision
}

export const encodeChange = (change: Change): Uint8Array => Buffer.from(JSON.stringify(change))

/** @throws Error when the bytes are not a valid change; the message is then poison */
export function decodeChange(data: Uint8Array): Change {
  const change = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8')) as Change
  if (!isWhole(change)) throw new Error('not a valid change')
  const { id, tenantId, recordId, actor, decision } = change
  return { id, tenantId, recordId, actor, decision }
}

function isWhole({ id, tenantId, recordId, actor, decision }: Change): boolean {
  return [id, tenantId, actor].every(isText) && RECORD_ID.test(recordId) && isWholeDecision(decision)
}

function isWholeDecision(decision: Change['decision']): boolean {
  switch (decision.kind) {
    case 'override':
      return [decision.service, decision.owner, decision.reason].every(isText)
    case 'dispute':
      return isText(decision.reason)
    case 'undo_override':
    case 'undo_dispute':
    case 'undo_merge':
      return true
    case 'same_call':
      return isWholeComparison(decision)
    case 'correction':
      return [decision.verdict?.service, decision.verdict?.owner, decision.verdict?.evidenceBasis].every(isText)
    case 'promised':
      return DECIDED.has(decision.decided) && isText(decision.traceId)
    default:
      return false // a newer process has sent it
  }
}

const isWholeComparison = ({ members, fromMs, toMs }: Comparing): boolean =>
  Array.isArray(members) &&
  members.every((member) => typeof member === 'string' && RECORD_ID.test(member)) &&
  [fromMs, toMs].every(Number.isSafeInteger)

const RECORD_ID = /^[0-9a-f]{32}$/
const DECIDED: ReadonlySet<string> = new Set<RequestedDecision['kind']>([
  'override',
  'undo_override',
  'dispute',
  'undo_dispute',
  'undo_merge',
])

/**
 * Whether a person asked for it, or it follows what a person asked for; all other changes are found in the calls
 * themselves.
 */
export const isRequested = ({ decision: { kind } }: Change): boolean => kind === 'promised' || DECIDED.has(kind)

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
