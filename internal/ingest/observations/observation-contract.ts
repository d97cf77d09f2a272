import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { observationEvent } from './observation-schema.js'

const EVENT_ID = '0f8fad5b-d9cb-469f-a165-70867728950e'

/** Contract of the observations route. */
export const INGEST_OBSERVATION: Operation = {
  id: 'ingestObservation',
  tag: 'Ingestion',
  summary: 'Ingest an observation that is not a single model call',
  description: 'Such as the heartbeat of a capture layer. Coverage is computed from it; it never becomes a record.',
  body: {
    contents: json(observationEvent, {
      event_id: EVENT_ID,
      type: 'layer.heartbeat',
      occurred_at: '2026-11-21T09:30:00Z',
      source: 'gateway-eu-1',
      data: { version: '1.4.2', queue_depth: 0 },
    }),
  },
  replies: {
    202: {
      description: 'Stored.',
      contents: json(
        z
          .object({
            event_id: z.string(),
            status: z.literal('queued'),
            hint: z.string().optional().meta({
              description: 'Where to send it instead, if it looks like a model call: of this, no record comes.',
            }),
          })
          .meta({ id: 'AcceptedObservation' }),
        { event_id: EVENT_ID, status: 'queued' },
      ),
    },
  },
}
