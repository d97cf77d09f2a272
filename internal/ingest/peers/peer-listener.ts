import type { Msg, NatsConnection } from '@nats-io/transport-node'
import { claimsSubject } from '../../../streams/gateways.js'
import type { Logger } from '../../telemetry/log.js'
import { type EventAnswer, FIRST, STORED } from '../keys/event-answers.js'
import type { LocalKeys } from '../keys/local-keys.js'
import type { OwnedEvents } from '../keys/owned-events.js'
import { PeerClaims } from './peer-claims.js'
import { decodeMessage, type EventRecord, encodeAnswers } from './peer-messages.js'

export interface PeerListener {
  stopSweeping(): void
  /** Answers the messages already received, then unsubscribes. */
  drain(): Promise<void>
}

const SWEEP_MS = 250

/** Subscribes to what peers send for keys and events of this gateway, and answers it. */
export function answerPeers(
  connection: NatsConnection,
  self: string,
  local: LocalKeys,
  owned: OwnedEvents,
  clock: () => number,
  log: Logger,
): PeerListener {
  const claims = new PeerClaims(local, clock, log)
  const subscription = connection.subscribe(claimsSubject(self), {
    callback: (error, message) => {
      try {
        if (error !== null) throw error
        onMessage(message, claims, owned, log)
      } catch (cause) {
        // The sender gets no answer, and decides for itself.
        log.error({ err: cause }, "a peer gateway's claims could not be processed")
      }
    },
  })
  const sweeping = setInterval(() => claims.sweep(), SWEEP_MS)
  return { stopSweeping: () => clearInterval(sweeping), drain: () => subscription.drain() }
}

function onMessage(message: Msg, claims: PeerClaims, owned: OwnedEvents, log: Logger): void {
  const received = decodeMessage(message.data)
  switch (received?.kind) {
    case undefined:
      log.warn({ bytes: message.data.length }, 'ignored an undecodable message from a peer gateway')
      return
    case 'claims':
      message.respond(encodeAnswers(claims.answer(received.sender, received.records)))
      return
    case 'settlements':
      claims.settle(received.sender, received.records)
      message.respond()
      return
    case 'events':
      message.respond(Uint8Array.from(received.records, (record) => answerEvent(record, owned)))
  }
}

/** Only a claim has an answer that counts. */
function answerEvent({ key, partition, what }: EventRecord, owned: OwnedEvents): EventAnswer {
  switch (what) {
    case 'claim':
      return owned.claim(key, partition)
    case 'release':
      owned.release(key, partition)
      return FIRST
    case 'stored':
      owned.stored(key)
      return STORED
  }
}
