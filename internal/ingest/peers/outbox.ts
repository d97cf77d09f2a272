import { CLAIMS_MAX } from '../../../streams/gateways.js'
import type { Claim } from './claim.js'
import type { EventNotice } from './event-claims.js'
import type { SettlementRecord } from './peer-messages.js'

/** Sends records to one peer; each call carries at most `CLAIMS_MAX` of them. */
export interface OutboxSenders {
  sendClaims(peer: string, claims: readonly Claim[]): void
  sendSettlements(peer: string, settlements: readonly SettlementRecord[]): void
  sendEvents(peer: string, events: readonly EventNotice[]): void
}

interface Batch {
  claims: Claim[]
  settlements: SettlementRecord[]
  events: EventNotice[]
}

/** Batches messages per peer: everything added during one event-loop iteration leaves at its end. */
export class Outbox {
  private readonly senders: OutboxSenders
  private batches = new Map<string, Batch>()
  private isFlushScheduled = false

  constructor(senders: OutboxSenders) {
    this.senders = senders
  }

  addClaim(peer: string, claim: Claim): void {
    this.batchFor(peer).claims.push(claim)
  }

  addSettlement(peer: string, settlement: SettlementRecord): void {
    this.batchFor(peer).settlements.push(settlement)
  }

  addEvent(peer: string, event: EventNotice): void {
    this.batchFor(peer).events.push(event)
  }

  /** Removes the notices of events that have not been sent yet. */
  removeEvents(): EventNotice[] {
    const events: EventNotice[] = []
    for (const batch of this.batches.values()) {
      events.push(...batch.events)
      batch.events = []
    }
    return events
  }

  /** Removes the claims that have not been sent yet. */
  removeClaims(): Claim[] {
    const claims: Claim[] = []
    for (const batch of this.batches.values()) {
      claims.push(...batch.claims)
      batch.claims = []
    }
    return claims
  }

  /** Settlements leave first: a claim in the same batch may be for a key that one of them releases. */
  flush(): void {
    this.isFlushScheduled = false
    const { batches, senders } = this
    this.batches = new Map()
    for (const [peer, { claims, settlements, events }] of batches) {
      for (const records of chunks(settlements)) senders.sendSettlements(peer, records)
      for (const records of chunks(claims)) senders.sendClaims(peer, records)
      for (const records of chunks(events)) senders.sendEvents(peer, records)
    }
  }

  private batchFor(peer: string): Batch {
    let batch = this.batches.get(peer)
    if (batch === undefined) {
      batch = { claims: [], settlements: [], events: [] }
      this.batches.set(peer, batch)
    }
    if (!this.isFlushScheduled) {
      this.isFlushScheduled = true
      setImmediate(() => this.flush())
    }
    return batch
  }
}

/** Splits records into the messages that carry them. */
function chunks<T>(records: readonly T[]): (readonly T[])[] {
  if (records.length === 0) return []
  if (records.length <= CLAIMS_MAX) return [records]
  return Array.from({ length: Math.ceil(records.length / CLAIMS_MAX) }, (_, i) =>
    records.slice(i * CLAIMS_MAX, (i + 1) * CLAIMS_MAX),
  )
}
