import { adapterRoutes } from '../../../internal/ingest/adapters/adapter-routes.js'
import type { IntakeRequest, IntakeRoute, SourceEvent } from '../../../internal/ingest/intake/intake-route.js'
import { otlpRoutes } from '../../../internal/ingest/otlp/otlp-routes.js'
import type { InvocationEvent } from '../../../internal/invocations/invocation-schema.js'
import { validateInvocation } from '../../../internal/invocations/validate-invocation.js'
import { anyValue, keyValues } from '../otlp.js'
import type { Recording, WireRecord } from './recording.js'

/** An event that became of a record or payload. */
export interface Replayed {
  readonly event: InvocationEvent
  /** Number of the bill for the call that the record or payload shows. */
  readonly bill: number | undefined
  /** By which intake it came. */
  readonly intake: string
}

/** What was made of a recording. */
export interface Replay {
  readonly events: readonly Replayed[]
  /** Records and payloads that became no event, by why. */
  readonly leftOut: ReadonlyMap<string, number>
}

/** Sends a recording to the routes that real clients send to, request by request, in process. */
export async function replay({ records, payloads = [] }: Recording): Promise<Replay> {
  const leftOut = new Map<string, number>()
  const count = (reason: string, times = 1): void => void leftOut.set(reason, (leftOut.get(reason) ?? 0) + times)
  const routes = [...adapterRoutes(), ...otlpRoutes({ dimensionsOf: () => [] })]
  const events: Replayed[] = []
  for (const { path, body, bills, isGateway } of requestsOf({ records, payloads })) {
    const route = routes.find((each) => each.path === path) as IntakeRoute
    const read = await route.read(Buffer.from(JSON.stringify(body)), requestOf(isGateway))
    if (read.kind === 'refused') throw new Error(`${path}: ${read.problem.detail}`)
    for (const { passedOver } of read.senders) for (const [reason, times] of passedOver) count(reason, times)
    const rejected = read.events.filter((event) => !isTaken(event, { bills, intake: route.intake }, events))
    if (rejected.length > 0) count('rejected', rejected.length)
    const { body: answer } = read.answer({
      accepted: read.events.length - rejected.length,
      duplicates: 0,
      rejected: [],
    })
    for (const [reason, times] of refusals(answer)) count(reason, times)
  }
  return { events, leftOut }
}

/** The requests of a recording, in their order. */
export const requestsOf = ({ records, payloads = [] }: Pick<Recording, 'records' | 'payloads'>): readonly Request[] => [
  ...telemetryOf(records),
  ...payloads.map(payloadRequest),
]

interface Request {
  readonly path: string
  readonly body: unknown
  /** By the place of the record in the body. */
  readonly bills: readonly (number | undefined)[]
  readonly isGateway: boolean
}

const requestOf = (isGateway: boolean): IntakeRequest => ({
  contentType: 'application/json',
  caller: { tenantId: 'tnt_one', isGateway },
  receivedAtMs: RECEIVED_AT_MS,
  header: () => '',
})

/** After every recording. */
const RECEIVED_AT_MS = Date.UTC(2026, 11, 1)

interface Sent extends Pick<Request, 'bills'> {
  readonly intake: string
}

function isTaken({ place, event }: SourceEvent, { bills, intake }: Sent, events: Replayed[]): boolean {
  const validation = validateInvocation(JSON.parse(JSON.stringify(event)), RECEIVED_AT_MS)
  // A repeat is a duplicate, as at admission.
  const isKnown = events.some((each) => each.event.event_id === event.event_id)
  if (validation.ok && !isKnown) events.push({ event: validation.event, bill: bills[place], intake })
  return validation.ok
}

function* refusals(answer: string | Uint8Array): Generator<readonly [string, number]> {
  const { partialSuccess, rejected } = JSON.parse(String(answer)) as {
    partialSuccess?: { rejectedSpans?: string; rejectedLogRecords?: string }
    rejected?: number
  }
  const refused = Number(partialSuccess?.rejectedSpans ?? partialSuccess?.rejectedLogRecords ?? rejected ?? 0)
  if (refused > 0) yield ['refused', refused]
}

const payloadRequest = ({ intake, payload, bill }: NonNullable<Recording['payloads']>[number]): Request => ({
  path: `/intake/${intake}`,
  body: [payload],
  bills: [bill],
  isGateway: true,
})

function* telemetryOf(records: readonly WireRecord[]): Generator<Request> {
  const numbers = [...new Set(records.map(({ request }) => request))]
  for (const number of numbers) {
    const ofRequest = records.filter(({ request }) => request === number)
    const [{ signal, scope }] = ofRequest as [WireRecord]
    const isGateway = scope.startsWith('litellm') && ofRequest[0]?.resource['service.name'] !== 'lab'
    const bills = ofRequest.map(({ bill }) => bill)
    yield { path: `/v1/${signal}`, body: BODY_OF[signal](ofRequest), bills, isGateway }
  }
}

const BODY_OF = {
  traces: (records: readonly WireRecord[]) => ({
    resourceSpans: records.map((record) => ({
      resource: { attributes: keyValues(record.resource) },
      scopeSpans: [{ scope: scopeOf(record), spans: [spanOf(record)] }],
    })),
  }),
  logs: (records: readonly WireRecord[]) => ({
    resourceLogs: records.map((record) => ({
      resource: { attributes: keyValues(record.resource) },
      scopeLogs: [{ scope: scopeOf(record), logRecords: [logOf(record)] }],
    })),
  }),
}

function scopeOf({ scope }: WireRecord): object {
  const at = scope.indexOf('@', 1)
  return at < 0 ? { name: scope } : { name: scope.slice(0, at), version: scope.slice(at + 1) }
}

const nanos = (ms: number): string => `${ms}000000`

const spanOf = ({ trace, span, parent, name, at, ms, error, attributes }: WireRecord): object => ({
  traceId: trace,
  spanId: span,
  ...(parent !== undefined && { parentSpanId: parent }),
  name,
  startTimeUnixNano: nanos(at),
  endTimeUnixNano: nanos(at + ms),
  attributes: keyValues(attributes),
  status: { code: error === true ? 2 : 0 },
})

const logOf = ({ event, body, at, trace, span, attributes }: WireRecord): object => ({
  timeUnixNano: nanos(at),
  observedTimeUnixNano: nanos(at),
  ...(event !== undefined && { eventName: event }),
  ...(body !== undefined && { body: anyValue(body) }),
  ...(trace !== undefined && { traceId: trace, spanId: span }),
  attributes: keyValues(attributes),
})
