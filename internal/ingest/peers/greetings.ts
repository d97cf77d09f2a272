import type { NatsConnection, Subscription } from '@nats-io/transport-node'
import { GREETING_ANSWER_MS, greetingsSubject } from '../../../streams/gateways.js'
import type { Logger } from '../../telemetry/log.js'

/**
 * A gateway that has joined the others greets each of them, and admits nothing before they have answered. One answers
 * once it asks the new gateway for what that one owns, and the log holds all events that it had found new before: the
 * new gateway then finds them in the log, and an event that comes again through it follows the first one.
 */

/**
 * Answers the greetings of new gateways, until the subscription ends.
 *
 * @param untilMember resolves when this gateway sees that one among the members
 * @param flushed resolves when the log holds the events that are under way now
 */
export function answerGreetings(
  connection: NatsConnection,
  self: string,
  untilMember: (name: string) => Promise<void>,
  flushed: () => Promise<void>,
  log: Pick<Logger, 'error'>,
): Subscription {
  return connection.subscribe(greetingsSubject(self), {
    callback(error, message) {
      const answer = async (): Promise<void> => {
        if (error !== null) throw error
        await untilMember(message.string())
        await flushed()
        message.respond()
      }
      answer().catch((cause: unknown) => log.error({ err: cause }, 'could not answer a gateway that has joined'))
    },
  })
}

/** Greets the other gateways. Waits `GREETING_ANSWER_MS` at most: a stopped or dead one does not answer. */
export async function greet(connection: NatsConnection, self: string, others: readonly string[]): Promise<void> {
  const greetings = others.map((other) =>
    connection.request(greetingsSubject(other), self, { timeout: GREETING_ANSWER_MS }),
  )
  await Promise.allSettled(greetings)
}
