import { counter, whenRead } from '../../telemetry/metrics.js'

const EVENTS = counter('events_total', 'Events that callers sent, by what became of them at the gateway.', ['outcome'])

const UNCONFIRMED = counter(
  'events_unconfirmed_total',
  'Events written to the log before the owner of their id had confirmed that they are new. An attributor checks them.',
)

/** Every event passes here, so these are plain numbers that are copied when the metrics are read. */
export const EVENT_COUNTS = { accepted: 0, duplicate: 0, rejected: 0, unavailable: 0 }
/** Those of them that were written unconfirmed. */
export const UNCONFIRMED_EVENTS = { count: 0 }

whenRead(() => {
  EVENTS.reset()
  for (const [outcome, count] of Object.entries(EVENT_COUNTS)) EVENTS.inc({ outcome }, count)
  UNCONFIRMED.reset()
  UNCONFIRMED.inc(UNCONFIRMED_EVENTS.count)
})
