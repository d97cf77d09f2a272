import { z } from 'zod'
import { instant, name, plainText, uuid } from '../../text/plain-text.js'

/**
 * The generic observability event of `POST /api/v1/events`: something other than a single model call, such as a
 * heartbeat of a capture layer. This is the one source: the validator and the OpenAPI description are generated from
 * it.
 */
export const observationEvent = z
  .object({
    event_id: uuid(),
    type: plainText(128),
    occurred_at: instant(),
    source: name(),
    trace_id: name().nullish(),
    data: z.record(z.string(), z.unknown()).meta({
      description:
        'At most 8 KiB as JSON, 5 levels deep and 64 keys in all. Keys have at most 64 bytes, texts at most 256; ' +
        'neither may hold control characters, and no key may be one under which prompts or completions travel.',
    }),
  })
  .meta({ id: 'ObservationEvent' })

/** A valid event in its wire form; its time is still text. */
export type ObservationEvent = z.infer<typeof observationEvent>
