import { ownTurn } from '../../process/own-turn.js'
import { OWN_SCOPE } from '../../telemetry/spans/finished-span.js'
import { assumptionsOf } from '../adapters/assumptions.js'
import { nameOf } from '../adapters/fields.js'
import { GrowingBytes } from '../bodies/growing-bytes.js'
import type { SourceEvent } from '../intake/intake-route.js'
import { increment, invalid, type Tally } from '../received/tally.js'
import { agentSpan } from './agent-spans.js'
import { agentOfScope } from './agents.js'
import { type PassedOver, passedOver, seemsCall, UNREAD_CALLS } from './inference-spans.js'
import { JsonRequestCopy } from './json-copy.js'
import { readJsonRequest } from './json-request.js'
import type { KeyList } from './key-list.js'
import { isLiteLlm } from './litellm-spans.js'
import { mapLogRecord } from './log-records.js'
import { MalformedRequest } from './malformed.js'
import type { MappedRecord } from './mapped-record.js'
import { ProtobufRecords } from './protobuf-copy.js'
import { readProtobufRequest } from './protobuf-request.js'
import { forgetTexts } from './repeated-text.js'
import { type ShownCall, sameCalls } from './same-call.js'
import { Senders } from './senders.js'
import { hasUsage, type MappingContext, type Missing, NO_PROVIDER, type SpanEvent, spanEvent } from './span-events.js'
import { type CopiedRequest, type Signal, SLICE_BYTES, type Telemetry } from './telemetry.js'

export type Encoding = 'protobuf' | 'json'

/** What a request holds: the events of its calls, and why the rest became none. */
export interface ReadTelemetry {
  readonly events: SourceEvent[]
  /** Who sent it: each with what is no call of a model, or no call of its own, and what cannot become a record. */
  readonly senders: readonly Tally[]
  /** Calls of a model that cannot become records. */
  readonly missing: ReadonlyMap<Missing, number>
  /** Spans or log records, and what else of the body, that are not well-formed. */
  readonly malformed: number
  /** Events that name no provider. */
  readonly withoutProvider: number
  /** Whether there is a span of this product among them. */
  readonly hasOwnSpans: boolean
}

/**
 * Reads a request for traces or logs: which of it are calls of a model, and what they are as events. In slices, so that
 * a large body does not hold up others.
 *
 * @param copied how the bytes were copied as they came; undefined where they are the whole body
 * @returns a text that says what is wrong with the body, of which then nothing can be read
 * @throws TooManyRecords
 */
export async function readTelemetry(
  bytes: Buffer,
  encoding: Encoding,
  signal: Signal,
  keys: KeyList,
  context: MappingContext,
  copied?: CopiedRequest,
): Promise<ReadTelemetry | string> {
  const kept = new GrowingBytes()
  if (copied === undefined && encoding === 'protobuf') {
    const whole = await readWellFormed(bytes, encoding, signal, keys, new Reading(context))
    if (typeof whole !== 'string') return whole.end()
    // What is left without that which is malformed, and behind which nothing could be read.
  }
  const copy = encoding === 'protobuf' ? ProtobufRecords : JsonRequestCopy
  const left = copied ?? (await copyOf(bytes, new copy(kept, signal, keys)))
  if (left.records === 0 && left.malformed > 0) return malformedText(encoding, left)
  const read = await readWellFormed(
    copied === undefined ? kept.written : bytes,
    encoding,
    signal,
    keys,
    new Reading(context),
  )
  return typeof read === 'string' ? read : read.end(left.malformed)
}

async function copyOf<Copy extends ProtobufRecords | JsonRequestCopy>(bytes: Buffer, copy: Copy): Promise<Copy> {
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (at > 0) await ownTurn()
    copy.write(bytes.subarray(at, at + SLICE_BYTES))
  }
  copy.end()
  return copy
}

function malformedText(encoding: Encoding, { brokenAt }: CopiedRequest): string {
  const where =
    brokenAt < 0 ? 'no span or log record is well-formed' : `at byte ${brokenAt}, something else is expected`
  return `The body is not valid ${encoding === 'json' ? 'JSON' : 'protobuf'}: ${where}.`
}

async function readWellFormed(
  bytes: Buffer,
  encoding: Encoding,
  signal: Signal,
  keys: KeyList,
  reading: Reading,
): Promise<Reading | string> {
  const onTelemetry = (telemetry: Telemetry): void =>
    signal === 'traces' ? reading.addSpan(telemetry) : reading.addLogRecord(telemetry)
  const onMalformed = (telemetry: Telemetry): void => reading.addMalformed(telemetry)
  const read = encoding === 'protobuf' ? readProtobufRequest : readJsonRequest
  try {
    for (const _ of read(bytes, signal, keys, onTelemetry, onMalformed)) await ownTurn()
    return reading
  } catch (cause) {
    if (cause instanceof MalformedRequest) return cause.message
    throw cause
  } finally {
    forgetTexts()
  }
}

const MALFORMED = invalid()

/** Spans or log records of one request, most of which need not be calls of a model. */
export const RECORDS_MAX = 100_000
export class TooManyRecords extends Error {}

interface Call extends ShownCall {
  readonly place: number
  readonly sender: Tally
  readonly trustsCost?: false
  readonly detailsKey?: string
}

