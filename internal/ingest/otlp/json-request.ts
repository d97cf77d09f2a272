import { numbersOf } from '../../usage/printed-numbers.js'
import { JSON_TEXT_BYTES_MAX, type JsonMembers } from './json-members.js'
import { JsonReader } from './json-reader.js'
import type { KeyList } from './key-list.js'
import { MalformedRequest } from './malformed.js'
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
 * Reads an `ExportTraceServiceRequest` or `ExportLogsServiceRequest` in OTLP's JSON form: lowerCamelCase, ids in
 * hexadecimal, enums as integers, 64-bit integers as texts or numbers, unknown members ignored. It reads what
 * `readProtobufRequest` reads; all other values are checked and skipped. Several requests may follow one another.
 *
 * @param onMalformed gets what was read of a span or log record that is JSON of another form: it costs no other
 * @throws MalformedRequest where the rest is; what was passed on before is then void
 */
export function* readJsonRequest(
  bytes: Buffer,
  signal: Signal,
  keys: KeyList,
  onTelemetry: OnTelemetry,
  onMalformed: OnTelemetry,
): Generator<undefined, void> {
  const json = new JsonReader(bytes)
  const resource = new ResourceReader(json, signal, keys, onTelemetry, onMalformed)
  do {
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (!json.isKey(NAMES[signal].resources)) json.skip()
      else for (let next = json.enterArray(); next; next = json.nextElement()) yield* resource.read()
      if (resource.isPauseDue()) yield
    }
  } while (json.blanks() < bytes.length)
}

const namesOf = (resources: string, scopes: string, records: string) => ({
  resources: Buffer.from(resources),
  scopes: Buffer.from(scopes),
  records: Buffer.from(records),
})
const NAMES = {
  traces: namesOf('resourceSpans', 'scopeSpans', 'spans'),
  logs: namesOf('resourceLogs', 'scopeLogs', 'logRecords'),
}
const KEY = Object.fromEntries(
  (
    'resource scope name version attributes key value traceId spanId parentSpanId startTimeUnixNano endTimeUnixNano ' +
    'status code timeUnixNano observedTimeUnixNano body eventName stringValue boolValue intValue doubleValue ' +
    'arrayValue values'
  )
    .split(' ')
    .map((key) => [key, Buffer.from(key)]),
) as Readonly<Record<string, Buffer>>
const key = (name: string): Buffer => KEY[name] as Buffer
const [RESOURCE, SCOPE, ATTRIBUTES] = [key('resource'), key('scope'), key('attributes')]
const [NAME, VERSION] = [key('name'), key('version')]

/** What each resource sent. */
class ResourceReader {
  private readonly telemetry = new Telemetry()
  private readonly json: JsonReader
  private readonly signal: Signal
  private readonly keys: KeyList
  private readonly onTelemetry: OnTelemetry
  private readonly onMalformed: OnTelemetry
  readonly isPauseDue: () => boolean

  constructor(json: JsonReader, signal: Signal, keys: KeyList, onTelemetry: OnTelemetry, onMalformed: OnTelemetry) {
    this.json = json
    this.signal = signal
    this.keys = keys
    this.onTelemetry = onTelemetry
    this.onMalformed = onMalformed
    this.isPauseDue = endsOfSlices(json)
  }

  *read(): Generator<undefined, void> {
    this.telemetry.resource.clear()
    yield* this.inOrder(
      RESOURCE,
      () => this.readResource(),
      NAMES[this.signal].scopes,
      () => this.readScopes(),
    )
  }

