import type { NatsConnection } from '@nats-io/transport-node'
import { claimsSubject } from '../../../streams/gateways.js'
import type { Logger } from '../../telemetry/log.js'
import type { KeyOwners } from './key-owners.js'
import { LEASE_MS } from './peer-claims.js'
import { encodeSettlements, type PeerId, type SettlementRecord } from './peer-messages.js'

export interface SettlementNoticesDeps {
  readonly connection: NatsConnection
  readonly sender: PeerId
  readonly owners: KeyOwners
  /** Sends a settlement to the key's current owner, if that is another gateway and needs it. */
  readonly redirect: (settlement: SettlementRecord) => void
  readonly clock: () => number
  readonly log: Logger
}

const CONFIRMATION_TIMEOUT_MS = 500
const ATTEMPTS_MIN = LEASE_MS / CONFIRMATION_TIMEOUT_MS
const RETRY_MS = 20

/**
 * Notifies owners how claims were settled, and repeats each notice until the owner confirms it or its lease has ended.
 * Core NATS may lose a message, and with it the owner's knowledge that a key was admitted.
 */
export class SettlementNotices {
  private readonly deps: SettlementNoticesDeps
  private isClosed = false

  constructor(deps: SettlementNoticesDeps) {
    this.deps = deps
  }

  async send(owner: string, settlements: readonly SettlementRecord[]): Promise<void> {
    const { connection, sender, owners, redirect, clock, log } = this.deps
    const message = encodeSettlements(sender, settlements)
    const startedAtMs = clock()
    for (let attempts = 1; ; attempts++) {
      try {
        await connection.request(claimsSubject(owner), message, { timeout: CONFIRMATION_TIMEOUT_MS })
        return
      } catch (cause) {
        if (this.isClosed) return
        if (!owners.peers.includes(owner)) {
          for (const settlement of settlements) redirect(settlement)
          return
        }
        // A process that stood still meanwhile has not tried for that long.
        if (clock() - startedAtMs >= LEASE_MS && attempts >= ATTEMPTS_MIN) {
          log.warn(
            { err: cause, owner, keys: settlements.length },
            'a peer gateway did not confirm settled keys it owns',
          )
          return
        }
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  /** Ends the retries; notices already sent are not repeated. */
  close(): void {
    this.isClosed = true
  }
}
