import type { Verdict } from '../records/row.js'

/** The form of one message of CHANGES: what somebody decided of a record, as JSON. */

export type Decision =
  | { readonly kind: 'override'; readonly service: string; readonly owner: string; readonly reason: string }
  | { readonly kind: 'undo_override' }
  | { readonly kind: 'dispute'; readonly reason: string }
  | { readonly kind: 'undo_dispute' }

/** What stage A has learned of an event after it was decided: not a person's decision, and it yields to one. */
export interface Correcting {
  readonly kind: 'correction'
  readonly verdict: Verdict
}

/**
 * Comes behind a decision, with its id, when whoever asked for it was answered before it took effect: if it then cannot,
 * that is for the audit log to say.
 */
export interface Promised {
  readonly kind: 'promised'
  readonly decided: Decision['kind']
  /** Of the request. */
  readonly traceId: string
}

/** A decision, of what, and whose. */
export interface Change {
  /** `chg_...` of a request, the same at its every attempt; of a correction what it was learned from. */
  readonly id: string
  readonly tenantId: string
  /** Hex of the record's 16 bytes. */
  readonly recordId: string
  /** Id of the credential; of a correction the stage. */
  readonly actor: string
  readonly decision: Decision | Correcting | Promised
}

/** What somebody has asked for. */
export interface AskedChange extends Change {
  readonly decision: Decision
}

export const encodeChange = (change: Change): Uint8Array => Buffer.from(JSON.stringify(change))

/** @throws Error when the bytes have not that form; the message is then poison */
export function decodeChange(data: Uint8Array): Change {
  const change = JSON.parse(Buffer.from(data.buffer, data.byteOffset, data.length).toString('utf8')) as Change
  if (!isWhole(change)) throw new Error('this has not the form of a change')
  const { id, tenantId, recordId, actor, decision } = change
  return { id, tenantId, recordId, actor, decision }
}

function isWhole({ id, tenantId, recordId, actor, decision }: Change): boolean {
  return [id, tenantId, actor].every(isText) && /^[0-9a-f]{32}$/.test(recordId) && isWholeDecision(decision)
}

function isWholeDecision(decision: Change['decision']): boolean {
  switch (decision.kind) {
    case 'override':
      return [decision.service, decision.owner, decision.reason].every(isText)
    case 'dispute':
      return isText(decision.reason)
    case 'undo_override':
    case 'undo_dispute':
      return true
    case 'correction':
      return [decision.verdict?.service, decision.verdict?.owner, decision.verdict?.evidenceBasis].every(isText)
    case 'promised':
      return DECIDED.has(decision.decided) && isText(decision.traceId)
    default:
      return false // a newer process has sent it
  }
}

const DECIDED: ReadonlySet<string> = new Set<Decision['kind']>(['override', 'undo_override', 'dispute', 'undo_dispute'])

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