  private *readResource(): Generator<undefined, void> {
    const { json, keys, telemetry } = this
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (!json.isKey(ATTRIBUTES)) json.skip()
      else {
        for (let next = json.enterArray(); next; next = json.nextElement()) {
          readAttribute(json, keys, telemetry.resource)
          if (this.isPauseDue()) yield
        }
      }
      if (this.isPauseDue()) yield
    }
  }

  private *readScopes(): Generator<undefined, void> {
    const { json, signal } = this
    for (let more = json.enterArray(); more; more = json.nextElement()) {
      this.telemetry.scope = ''
      this.telemetry.scopeVersion = ''
      yield* this.inOrder(
        SCOPE,
        () => this.readScope(),
        NAMES[signal].records,
        () => this.readRecords(),
      )
    }
  }

  private *readScope(): Generator<undefined, void> {
    const { json, telemetry } = this
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (json.isKey(NAME)) telemetry.scope = json.text(SCOPE_BYTES_MAX) ?? ''
      else if (json.isKey(VERSION)) telemetry.scopeVersion = json.text(SCOPE_BYTES_MAX) ?? ''
      else json.skip()
      if (this.isPauseDue()) yield
    }
  }

  private *readRecords(): Generator<undefined, void> {
    const { json, telemetry } = this
    for (let more = json.enterArray(); more; more = json.nextElement()) {
      telemetry.clear()
      if (this.isWellFormed()) this.onTelemetry(telemetry)
      else this.onMalformed(telemetry)
      if (this.isPauseDue()) yield
    }
  }

  /** Reads the record at the cursor. */
  private isWellFormed(): boolean {
    const { json, keys, telemetry } = this
    const readMember = this.signal === 'traces' ? readSpanMember : readLogMember
    const { place } = json
    try {
      for (let next = json.enterObject(); next; next = json.nextMember()) readMember(json, keys, telemetry)
      return true
    } catch (cause) {
      if (!(cause instanceof MalformedRequest)) throw cause
      json.goTo(place)
      json.skip()
      return false
    }
  }

  /**
   * Reads an object's member `first`, then its member `then`, in whatever order they are written: `then` is read where
   * it is, unless it comes before the other.
   */
  private *inOrder(
    first: Buffer,
    readFirst: () => Generator<undefined, void>,
    then: Buffer,
    readThen: () => Generator<undefined, void>,
  ): Generator<undefined, void> {
    const { json } = this
    let hasFirst = false
    const later: number[] = []
    // Also of resources and scopes that hold nothing.
    if (this.isPauseDue()) yield
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (json.isKey(first)) {
        yield* readFirst()
        hasFirst = true
      } else if (!json.isKey(then)) json.skip()
      else if (hasFirst) yield* readThen()
      else {
        later.push(json.at)
        yield* this.skipList(then)
      }
      if (this.isPauseDue()) yield
    }
    const end = json.at
    for (const start of later) {
      json.at = start
      yield* readThen()
    }
    json.at = end
  }

  /** Skips the scopes of a resource, or the records of a scope. */
  private *skipList(name: Buffer): Generator<undefined, void> {
    const { json, signal } = this
    const { records } = NAMES[signal]
    for (let more = json.enterArray(); more; more = json.nextElement()) {
      if (name === records) json.skip()
      else {
        for (let next = json.enterObject(); next; next = json.nextMember()) {
          if (json.isKey(records)) yield* this.skipList(records)
          else json.skip()
          if (this.isPauseDue()) yield
        }
      }
      if (this.isPauseDue()) yield
    }
  }
}
const SCOPE_BYTES_MAX = 256

const SPAN = {
  traceId: key('traceId'),
  spanId: key('spanId'),
  parentSpanId: key('parentSpanId'),
  start: key('startTimeUnixNano'),
  end: key('endTimeUnixNano'),
  status: key('status'),
  code: key('code'),
}
const LOG = {
  time: key('timeUnixNano'),
  observed: key('observedTimeUnixNano'),
  body: key('body'),
  event: key('eventName'),
}

function readSpanMember(json: JsonReader, keys: KeyList, span: Telemetry): void {
  if (json.isKey(ATTRIBUTES)) readAttributes(json, keys, span.facts)
  else if (json.isKey(SPAN.traceId)) span.traceId = readId(json, TRACE_ID_BYTES)
  else if (json.isKey(SPAN.spanId)) span.spanId = readId(json, SPAN_ID_BYTES)
  else if (json.isKey(SPAN.parentSpanId)) span.parentSpanId = readId(json, SPAN_ID_BYTES)
  else if (json.isKey(SPAN.start)) span.startMs = readTime(json)
  else if (json.isKey(SPAN.end)) span.endMs = readTime(json)
  else if (json.isKey(SPAN.status)) {
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (json.isKey(SPAN.code)) span.isError = json.scalarValue() === STATUS_ERROR
      else json.skip()
    }
  } else json.skip()
}

function readLogMember(json: JsonReader, keys: KeyList, record: Telemetry): void {
  if (json.isKey(ATTRIBUTES)) readAttributes(json, keys, record.facts)
  else if (json.isKey(LOG.time)) record.startMs = readTime(json) || record.startMs
  else if (json.isKey(LOG.observed)) {
    const observedMs = readTime(json)
    if (record.startMs === 0) record.startMs = observedMs
  } else if (json.isKey(LOG.event)) setEventName(json.text(EVENT_NAME_BYTES_MAX), record)
  else if (json.isKey(LOG.body)) {
    for (let more = json.enterObject(); more; more = json.nextMember()) {
      if (json.isKey(VALUE.string)) setEventName(json.text(EVENT_NAME_BYTES_MAX), record)
      else json.skip()
    }
  } else if (json.isKey(SPAN.traceId)) record.traceId = readId(json, TRACE_ID_BYTES)
  else if (json.isKey(SPAN.spanId)) record.spanId = readId(json, SPAN_ID_BYTES)
  else json.skip()
}

function setEventName(text: string | undefined, record: Telemetry): void {
  if (text !== undefined && EVENT_NAMES.includes(text)) record.eventName = text
}

function readAttributes(json: JsonReader, keys: KeyList, facts: Facts): void {
  for (let more = json.enterArray(); more; more = json.nextElement()) readAttribute(json, keys, facts)
}

