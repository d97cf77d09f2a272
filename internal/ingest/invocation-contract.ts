import { z } from 'zod'
import { json, type Operation } from '../http/contract/operation.js'
import { errorCode, fieldError } from '../http/contract/problem-schema.js'
import { invocationEvent } from '../invocations/invocation-schema.js'
import { BULK_BYTES_MAX, BULK_EVENTS_MAX, EVENT_BYTES_MAX } from '../invocations/limits.js'
import { exampleId, idInPath, idOf } from '../text/answer-fields.js'
import { CODINGS } from './bodies/content-coding.js'

/** Contract of the ingestion routes. */

const EVENT_ID = '0f8fad5b-d9cb-469f-a165-70867728950e'

const EXAMPLE_EVENT = {
  event_id: EVENT_ID,
  ingestion_layer: 'gateway',
  ingestion_timestamp: '2026-11-21T09:30:00Z',
  provider: 'openai',
  requested_model: 'gpt-4o',
  input_tokens: 1200,
  output_tokens: 250,
  attributed_service: 'support-chat',
}

const acceptedEvent = z
  .object({
    invocation_id: idOf('inv'),
    event_id: z.string(),
    status: z.literal('queued'),
    duplicate: z.boolean().meta({
      description:
        'Whether the event had been accepted before, under any key. Its record may then be there: ' +
        '`GET /api/v1/invocations/{invocation_id}` says so.',
    }),
  })
  .meta({ id: 'AcceptedEvent' })

const eventResult = z
  .object({
    index: z.int().min(0).meta({ description: 'Zero-based position of the event in the request.' }),
    event_id: z.string().optional(),
    invocation_id: idOf('inv').optional(),
    duplicate: z.boolean().optional(),
    error_code: errorCode.optional().meta({ description: 'Why it was rejected.' }),
    errors: z.array(fieldError).optional().meta({
      description: 'The first errors; omitted once the errors of earlier events exceed one mebibyte.',
    }),
  })
  .meta({ id: 'EventResult' })

const bulkResult = z
  .object({ accepted: z.int().min(0), rejected: z.int().min(0), results: z.array(eventResult) })
  .meta({ id: 'BulkResult', description: 'One result per event, in the order of the request.' })

/** With a name: oapi-codegen sends a choice that has none as an empty object. */
export const oneOrMore = (event: z.ZodType, id: string) =>
  z.union([event, z.array(event).min(1).max(BULK_EVENTS_MAX)]).meta({ id })

export const INGEST_INVOCATIONS: Operation = {
  id: 'ingestInvocations',
  tag: 'Ingestion',
  summary: 'Ingest one invocation event, or many',
  description:
    `One event as a JSON object of at most ${EVENT_BYTES_MAX} bytes, or up to ${BULK_EVENTS_MAX} as a JSON ` +
    'array, as NDJSON or one object after the other, also under the media type `application/json`: ' +
    `${BULK_BYTES_MAX} bytes at most, packed or not (\`Content-Encoding\`: ${CODINGS}). A 202 means that every ` +
    'event which was not rejected is stored; an event that is rejected costs no other. An event_id is accepted once in seven ' +
    'days. Unknown fields are ignored; fields under which prompts or completions travel are refused. Of many events, ' +
    'those are read as well that a shipper of logs has written: with values in other forms, and without an event_id, ' +
    'which then follows from the line.',
  withoutKey: 'Required with a single event; optional with an array, NDJSON or several objects.',
  body: {
    contents: {
      'application/json': {
        schema: oneOrMore(invocationEvent, 'InvocationEvents'),
        example: EXAMPLE_EVENT,
      },
      ...Object.fromEntries(
        ['application/x-ndjson', 'application/ndjson', 'application/jsonl'].map((mediaType) => [
          mediaType,
          {
            schema: z.string().meta({ description: 'One event per line.' }),
            example: `${JSON.stringify(EXAMPLE_EVENT)}\n`,
          },
        ]),
      ),
    },
  },
  replies: {
    202: {
      description: 'Stored. One event is answered with its ids, many with a result each.',
      contents: json(z.union([acceptedEvent, bulkResult]), {
        invocation_id: exampleId('inv'),
        event_id: EVENT_ID,
        status: 'queued',
        duplicate: false,
      }),
    },
  },
}

const fate = z
  .object({
    invocation_id: idOf('inv'),
    status: z.enum(['queued', 'attributed', 'quarantined']),
    attribution_id: idOf('attr').optional().meta({
      description:
        'With `attributed`: the record that counts the call. Of a call that two sources showed, that of one of them.',
    }),
    stage: z.string().optional().meta({ description: 'With `quarantined`: which stage could not work it off.' }),
    reason: z.string().optional().meta({ description: 'With `quarantined`.' }),
  })
  .meta({ id: 'InvocationFate' })

export const GET_INVOCATION: Operation = {
  id: 'getInvocation',
  tag: 'Ingestion',
  summary: 'Status of an accepted event',
  parameters: { id: idInPath('inv', 'invocation_id of the answer to the event.') },
  replies: {
    200: {
      description: 'Queued, attributed, or set aside with the reason.',
      contents: json(fate, {
        invocation_id: exampleId('inv'),
        status: 'attributed',
        attribution_id: exampleId('attr'),
      }),
    },
  },
}
