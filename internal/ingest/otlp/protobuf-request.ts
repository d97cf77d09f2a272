import { numbersOf } from '../../usage/printed-numbers.js'
import { UNIT_BYTES_MAX } from '../bodies/json-copy.js'
import type { JsonMembers } from './json-members.js'
import type { KeyList } from './key-list.js'
import { MalformedRequest } from './malformed.js'
import { BYTES, FIXED64, ProtobufReader, VARINT } from './protobuf-reader.js'
import { repeatedText } from './repeated-text.js'
import { endsOfSlices } from './slices.js'
import type { Facts, FactValue, ListedKey } from './span-facts.js'
import {
  EVENT_NAME_BYTES_MAX,
  EVENT_NAMES,
  LABELS_MAX,
  type OnTelemetry,
  type Signal,
  SPAN_ID_BYTES,
  STATUS_ERROR,
  Telemetry,
  TRACE_ID_BYTES,
} from './telemetry.js'

/**
 * Reads an `ExportTraceServiceRequest` or `ExportLogsServiceRequest` in protobuf. Values of attributes that are not
 * listed, bodies, events and links are skipped by their lengths. The field numbers are those of opentelemetry-proto
 * 1.x.
 *
 * Pauses (yields) now and then, so that a large body does not hold up others.
 *
 * @param onMalformed gets what was read of a span or log record that is malformed: it costs no other
 * @throws MalformedRequest where the rest is; what was passed on before is then void
 */
export function* readProtobufRequest(
  bytes: Buffer,
  signal: Signal,
  keys: KeyList,
  onTelemetry: OnTelemetry,
  onMalformed: OnTelemetry,
): Generator<undefined, void> {
  const reader = new ProtobufReader(bytes)
  const telemetry = new Telemetry()
  const readRecord = signal === 'traces' ? readSpan : readLogRecord
  const isPauseDue = endsOfSlices(reader)

  // Both requests have the same form: resources (1), which have a resource (1) and scopes (2), which have a scope (1)
  // and spans or log records (2). A resource may come after what it sent: it is looked for first.
  const { length } = bytes
  for (
    let resourceEnd = nextMessage(reader, length, 1);
    resourceEnd >= 0;
    resourceEnd = nextMessage(reader, length, 1)
  ) {
    telemetry.resource.clear()
    const onAttribute = (end: number): undefined => void readAttribute(reader, end, keys, telemetry.resource)
    yield* eachMessage(reader, resourceEnd, 1, isPauseDue, (end) =>
      eachMessage(reader, end, 1, isPauseDue, onAttribute),
    )
    for (
      let scopeEnd = nextMessage(reader, resourceEnd, 2);
      scopeEnd >= 0;
      scopeEnd = nextMessage(reader, resourceEnd, 2)
    ) {
      telemetry.scope = ''
      telemetry.scopeVersion = ''
      yield* eachMessage(reader, scopeEnd, 1, isPauseDue, (end) => readScope(reader, end, telemetry, isPauseDue))
      for (let end = nextMessage(reader, scopeEnd, 2); end >= 0; end = nextMessage(reader, scopeEnd, 2)) {
        telemetry.clear()
        const isShort = end - reader.at <= UNIT_BYTES_MAX
        if (isShort && isWellFormed(readRecord, reader, end, keys, telemetry)) onTelemetry(telemetry)
        else {
          onMalformed(telemetry)
          reader.at = end
        }
        if (isPauseDue()) yield
      }
      if (isPauseDue()) yield
    }
    if (isPauseDue()) yield
  }
}

type ReadRecord = (reader: ProtobufReader, end: number, keys: KeyList, telemetry: Telemetry) => void

function isWellFormed(
  read: ReadRecord,
  reader: ProtobufReader,
  end: number,
  keys: KeyList,
  telemetry: Telemetry,
): boolean {
  try {
    read(reader, end, keys, telemetry)
    return true
  } catch (cause) {
    if (cause instanceof MalformedRequest) return false
    throw cause
  }
}

/** Reads on to the next message with this number, past other fields. @returns where it ends; -1 if there is none */
function nextMessage(reader: ProtobufReader, end: number, field: number): number {
  while (reader.next(end)) {
    if (reader.field === field) return descend(reader, end)
    reader.skip(end)
  }
  return -1
}

