import { counter, whenRead } from '../../telemetry/metrics.js'

const EVENTS = counter('events_total', 'Events that callers sent, by what became of them at the gateway.', ['outcome'])

/** Every event passes here, so these are plain numbers that are copied when the metrics are read. */
export const EVENT_COUNTS = { accepted: 0, duplicate: 0, rejected: 0, unavailable: 0 }

whenRead(() => {
  EVENTS.reset()
  for (const [outcome, count] of Object.entries(EVENT_COUNTS)) EVENTS.inc({ outcome }, count)
})
