import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import { ADMITTED_ANSWER_MS, admittedSubject } from '../../../streams/gateways.js'
import { isNoResponders } from '../../broker/errors.js'
import type { Logger } from '../../telemetry/log.js'

/**
 * Until its record is written, only the gateway that admitted an event knows it: another gateway that gets a request
 * for it queries its peers. Ids are not exchanged in advance, since few are ever requested.
 */

const ADMITTED = Uint8Array.of(1)
const UNKNOWN = Uint8Array.of(0)

/**
 * Answers the other gateways, until the subscription ends.
 *
 * @param isAdmitted undefined while that is not known: the request then gets no answer, which means the same
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
        log.error({ err: cause }, 'could not answer a peer gateway that asked for an event')
      }
    },
  })
}

/**
 * Whether one of these gateways has admitted the event; undefined when none confirms it and a live one does not
 * answer. The admissions of a departed gateway are in the log, and another gateway has loaded them.
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