function readAttribute(json: JsonReader, keys: KeyList, facts: Facts): void {
  let listed: ListedKey | undefined
  let valueAt = -1
  for (let next = json.enterObject(); next; next = json.nextMember()) {
    if (json.isKey(VALUE.key)) listed = readKey(json, keys, facts)
    else {
      if (json.isKey(VALUE.value)) valueAt = json.blanks()
      json.skip()
    }
  }
  if (listed === undefined || valueAt < 0) return
  const end = json.at
  json.at = valueAt
  if (listed.members !== undefined) {
    readMembers(json, listed.members, facts)
    json.at = valueAt
  }
  const value = listed.hasNumbers === true ? readNumbers(json, listed.bytesMax) : readValue(json, listed.bytesMax)
  if (value !== undefined) facts.set(listed, value)
  json.at = end
}

/** Of an attribute that is a JSON text. */
function readMembers(json: JsonReader, members: JsonMembers, facts: Facts): void {
  for (let more = json.enterObject(); more; more = json.nextMember()) {
    const text = json.isKey(VALUE.string) ? json.textBytes(JSON_TEXT_BYTES_MAX) : json.skip()
    if (text !== undefined) members.read(text, 0, text.length, (fact, value) => facts.setMember(fact, value))
  }
}

const VALUE = {
  key: key('key'),
  value: key('value'),
  string: key('stringValue'),
  boolean: key('boolValue'),
  integer: key('intValue'),
  double: key('doubleValue'),
  array: key('arrayValue'),
  values: key('values'),
}

/** Rare: only an application's own keys. The part of a tag's key behind its prefix may have any character. */
const BACKSLASH = 0x5c
const QUOTE = 0x22
/** With escapes. */
const KEY_BYTES_MAX = 1_024

function readKey(json: JsonReader, keys: KeyList, { unread }: Facts): ListedKey | undefined {
  const start = json.blanks()
  json.skip()
  const { bytes, at: end } = json
  let at = start
  while (at < end && bytes[at] !== BACKSLASH) at++
  if (at === end) {
    const listed = keys.find(bytes, start + 1, end - 1)
    if (listed === undefined) unread.add(bytes, start + 1, end - 1)
    return listed
  }
  if (end - start > KEY_BYTES_MAX) return undefined
  const key = Buffer.from(JSON.parse(bytes.toString('utf8', start, end)) as string)
  return keys.find(key, 0, key.length)
}

/** @returns undefined for a value that no fact can have */
function readValue(json: JsonReader, bytesMax: number): FactValue | undefined {
  let value: FactValue | undefined
  for (let more = json.enterObject(); more; more = json.nextMember()) {
    if (json.isKey(VALUE.string)) value = json.text(bytesMax)
    else if (json.isKey(VALUE.integer) || json.isKey(VALUE.double) || json.isKey(VALUE.boolean))
      value = json.scalarValue()
    else if (json.isKey(VALUE.array)) value = readTexts(json, bytesMax)
    else {
      value = undefined
      json.skip()
    }
  }
  return value
}

/** The numbers of an object that is written as a text. */
function readNumbers(json: JsonReader, bytesMax: number): FactValue | undefined {
  let value: FactValue | undefined
  for (let more = json.enterObject(); more; more = json.nextMember()) {
    const start = json.blanks()
    const isText = json.isKey(VALUE.string) && json.bytes[start] === QUOTE
    json.skip()
    if (isText && json.at - start - 2 <= bytesMax) value = numbersOf(json.bytes, start + 1, json.at - 1, true)
  }
  return value
}

function readTexts(json: JsonReader, bytesMax: number): string[] {
  const texts: string[] = []
  for (let more = json.enterObject(); more; more = json.nextMember()) {
    if (!json.isKey(VALUE.values)) {
      json.skip()
      continue
    }
    for (let next = json.enterArray(); next; next = json.nextElement()) {
      for (let inner = json.enterObject(); inner; inner = json.nextMember()) {
        const text = json.isKey(VALUE.string) ? json.text(bytesMax) : json.skip()
        if (text !== undefined && texts.length < LABELS_MAX) texts.push(text)
      }
    }
  }
  return texts
}

/** @returns empty unless it is so many bytes in hexadecimal, of which not all are 0 */
function readId(json: JsonReader, length: number): string {
  const id = json.text(2 * TRACE_ID_BYTES)
  return id !== undefined && id.length === 2 * length && HEX.test(id) && !NO_ID.test(id) ? id.toLowerCase() : ''
}
const HEX = /^[0-9a-fA-F]+$/
const NO_ID = /^0+$/

/** Nanoseconds as a text or number. @returns whole milliseconds; 0 when they are none */
function readTime(json: JsonReader): number {
  const start = json.blanks()
  json.skip()
  const digits = TIME.exec(json.bytes.toString('latin1', start, Math.min(json.at, start + TIME_BYTES_MAX)))?.[1]
  // Six digits fewer are milliseconds: a number of nanoseconds would be rounded.
  return digits === undefined ? 0 : Number(digits.slice(0, -6))
}
const TIME = /^"?(\d{1,20})"?$/
const TIME_BYTES_MAX = 22
