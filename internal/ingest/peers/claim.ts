import type { KeyHash } from '../../ids/key-hash.js'
import type { Fingerprint } from '../../repeats/key-table.js'

/** Identifies a claim when it is settled. */
export interface PeerTicket {
  readonly id: number
  readonly owner: string
  readonly key: KeyHash
  readonly fingerprint: Fingerprint
}

export type ClaimVerdict =
  /** No other request holds the key: proceed, then settle the ticket. */
  | { readonly kind: 'proceed'; readonly ticket: PeerTicket }
  /** The key was admitted with this body. */
  | { readonly kind: 'same'; readonly flags: number }
  /** The key was admitted with another body. */
  | { readonly kind: 'conflict' }
  /**
   * The caller decides, and settles the ticket.
   *
   * @param isInFlight the owner did answer, for 2 s, that another request holds the key: proceeding would probably
   *   admit the key twice, so the sender should retry instead
   */
  | { readonly kind: 'unanswered'; readonly ticket: PeerTicket; readonly isInFlight: boolean }

/** A claim that this gateway has sent, or will send, to the owner of its key. */
export interface Claim extends PeerTicket {
  /** The latest gateway that this claim was addressed to. */
  owner: string
  readonly onVerdict: (verdict: ClaimVerdict) => void
  waitingSinceMs: number | undefined
}
