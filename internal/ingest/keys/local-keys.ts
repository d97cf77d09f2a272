import type { KeyHash } from '../../ids/key-hash.js'
import type { AdmissionIndex, Verdict } from '../../repeats/admission-index.js'
import type { Fingerprint } from '../../repeats/key-table.js'
import { type InFlight, type Ticket, WAITS } from './in-flight.js'
import type { Confirmation } from './key-confirmation.js'

/** A gateway's knowledge of the keys it owns, for answering its peers. */
export interface LocalKeys {
  /** 'maybe' is also returned for an unknown key while its slot is being loaded. */
  lookup(key: KeyHash, fingerprint: Fingerprint): Verdict
  /** Of the key of the last `lookup`, if that returned 'same' or 'conflict'. */
  readonly flags: number
  /**
   * Claims the key for a peer's request.
   *
   * @param onTurn called once and later if `WAITS` is returned: with a ticket when it is the claim's turn, with
   *   undefined when the key must be looked up again
   * @returns a ticket, `WAITS` or `FULL`, as of `InFlight`
   */
  begin(key: KeyHash, fingerprint: Fingerprint, onTurn: (ticket: Ticket | undefined) => void): Ticket
  /** Ends a claim of `begin`. An admitted key is already in the index. */
  settle(ticket: Ticket, isAdmitted: boolean): void
  admit(key: KeyHash, fingerprint: Fingerprint, flags: number): void
  /** Looks up in the read model a key that the index cannot decide. After 'same' the index knows the key. */
  confirm(key: KeyHash, fingerprint: Fingerprint): Promise<Confirmation>
}

export interface LocalKeysDeps<Answer> {
  readonly index: AdmissionIndex
  /** The table in which this gateway's own requests for its keys wait for their turn. */
  readonly inFlight: InFlight<Answer>
  /** Whether this gateway owns the key and has loaded what was admitted of its slot. */
  readonly isLoaded: (key: KeyHash) => boolean
  readonly confirm: LocalKeys['confirm']
  /**
   * The outcome for own requests that waited for a peer's request, whose answer is not known here. A request that gets
   * it, as a replay or as a refusal, starts over with the index lookup: 'same' with the peer's flags if the peer's
   * request was admitted, else it proceeds in its turn.
   */
  readonly elsewhere: Answer
  readonly clock: () => number
}

/** Combines the gateway's own index and its table of requests in flight. */
export function localKeys<Answer>(deps: LocalKeysDeps<Answer>): LocalKeys {
  const { index, inFlight, isLoaded, confirm, elsewhere, clock } = deps
  return {
    lookup(key, fingerprint) {
      const verdict = index.lookup(key, fingerprint, clock())
      return verdict === 'new' && !isLoaded(key) ? 'maybe' : verdict
    },
    get flags() {
      return index.flags
    },
    begin(key, fingerprint, onTurn) {
      return inFlight.begin(key, fingerprint, {
        onOutcome: (outcome) => onTurn(outcome.kind === 'proceed' ? outcome.ticket : undefined),
        // The peer notifies its own request.
        overdue: () => undefined,
      })
    },
    settle: (ticket, isAdmitted) => inFlight.settle(ticket, isAdmitted, elsewhere),
    admit(key, fingerprint, flags) {
      index.admit(key, fingerprint, flags, clock())
    },
    confirm,
  }
}

export const isTicket = (begun: Ticket): boolean => begun > WAITS
