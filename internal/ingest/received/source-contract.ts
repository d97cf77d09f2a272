import { z } from 'zod'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { count, exampleId, idOf, timeText } from '../../text/answer-fields.js'

/** The API contract of the sources of a tenant's calls. */

export const PATH = '/api/v1/sources'

const reasonCount = z
  .object({
    reason: z.string().meta({ description: 'A code. More may come.' }),
    service: z.string().nullable().meta({ description: 'Whose telemetry it was, where that is known.' }),
    count: z.int().min(1),
    last_at: timeText(),
  })
  .meta({ id: 'SourceReason' })

const reasons = (description: string) =>
  z.object({ count: count(), reasons: z.array(reasonCount) }).meta({ description })

const source = z
  .object({
    credential: z
      .string()
      .nullable()
      .meta({ description: 'Id of the credential it sends with; null for people’s own sign-ins.' }),
    credential_name: z.string().nullable().meta({ description: 'Null where it has none, or is no longer known.' }),
    intake: z.string().meta({ description: '`otlp`, `litellm`, ...; `api` for `/api/v1/invocations`.' }),
    sender: z
      .string()
      .nullable()
      .meta({
        description:
          'The instrumentation scope of telemetry, or the product that a User-Agent names. `other`: beyond the ' +
          'senders that are counted separately.',
      }),
    versions: z.array(z.string()),
    services: z.array(z.string()).meta({ description: 'Services whose telemetry it sends.' }),
    last_received_at: timeText().nullable(),
    last_call_at: timeText().nullable().meta({ description: 'When a new call arrived last.' }),
    last_record: z
      .object({ id: idOf('attr'), received_at: timeText() })
      .nullable()
      .meta({ description: 'The record of the call that was received last, whenever it was last attributed.' }),
    received: count().meta({
      description: 'All that arrived: `calls`, `merged`, `passed_over` and `rejected`, and what is on its way.',
    }),
    calls: count().meta({ description: 'Records that came of it, as they are now.' }),
    merged: count().meta({
      description: 'Repeats of calls that were received before, and calls that the record of another source counts.',
    }),
    passed_over: reasons('What is no call of a model, or no call of its own.'),
    rejected: reasons('Calls that cannot become records.'),
    refused_requests: reasons('Requests that were refused whole: what they held is not known, nor in `received`.'),
    unpriced: count().meta({ description: 'Calls without a price.' }),
    without_service: count().meta({ description: 'Calls for which nothing names a service.' }),
    perhaps_twice: count().meta({ description: 'Calls that another record may count, too.' }),
    lacks: z
      .array(
        z.object({
          what: z.string().meta({ description: '`provider`, `service`, `usage` or `cache_counts`. More may come.' }),
          count: z.int().min(1),
        }),
      )
      .meta({ description: 'What new calls did not state.' }),
    field_names: z.array(z.string()).meta({
      description: 'Names under which it states usage, models or providers, and which are not read. Never values.',
    }),
    advice: z
      .array(z.object({ code: z.string(), text: z.string() }).meta({ id: 'SourceAdvice' }))
      .meta({ description: 'What to change at the sender.' }),
  })
  .meta({ id: 'Source' })
export type ShownSource = z.infer<typeof source>

const LAST_AT = '2026-11-21T09:30:00.000Z'
const EXAMPLE: ShownSource = {
  credential: 'key_7v3k9q2m4x8n5c1r6t0w3y9zb0',
  credential_name: 'search-production',
  intake: 'otlp',
  sender: '@traceloop/instrumentation-openai',
  versions: ['0.27.0'],
  services: ['search'],
  last_received_at: LAST_AT,
  last_call_at: LAST_AT,
  last_record: { id: exampleId('attr'), received_at: LAST_AT },
  received: 120,
  calls: 92,
  merged: 8,
  passed_over: { count: 20, reasons: [{ reason: 'chain', service: 'search', count: 20, last_at: LAST_AT }] },
  rejected: { count: 0, reasons: [] },
  refused_requests: { count: 0, reasons: [] },
  unpriced: 0,
  without_service: 0,
  perhaps_twice: 0,
  lacks: [{ what: 'cache_counts', count: 92 }],
  field_names: ['llm.usage.total_tokens'],
  advice: [{ code: 'no_cache_counts', text: 'It never states how much of the input came from the provider’s cache.' }],
}

export const LIST_SOURCES: Operation = {
  id: 'listSourcesOfCalls',
  tag: 'Attribution',
  summary: 'List what sends calls, and what became of all that it sent',
  description:
    'Credentials and senders, which are machines and are shown whatever their number of people. Of what arrived in ' +
    'the last 24 hours, counted by whole hours: `received` is `calls`, `merged`, `passed_over` and `rejected` ' +
    'together, once all of it is recorded. Counts of other gateways are some seconds old.',
  query: PAGE_PARAMETERS,
  replies: {
    200: {
      description: 'A page of sources.',
      contents: json(pageOf(source).extend({ since: timeText() }), {
        data: [EXAMPLE],
        page: { limit: 50, has_more: false },
        since: '2026-11-20T09:00:00.000Z',
      }),
    },
  },
}