/** @returns where the message at the cursor ends */
function descend(reader: ProtobufReader, end: number): number {
  reader.expect(BYTES)
  return reader.enter(end)
}

type MayPause = Generator<undefined, void>

/** Visits the messages with this number in the message at the cursor, with pauses, and goes back to its beginning. */
function* eachMessage(
  reader: ProtobufReader,
  end: number,
  field: number,
  isPauseDue: () => boolean,
  visit: (end: number) => MayPause | undefined,
): MayPause {
  const start = reader.at
  while (reader.next(end)) {
    if (reader.field === field) {
      const inner = descend(reader, end)
      yield* visit(inner) ?? []
      reader.at = inner
    } else reader.skip(end)
    if (isPauseDue()) yield
  }
  reader.at = start
}

function* readScope(reader: ProtobufReader, end: number, telemetry: Telemetry, isPauseDue: () => boolean): MayPause {
  while (reader.next(end)) {
    if (isPauseDue()) yield
    if (reader.field === 1) telemetry.scope = readText(reader, end, SCOPE_BYTES_MAX) ?? ''
    else if (reader.field === 2) telemetry.scopeVersion = readText(reader, end, SCOPE_BYTES_MAX) ?? ''
    else reader.skip(end)
  }
}
const SCOPE_BYTES_MAX = 256

function readSpan(reader: ProtobufReader, end: number, keys: KeyList, span: Telemetry): void {
  while (reader.next(end)) {
    switch (reader.field) {
      case 1:
        span.traceId = readId(reader, end, TRACE_ID_BYTES)
        break
      case 2:
        span.spanId = readId(reader, end, SPAN_ID_BYTES)
        break
      case 4:
        span.parentSpanId = readId(reader, end, SPAN_ID_BYTES)
        break
      case 7:
        span.startMs = readTime(reader, end)
        break
      case 8:
        span.endMs = readTime(reader, end)
        break
      case 9:
        readAttribute(reader, descend(reader, end), keys, span.facts)
        break
      case 15:
        span.isError = readStatusCode(reader, descend(reader, end)) === STATUS_ERROR
        break
      default:
        reader.skip(end)
    }
  }
}

function readLogRecord(reader: ProtobufReader, end: number, keys: KeyList, record: Telemetry): void {
  while (reader.next(end)) {
    switch (reader.field) {
      case 1:
        record.startMs = readTime(reader, end) || record.startMs
        break
      case 5:
        readEventName(reader, descend(reader, end), record)
        break
      case 6:
        readAttribute(reader, descend(reader, end), keys, record.facts)
        break
      case 9:
        record.traceId = readId(reader, end, TRACE_ID_BYTES)
        break
      case 10:
        record.spanId = readId(reader, end, SPAN_ID_BYTES)
        break
      case 11: {
        const observedMs = readTime(reader, end)
        if (record.startMs === 0) record.startMs = observedMs
        break
      }
      case 12:
        setEventName(readText(reader, end, EVENT_NAME_BYTES_MAX), record)
        break
      default:
        reader.skip(end)
    }
  }
}

/** A body that is a short text may be the name of an event. */
function readEventName(reader: ProtobufReader, end: number, record: Telemetry): void {
  while (reader.next(end)) {
    if (reader.field === STRING) setEventName(readText(reader, end, EVENT_NAME_BYTES_MAX), record)
    else reader.skip(end)
  }
}

function setEventName(text: string | undefined, record: Telemetry): void {
  if (text !== undefined && EVENT_NAMES.includes(text)) record.eventName = text
}

function readStatusCode(reader: ProtobufReader, end: number): number {
  let code = 0
  while (reader.next(end)) {
    if (reader.field !== 3) {
      reader.skip(end)
      continue
    }
    reader.expect(VARINT)
    code = reader.unsigned(end)
  }
  return code
}

