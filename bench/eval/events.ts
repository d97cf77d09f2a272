import { FIXED_EVENT_IDS, uuidV5 } from '../../internal/local/replay/trace.js'
import type { PlantedEvent } from './plant.js'

const WEEK_MS = 7 * 86_400_000
/** 5 January 1970 was a Monday. */
const MONDAY_MS = 4 * 86_400_000

/** The Monday at 00:00 UTC from which so long a time ends in the past, and within the last week. */
export const mondayBefore = (nowMs: number, lengthMs: number): number =>
  MONDAY_MS + Math.floor((nowMs - lengthMs - MONDAY_MS) / WEEK_MS) * WEEK_MS

export const personName = (person: number): string => `person-${person}@example.com`

/** The part of a planted event that a producer sends: service and caller only as the planting states. */
export function wireEvent(event: PlantedEvent, startMs: number): Record<string, unknown> {
  return {
    event_id: uuidV5(FIXED_EVENT_IDS, event.rowId),
    ingestion_layer: event.layer,
    ingestion_timestamp: new Date(startMs + event.atMs).toISOString(),
    provider: event.provider,
    requested_model: event.model,
    input_tokens: event.inputTokens,
    output_tokens: event.outputTokens,
    latency_ms: event.latencyMs,
    ...(event.isLabelled ? { attributed_service: event.service } : {}),
    ...(event.statesIdentity ? { attributed_identity: personName(event.person) } : {}),
  }
}
