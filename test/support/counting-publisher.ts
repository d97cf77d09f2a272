import type { GroupPublisher } from '../../internal/broker/publisher.js'

/** The publisher of a broker that counts how often it waits for an acknowledgement. */
export function countingPublisher(broker: GroupPublisher): {
  readonly publisher: GroupPublisher
  readonly writes: () => number
} {
  let writes = 0
  const publisher: GroupPublisher = {
    publish(...message) {
      writes++
      return broker.publish(...message)
    },
    publishTogether(...group) {
      writes++
      return broker.publishTogether(...group)
    },
  }
  return { publisher, writes: () => writes }
}