/** A call that counts, with what other spans of it state. */
function shown(call: Call, doubles: ReadonlySet<Call>, united: ReadonlyMap<Call, SpanEvent>): Call[] {
  if (doubles.has(call)) return []
  const event = united.get(call)
  return [event === undefined ? call : { ...call, event }]
}

class Reading {
  private readonly calls: Call[] = []
  private readonly missing = new Map<Missing, number>()
  private readonly senders = new Senders()
  /** Ids of responses that a second record of a call states, by `detailsKey`. */
  private readonly responseIds = new Map<string, string>()
  private readonly context: MappingContext
  private count = 0
  private malformed = 0
  private hasOwnSpans = false

  constructor(context: MappingContext) {
    this.context = context
  }

  addSpan(span: Telemetry): void {
    const place = this.next()
    const sender = this.senders.of(span)
    this.hasOwnSpans ||= span.scope === OWN_SCOPE
    const agent = agentOfScope(span.scope)
    if (agent !== undefined) return this.take(span, sender, place, agentSpan(span, agent, this.context), span.scope)
    const reason = passedOver(span)
    if (reason !== undefined) return passOver(span, sender, reason)
    noteFields(span, sender)
    const event = spanEvent(span, this.context)
    if (typeof event === 'string') return this.refuse(sender, event)
    if (event.outcome === 'error' && !hasUsage(event)) return passOver(span, sender, 'failed_without_usage')
    this.calls.push({ place, sender, event: this.paid(event), spanId: span.spanId, isLiteLlm: isLiteLlm(span) })
  }

  addLogRecord(record: Telemetry): void {
    const [place, sender] = [this.next(), this.senders.of(record)]
    // Logs and spans of one program may show the same call, and some have one scope for both.
    this.take(record, sender, place, mapLogRecord(record, this.context), `${record.scope} (log)`)
  }

  addMalformed(telemetry: Telemetry): void {
    this.next()
    this.malformed++
    this.senders.of(telemetry).reject(MALFORMED)
  }

  private take(telemetry: Telemetry, sender: Tally, place: number, mapped: MappedRecord, observer: string): void {
    switch (mapped.kind) {
      case 'missing':
        return this.refuse(sender, mapped.what)
      case 'passed_over':
        if (mapped.tells !== undefined) this.responseIds.set(mapped.tells.detailsKey, mapped.tells.responseId)
        return passOver(telemetry, sender, mapped.reason)
      case 'call': {
        noteFields(telemetry, sender)
        const { event, isCostUntrusted, detailsKey } = mapped
        this.calls.push({
          place,
          sender,
          event: { ...event, instrumentation: nameOf(observer) },
          spanId: event.span_id == null ? '' : telemetry.spanId,
          isLiteLlm: false,
          ...(isCostUntrusted === true && { trustsCost: false }),
          ...(detailsKey !== undefined && event.response_id === undefined && { detailsKey }),
        })
      }
    }
  }

  /** A subscription covers what its credential sends, by whatever it was observed. */
  private paid(event: SpanEvent): SpanEvent {
    if (this.context.billing !== 'seat') return event
    const assumptions = assumptionsOf(event.assumptions ?? undefined, 'billing_from_credential')
    return { ...event, is_cost_notional: true, assumptions }
  }

  private refuse(sender: Tally, missing: Missing): void {
    increment(this.missing, missing)
    sender.reject(`no_${missing}`)
  }

  private next(): number {
    if (this.count === RECORDS_MAX) throw new TooManyRecords()
    return this.count++
  }

  /** @param missing parts that were malformed and left out before */
  end(missing = 0): ReadTelemetry {
    if (missing > 0) increment(this.senders.any.rejected, MALFORMED, missing)
    const calls = this.responseIds.size === 0 ? this.calls : this.calls.map((call) => this.withResponseId(call))
    const { doubles, united } = sameCalls(calls)
    for (const { sender } of doubles) sender.passOver('same_call' satisfies PassedOver)
    const events = doubles.size === 0 ? calls : calls.flatMap((call) => shown(call, doubles, united))
    const withoutProvider = events.filter(({ event }) => event.provider === NO_PROVIDER).length
    const { malformed, hasOwnSpans } = this
    return {
      events,
      senders: this.senders.all,
      missing: this.missing,
      malformed: malformed + missing,
      withoutProvider,
      hasOwnSpans,
    }
  }

  private withResponseId(call: Call): Call {
    const id = call.detailsKey === undefined ? undefined : this.responseIds.get(call.detailsKey)
    return id === undefined ? call : { ...call, event: { ...call.event, response_id: id } }
  }
}

function passOver(telemetry: Telemetry, sender: Tally, reason: PassedOver): void {
  const isUnread = reason === 'unrelated' && seemsCall(telemetry)
  if (isUnread || UNREAD_CALLS.has(reason)) noteFields(telemetry, sender)
  sender.passOver(isUnread ? ('unread_call' satisfies PassedOver) : reason)
}

/** A sample of how the sender spells what it says of calls, where nobody reads it. */
function noteFields({ facts }: Telemetry, sender: Tally): void {
  if (sender.wantsFields()) for (const name of facts.unread.tellingNames()) sender.noteField(name)
}
