import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { Dimension } from '../../records/dimensions.js'
import { type BodyCopy, WholeCopy } from '../bodies/body-copy.js'
import type { Admitted, IntakeRequest, IntakeRoute, ReadBody, SourceEvent } from '../intake/intake-route.js'
import { senderByUserAgent } from '../received/sender.js'
import { Tally } from '../received/tally.js'
import { UNREAD_CALLS } from './inference-spans.js'
import { JsonRequestCopy } from './json-copy.js'
import { KeyList } from './key-list.js'
import { asRpcStatus, encodingOf, exported, type Rejectable } from './otlp-answers.js'
import { ProtobufCopy } from './protobuf-copy.js'
import { type Encoding, RECORDS_MAX, type ReadTelemetry, readTelemetry, TooManyRecords } from './read-request.js'
import type { Missing } from './span-events.js'
import type { Signal } from './telemetry.js'

export interface OtlpDeps {
  /** The tag keys that the tenant has declared; the same object until they change. */
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
}

/**
 * OTLP/HTTP: `/v1/traces`, `/v1/logs`, `/v1/metrics` and profiles, in protobuf and JSON (opentelemetry-proto,
 * `docs/specification.md`). Metrics are sums of what spans say one by one, profiles say nothing of calls: both are
 * answered, with a warning, and never become records.
 */
export function otlpRoutes({ dimensionsOf }: OtlpDeps): readonly IntakeRoute[] {
  const keysOf = keyLists()
  const calls =
    (signal: Signal): Read =>
    (body, encoding, request, copy) =>
      readCalls(body, encoding, request, signal, keysOf(dimensionsOf(request.caller.tenantId)), copy)
  const copies =
    (signal: Signal): NonNullable<IntakeRoute['copy']> =>
    ({ contentType, caller }, kept) => {
      const encoding = encodingOf(contentType)
      if (encoding === undefined) return OTHER_TYPE
      const keys = keysOf(dimensionsOf(caller.tenantId))
      return encoding === 'json' ? new JsonRequestCopy(kept, signal, keys) : new ProtobufCopy(kept, signal, keys)
    }
  return [
    { ...route('/v1/traces', calls('traces')), copy: copies('traces') },
    { ...route('/v1/logs', calls('logs')), copy: copies('logs') },
    unkept('/v1/metrics', 'metrics_request', 'rejectedDataPoints', 'Metrics are not kept: calls are read from spans.'),
    unkept('/v1development/profiles', 'profiles_request', 'rejectedProfiles', 'Profiles are not kept.'),
  ]
}

/** A signal of which nothing becomes a record: each request is counted as one thing that was passed over. */
const unkept = (path: string, reason: string, counted: Rejectable, message: string): IntakeRoute => ({
  ...route(path, (body, encoding, { header }) => {
    const isEmpty = body.length <= EMPTY_BYTES_MAX
    const sender = new Tally(senderByUserAgent(header('user-agent'), 'application'))
    sender.passOver(reason)
    return nothingOf(exported(encoding, counted, 0, isEmpty ? '' : message), [sender])
  }),
  copy: (_, kept) => new WholeCopy(kept, EMPTY_BYTES_MAX + 1),
})
/** Nothing, or `{}`: a test of the connection. */
const EMPTY_BYTES_MAX = 2

/** Attributes named like a declared tag key become tags, besides those that always are read. */
function keyLists(): (dimensions: readonly Dimension[]) => KeyList {
  const usual = new KeyList()
  const known = new WeakMap<readonly Dimension[], KeyList>()
  return (dimensions) => {
    if (dimensions.length === 0) return usual
    let keys = known.get(dimensions)
    if (keys === undefined) {
      keys = new KeyList(dimensions.map(({ key }) => key))
      known.set(dimensions, keys)
    }
    return keys
  }
}

type Read = (
  body: Buffer,
  encoding: Encoding,
  request: IntakeRequest,
  copy: BodyCopy | undefined,
) => ReadBody | Promise<ReadBody>

const route = (path: string, read: Read): IntakeRoute => ({
  methods: ['POST', 'PUT'],
  intake: 'otlp',
  path,
  writeProblem: asRpcStatus,
  read(body, request, copy) {
    const encoding = encodingOf(request.contentType)
    return encoding === undefined ? refused(OTHER_TYPE) : read(body, encoding, request, copy)
  },
})

