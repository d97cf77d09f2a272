import { BACKSLASH, CLOSE_ARRAY, CLOSE_OBJECT, OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../../text/json-scanner.js'
import type { GrowingBytes } from '../bodies/growing-bytes.js'
import { JsonCopy, type Kept, type KeptMembers } from '../bodies/json-copy.js'
import { DEPTH_MAX, isJsonScalar, isJsonText } from './json-reader.js'
import type { KeyList } from './key-list.js'
import type { Signal } from './telemetry.js'

type Forms = Readonly<Record<string, Kept>>

const membersOf = (members: Forms): KeptMembers => ({ members: new Map(Object.entries(members)) })
const scalars = (names: string): Forms => Object.fromEntries(names.split(' ').map((name) => [name, 'scalar']))

const ATTRIBUTE = membersOf({ key: 'scalar', value: 'all' })
const RECORDS: Readonly<Record<Signal, KeptMembers>> = {
  traces: membersOf({
    ...scalars('traceId spanId parentSpanId startTimeUnixNano endTimeUnixNano'),
    status: membersOf({ code: 'scalar' }),
    attributes: ATTRIBUTE,
  }),
  logs: membersOf({
    ...scalars('traceId spanId timeUnixNano observedTimeUnixNano eventName'),
    body: membersOf({ stringValue: 'scalar' }),
    attributes: ATTRIBUTE,
  }),
}
const requestOf = (resources: string, scopes: string, records: string, record: KeptMembers): KeptMembers =>
  membersOf({
    [resources]: membersOf({
      resource: membersOf({ attributes: ATTRIBUTE }),
      [scopes]: membersOf({ scope: membersOf(scalars('name version')), [records]: record }),
    }),
  })
const REQUESTS: Readonly<Record<Signal, KeptMembers>> = {
  traces: requestOf('resourceSpans', 'scopeSpans', 'spans', RECORDS.traces),
  logs: requestOf('resourceLogs', 'scopeLogs', 'logRecords', RECORDS.logs),
}

/**
 * The body of a request in OTLP's JSON form: what `readJsonRequest` would pass over is left out as it comes. A span or
 * log record that is broken costs only itself; of a body that ends too early, or goes on with something else, what is
 * complete is kept.
 */
export class JsonRequestCopy extends JsonCopy {
  records = 0
  malformed = 0
  /** Where the rest is no JSON, if it is not. */
  brokenAt = -1
  protected readonly hasLines = false
  protected readonly hasLists = true
  protected readonly isInArray = true
  protected readonly afterUnit = 'after'
  protected readonly beforeUnit = 'value'
  /** Ids, names and times, with escapes. */
  protected readonly scalarBytesMax = 2 * 1024
  private readonly keys: KeyList
  private readonly request: KeptMembers
  private readonly record: KeptMembers
  private size = 0
  private isKeyNext = false
  private keyStart = 0
  private keyEnd = -1

  constructor(kept: GrowingBytes, signal: Signal, keys: KeyList) {
    super(kept, DEPTH_MAX)
    this.keys = keys
    this.request = REQUESTS[signal]
    this.record = RECORDS[signal]
  }

  override write(chunk: Buffer): void {
    if (this.brokenAt < 0) super.write(chunk)
    this.size += chunk.length
  }

  end(): void {
    const isComplete = this.depth === 0 && (this.state === 'after' || this.state === 'between')
    if (isComplete) return
    if (this.isInUnit) {
      this.depth = this.unitDepth
      this.rejectUnit()
    } else if (this.state === 'broken') this.depth = this.unitDepth
    else if (this.brokenAt < 0) {
      this.malformed++
      this.brokenAt = this.size
    }
    this.kept.length = this.cleanLength
    for (let depth = this.droppedFrom > 0 ? this.droppedFrom - 1 : this.depth; depth > 0; depth--) {
      this.kept.addByte(this.brackets[depth] === OPEN_OBJECT ? CLOSE_OBJECT : CLOSE_ARRAY)
    }
  }

  protected between(bytes: Buffer, at: number): number {
    const byte = bytes[at] as number
    if (byte <= BLANK_MAX) return at + 1
    if (byte !== OPEN_OBJECT) return this.failOutside(at)
    this.member = this.request
    return this.value(byte, at)
  }

  /** One request may follow another, as programs write them to a file. */
  protected override behind(byte: number, at: number): number {
    if (byte !== OPEN_OBJECT) return this.failOutside(at)
    this.member = this.request
    return this.value(byte, at)
  }

  protected onUnit(isBad: boolean): void {
    if (isBad) this.malformed++
    else this.records++
  }

  protected failOutside(at: number): number {
    this.malformed++
    // Between records: the next one is looked for.
    if (this.depth > 0 && this.brackets[this.depth] === OPEN_ARRAY && this.forms[this.depth] === this.record) {
      this.unitDepth = this.depth
      this.beginBroken()
      return at
    }
    this.brokenAt = this.size + at
    return Number.POSITIVE_INFINITY
  }

  protected isUnit(form: Kept): boolean {
    if (form === ATTRIBUTE) this.keyEnd = -1
    return form === this.record
  }

  protected memberOf(form: KeptMembers, start: number, end: number): Kept | undefined {
    const name = this.kept.bytes.toString('latin1', start, end)
    if (form === ATTRIBUTE) {
      this.isKeyNext = name === 'key'
      // Of a key that is too long, nothing is read.
      if (this.isKeyNext) this.keyStart = this.keyEnd = 0
      else if (name === 'value' && this.isUnread()) return undefined
    }
    return form.members.get(name)
  }

  private isUnread(): boolean {
    return this.keyEnd >= 0 && this.keys.find(this.kept.bytes, this.keyStart, this.keyEnd) === undefined
  }

  protected writeDropped(): void {
    this.kept.length = this.cleanLength
  }

  protected checkScalar(start: number): void {
    const { kept } = this
    const isText = kept.bytes[start] === QUOTE
    if (this.isKeyNext) {
      this.isKeyNext = false
      this.keyStart = start + 1
      // With an escape it is another key than its bytes.
      this.keyEnd = isText && !kept.bytes.subarray(start, kept.length).includes(BACKSLASH) ? kept.length - 1 : -1
    }
    if ((isText ? isJsonText : isJsonScalar)(kept.bytes, start, kept.length)) return
    if (this.isInUnit) this.isUnitBad = true
    else {
      this.malformed++
      kept.length = this.cleanLength
    }
  }
}

const BLANK_MAX = 0x20
