import type { KeyHash } from '../../ids/key-hash.js'
import type { AdmissionIndex, Verdict } from './admission-index.js'
import { type InFlight, type Ticket, WAITS } from './in-flight.js'
import type { Confirmation } from './key-confirmation.js'
import type { Fingerprint } from './key-table.js'

/** What a gateway knows of the keys it owns, as it is needed to answer for them to its peers. */
export interface LocalKeys {
  /** 'maybe' stands also for a key that is not known while the index is being loaded. */
  lookup(key: KeyHash, fingerprint: Fingerprint): Verdict
  /** Of the key of the last `lookup`, if that said 'same' or 'conflict'. */
  readonly flags: number
  /**
   * Takes the key for a peer's request.
   *
   * @param tell called once and later if the answer is `WAITS`: with a ticket when it is the claim's turn, with
   *   undefined when the key must be looked up again
   * @returns a ticket, `WAITS` or `FULL`, as of `InFlight`
   */
  begin(key: KeyHash, fingerprint: Fingerprint, tell: (ticket: Ticket | undefined) => void): Ticket
  /** Ends what `begin` has taken. The key is in the index already if it was admitted. */
  settle(ticket: Ticket, isAdmitted: boolean): void
  admit(key: KeyHash, fingerprint: Fingerprint, flags: number): void
  /** Asks what the index cannot say. When it says 'same' the index knows the key from then on. */
  confirm(key: KeyHash, fingerprint: Fingerprint): Promise<Confirmation>
}

export interface LocalKeysDeps<Answer> {
  readonly index: AdmissionIndex
  /** The one in which this gateway's own requests for the keys it owns wait for their turn. */
  readonly inFlight: InFlight<Answer>
  readonly isLoaded: () => boolean
  readonly confirm: LocalKeys['confirm']
  /**
   * What own requests that wait for a peer's are answered with when that one has been settled: nobody here has its
   * answer. A request that gets it, as a replay or as a refusal, starts over with the look into the index: 'same' with the
   * peer's flags if it was admitted, else it goes on in its turn.
   */
  readonly elsewhere: Answer
  readonly clock: () => number
}

/** The gateway's own index and table of what is under way. */
export function localKeys<Answer>(deps: LocalKeysDeps<Answer>): LocalKeys {
  const { index, inFlight, isLoaded, confirm, elsewhere, clock } = deps
  return {
    lookup(key, fingerprint) {
      const verdict = index.lookup(key, fingerprint, clock())
      return verdict === 'new' && !isLoaded() ? 'maybe' : verdict
    },
    get flags() {
      return index.flags
    },
    begin(key, fingerprint, tell) {
      return inFlight.begin(key, fingerprint, {
        onOutcome: (outcome) => tell(outcome.kind === 'proceed' ? outcome.ticket : undefined),
        // The peer's own request is told by the peer.
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