const OTHER_TYPE = problem(
  'UNSUPPORTED_MEDIA_TYPE',
  'Send OTLP with Content-Type application/x-protobuf or application/json.',
)

const TOO_MANY = problem(
  'PAYLOAD_TOO_LARGE',
  `A body may hold at most ${RECORDS_MAX} spans or log records. Send smaller batches.`,
)

const refused = (what: Problem): ReadBody => ({ kind: 'refused', problem: what })
const nothingOf = (answer: ReturnType<typeof exported>, senders: readonly Tally[] = []): ReadBody => ({
  kind: 'events',
  events: [],
  senders,
  answer: () => answer,
})

const COUNTED: Readonly<Record<Signal, Rejectable>> = { traces: 'rejectedSpans', logs: 'rejectedLogRecords' }

async function readCalls(
  body: Buffer,
  encoding: Encoding,
  { caller }: IntakeRequest,
  signal: Signal,
  keys: KeyList,
  copy: BodyCopy | undefined,
): Promise<ReadBody> {
  // In protobuf a request without anything has no bytes; tests of a connection send none as JSON, too.
  const copied = copy instanceof ProtobufCopy ? copy.copied : copy instanceof JsonRequestCopy ? copy : undefined
  if (body.length === 0 && (copied?.malformed ?? 0) === 0) return nothingOf(exported(encoding, COUNTED[signal]))
  const { tenantId, isGateway = false, billing, trustedFields } = caller
  const context = { tenantId, isGateway, billing, trustedFields }
  const read = await readTelemetry(body, encoding, signal, keys, context, copied).catch((cause: unknown) => {
    if (cause instanceof TooManyRecords) return TOO_MANY
    throw cause
  })
  if (typeof read === 'string') return refused(problem('MALFORMED_REQUEST', read))
  if ('code' in read) return refused(read)
  const unread = unreadCalls(read.events, read.senders)
  return {
    kind: 'events',
    events: read.events,
    senders: read.senders,
    hasOwnSpans: read.hasOwnSpans,
    answer(admitted) {
      const { rejected, message } = reportOf(read, unread, admitted)
      return exported(encoding, COUNTED[signal], rejected, message)
    },
  }
}

const WHAT_IS_MISSING: Readonly<Record<Missing, string>> = {
  trace_or_span_id: 'no valid trace and span id',
  start_time: 'no start time',
  model: 'no model (gen_ai.request.model)',
}
/** Kinds of reasons that are named. */
const REASONS_MAX = 5

/** How many calls were refused, and why; never a value of theirs. */
function reportOf({ missing, malformed, withoutProvider }: ReadTelemetry, unread: number, { rejected }: Admitted) {
  const reasons = new Map<string, number>()
  const count = (reason: string, times: number): void => void reasons.set(reason, (reasons.get(reason) ?? 0) + times)
  for (const [what, times] of missing) count(WHAT_IS_MISSING[what], times)
  for (const { problem: refusal } of rejected) {
    const [first] = refusal.errors ?? []
    count(first === undefined ? refusal.detail : `${first.pointer.slice(1)} ${first.detail}`, 1)
  }
  if (malformed > 0) count('not well-formed', malformed)
  const total = [...reasons.values()].reduce((sum, times) => sum + times, 0)
  const named = [...reasons].slice(0, REASONS_MAX).map(([reason, times]) => `${reason}: ${times}`)
  const messages = total === 0 ? [] : [`Rejected model calls: ${total} (${named.join('; ')}).`]
  if (withoutProvider > 0) messages.push(`Model calls without a provider (gen_ai.provider.name): ${withoutProvider}.`)
  if (unread > 0) messages.push(`Became no records, but look like model calls: ${unread}. See /api/v1/sources.`)
  return { rejected: total, message: messages.join(' ') }
}

/** Of senders of which no call was understood: with others, they are mostly spans around the calls. */
function unreadCalls(events: readonly SourceEvent[], senders: readonly Tally[]): number {
  const understood = new Set(events.map(({ sender }) => sender))
  let unread = 0
  for (const sender of senders) {
    if (understood.has(sender) || sender.sender.layer !== 'application') continue
    for (const [reason, count] of sender.passedOver) if (UNREAD_CALLS.has(reason)) unread += count
  }
  return unread
}
