import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import { LATE_OF_ALL, lateSubject } from '../../../streams/gateways.js'
import type { Logger } from '../../telemetry/log.js'

/**
 * While a gateway does not reach the broker, it spools what it admits, and the owners of these keys and events do not hear of them.
 * When the log holds them it says so, and the others load what they have not heard. One that does not reach the broker at that
 * moment loads anyway, once its own heartbeats are stored again.
 */
export function announceLateEvents(connection: NatsConnection, self: string, waitedMs: number): void {
  connection.publish(lateSubject(self), String(Math.ceil(waitedMs)))
}

/** @param onLate with how long the first of them had waited; not called for this gateway's own */
export function followLateEvents(
  connection: NatsConnection,
  self: string,
  onLate: (waitedMs: number) => void,
  log: Pick<Logger, 'warn'>,
): Subscription {
  return connection.subscribe(LATE_OF_ALL, {
    callback(error, message) {
      if (error === null && message.subject === lateSubject(self)) return
      const waitedMs = error === null ? Number(message.string()) : Number.NaN
      if (waitedMs >= 0) onLate(waitedMs)
      else log.warn({ err: error ?? undefined }, 'ignored an undecodable message about late events of a peer gateway')
    },
  })
}