function readAttribute(reader: ProtobufReader, end: number, keys: KeyList, facts: Facts): void {
  let listed: ListedKey | undefined
  let [valueStart, valueEnd] = [end, end]
  while (reader.next(end)) {
    if (reader.field === 1) {
      const keyEnd = descend(reader, end)
      listed = keys.find(reader.bytes, reader.at, keyEnd)
      if (listed === undefined) facts.unread.add(reader.bytes, reader.at, keyEnd)
      reader.at = keyEnd
    } else if (reader.field === 2) {
      valueEnd = descend(reader, end)
      valueStart = reader.at
      reader.at = valueEnd
    } else reader.skip(end)
  }
  if (listed === undefined) return
  reader.at = valueStart
  if (listed.members !== undefined) {
    readMembers(reader, valueEnd, listed.members, facts)
    reader.at = valueStart
  }
  const value =
    listed.hasNumbers === true
      ? readNumbers(reader, valueEnd, listed.bytesMax)
      : readValue(reader, valueEnd, listed.bytesMax)
  if (value !== undefined) facts.set(listed, value)
  reader.at = end
}

/** Of an `AnyValue` that is a JSON text. */
function readMembers(reader: ProtobufReader, end: number, members: JsonMembers, facts: Facts): void {
  while (reader.next(end)) {
    if (reader.field !== STRING) {
      reader.skip(end)
      continue
    }
    const textEnd = descend(reader, end)
    members.read(reader.bytes, reader.at, textEnd, (fact, value) => facts.setMember(fact, value))
    reader.at = textEnd
  }
}

/** Fields of `AnyValue`. */
const STRING = 1
const BOOLEAN = 2
const INTEGER = 3
const DOUBLE = 4
const ARRAY = 5

/** @returns undefined for a value that no fact can have */
function readValue(reader: ProtobufReader, end: number, bytesMax: number): FactValue | undefined {
  let value: FactValue | undefined
  while (reader.next(end)) {
    switch (reader.field) {
      case STRING:
        value = readText(reader, end, bytesMax)
        break
      case BOOLEAN:
        reader.expect(VARINT)
        value = reader.unsigned(end) !== 0
        break
      case INTEGER:
        reader.expect(VARINT)
        value = reader.signed(end)
        break
      case DOUBLE:
        reader.expect(FIXED64)
        value = reader.double(end)
        break
      case ARRAY:
        value = readTexts(reader, descend(reader, end), bytesMax)
        break
      default:
        value = undefined
        reader.skip(end)
    }
  }
  return value
}

/** The numbers of an object that is written as a text. */
function readNumbers(reader: ProtobufReader, end: number, bytesMax: number): FactValue | undefined {
  while (reader.next(end)) {
    if (reader.field !== STRING) {
      reader.skip(end)
      continue
    }
    const textEnd = descend(reader, end)
    const start = reader.at
    reader.at = textEnd
    return textEnd - start > bytesMax ? undefined : numbersOf(reader.bytes, start, textEnd)
  }
  return undefined
}

/** The texts of an `ArrayValue`; its other elements are passed over. */
function readTexts(reader: ProtobufReader, end: number, bytesMax: number): string[] {
  const texts: string[] = []
  while (reader.next(end)) {
    const elementEnd = reader.field === 1 ? descend(reader, end) : 0
    if (elementEnd === 0) reader.skip(end)
    while (reader.next(elementEnd)) {
      const text = reader.field === STRING ? readText(reader, elementEnd, bytesMax) : reader.skip(elementEnd)
      if (text !== undefined && texts.length < LABELS_MAX) texts.push(text)
    }
  }
  return texts
}

/** @returns undefined for a text that is too long, which is skipped */
function readText(reader: ProtobufReader, end: number, bytesMax: number): string | undefined {
  const textEnd = descend(reader, end)
  const start = reader.at
  reader.at = textEnd
  return textEnd - start > bytesMax ? undefined : repeatedText(reader.bytes, start, textEnd)
}

/** @returns empty unless it has so many bytes, of which not all are 0 */
function readId(reader: ProtobufReader, end: number, length: number): string {
  const idEnd = descend(reader, end)
  const start = reader.at
  reader.at = idEnd
  if (idEnd - start !== length) return ''
  for (let at = start; at < idEnd; at++) {
    if (reader.bytes[at] !== 0) return reader.bytes.toString('hex', start, idEnd)
  }
  return ''
}

function readTime(reader: ProtobufReader, end: number): number {
  reader.expect(FIXED64)
  return reader.nanosAsMs(end)
}
