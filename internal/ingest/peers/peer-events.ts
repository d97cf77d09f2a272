import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import { ADMITTED_ANSWER_MS, admittedSubject } from '../../../streams/gateways.js'
import { isNoResponders } from '../../broker/errors.js'
import type { Logger } from '../../telemetry/log.js'

/**
 * Until its record is there only the gateway that has admitted an event knows of it: whoever is asked for it elsewhere
 * asks the others. Ids are not exchanged ahead, since few are ever asked for.
 */

const ADMITTED = Uint8Array.of(1)
const UNKNOWN = Uint8Array.of(0)

/**
 * Answers the other gateways, until the subscription ends.
 *
 * @param isAdmitted undefined while that cannot be told: no answer is given then, and whoever asks knows as much
 */
export function answerForEvents(
  connection: NatsConnection,
  self: string,
  isAdmitted: (id: Uint8Array) => boolean | undefined,
  log: Pick<Logger, 'error'>,
): Subscription {
  return connection.subscribe(admittedSubject(self), {
    callback(error, message) {
      try {
        if (error !== null) throw error
        const told = isAdmitted(message.data)
        if (told !== undefined) message.respond(told ? ADMITTED : UNKNOWN)
      } catch (cause) {
        log.error({ err: cause }, 'another gateway that asked for an event could not be answered')
      }
    },
  })
}

/**
 * Whether one of these gateways has admitted the event; undefined when none says so and one of them does not answer, though it
 * is there. One that is gone has left what it had admitted to the log, and another has loaded it.
 */
export async function isAdmittedElsewhere(
  connection: NatsConnection,
  gateways: readonly string[],
  id: Uint8Array,
): Promise<boolean | undefined> {
  const answers = gateways.map((gateway) =>
    connection.request(admittedSubject(gateway), id, { timeout: ADMITTED_ANSWER_MS }).then(
      ({ data }) => data[0] === 1,
      (cause: unknown) => (isNoResponders(cause) ? false : undefined),
    ),
  )
  const told = await Promise.all(answers)
  if (told.includes(true)) return true
  return told.includes(undefined) ? undefined : false
}
