/**
 * Outcomes of the events of a bulk request, two bits each: from them and the same bytes the same answer can be
 * recomputed. An event is rejected for what it says, or forbidden to the credential that brought it.
 */
export const OUTCOMES = ['accepted', 'duplicate', 'rejected', 'forbidden'] as const
export type BulkOutcome = (typeof OUTCOMES)[number]

/** The record kept with the request's key. */
export interface BulkRecord {
  /** Hex of the body's fingerprint. */
  readonly fingerprint: string
  /** The clock against which times were checked, milliseconds since the epoch. */
  readonly receivedAtMs: number
  /** Base64, two bits an event, lowest first. */
  readonly outcomes: string
}

export function encodeOutcomes(outcomes: readonly BulkOutcome[]): string {
  const bytes = new Uint8Array(Math.ceil(outcomes.length / 4))
  for (const [i, outcome] of outcomes.entries()) {
    bytes[i >> 2] = (bytes[i >> 2] ?? 0) | (OUTCOMES.indexOf(outcome) << ((i & 3) * 2))
  }
  return Buffer.from(bytes).toString('base64')
}

/** @param count events of the request */
export function decodeOutcomes(text: string, count: number): BulkOutcome[] {
  const bytes = Buffer.from(text, 'base64')
  return Array.from({ length: count }, (_, i) => OUTCOMES[((bytes[i >> 2] ?? 0) >> ((i & 3) * 2)) & 3] as BulkOutcome)
}
