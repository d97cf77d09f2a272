import {
  EVENT_FIELDS,
  OPTIONAL_AMOUNT,
  OPTIONAL_COUNT,
  OPTIONAL_FLAG,
  OPTIONAL_NAME,
} from '../../invocations/invocation-schema.js'
import { isAmount, UUID_TEXT } from '../../text/plain-text.js'
import { parseInstant } from '../../units/instant.js'
import { formatQuantity, type Quantity } from '../../units/quantity.js'
import { amountStepsOf } from '../adapters/amount.js'
import { countOf, instantOf, nameOf, objectOf, timeText } from '../adapters/fields.js'
import { eventIdOf } from '../intake/event-id.js'

/**
 * The event that a line of a shipper of logs means (Fluent Bit, Vector, syslog-ng, Filebeat), where the line is no
 * event as it is: without what shippers add, and with values in the form of the schema. Others are left as they are,
 * and refused. `deploy/docs/intake/shippers.md` lists what is read.
 *
 * @param value the parsed line
 */
export function eventOfRow(value: unknown, ids: LineIds): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  const row = value as Row
  const line = lineIn(row)
  const event: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(line === undefined ? row : { ...row, ...line })) {
    const value = READERS.get(name)?.(member) ?? member
    if (value !== '' && !isAdded(name, member) && name !== '__proto__') event[name] = value
  }
  const isTimed = event['ingestion_timestamp'] != null
  const timeName = isTimed ? undefined : (timeNameIn(line ?? {}) ?? timeNameIn(row))
  if (timeName !== undefined) event['ingestion_timestamp'] = timeOf(line?.[timeName] ?? row[timeName])
  event['event_id'] = idOf(event['event_id']) ?? ids.idOf(row, line === undefined ? timeName : undefined)
  return event
}

/** Reads the lines of a body, in their order. */
export function shippedRows(): (value: unknown) => unknown {
  const ids = new LineIds()
  return (value) => eventOfRow(value, ids)
}

type Row = Readonly<Record<string, unknown>>

/**
 * The ids of lines that have none: a line's own, which is the same in whatever batch it comes again, and which of those
 * that are equal within the batch it is.
 */
export class LineIds {
  private readonly seen = new Map<string, number>()

  /** @param timeName the member that is the call's time; the others of that kind say when a shipper has read the line */
  idOf(row: Row, timeName: string | undefined): string {
    const facts = Object.entries(row).filter(([name]) => name === timeName || !CHANGING.includes(name))
    const first = eventIdOf('', 'line', JSON.stringify(facts))
    const earlier = this.seen.get(first) ?? 0
    this.seen.set(first, earlier + 1)
    return earlier === 0 ? first : eventIdOf('', 'line', first, ` ${earlier}`)
  }
}

/** Where shippers put the text of a line. */
const LINES: readonly string[] = ['message', 'log', 'line', 'log_processed']

/** The members of an event that is a text, or an object, within what a shipper has made of its line. */
function lineIn(row: Row): Row | undefined {
  if (row['requested_model'] !== undefined) return undefined
  for (const name of LINES) {
    const line = objectOf(parsed(row[name]))
    if (line['requested_model'] !== undefined) return line
  }
  return undefined
}

function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*\{/.test(value)) return value
  try {
    return JSON.parse(value) as unknown
  } catch {
    return undefined
  }
}

/** Times that shippers state, and callers: those of the call first. Filebeat's own is `@timestamp`. */
const TIMES = ['time', '@timestamp', 'timestamp', 'date']
const TIMES_BESIDE_FILEBEAT = ['time', 'timestamp', 'date', '@timestamp']

function timeNameIn(row: Row): string | undefined {
  const isOfFilebeat = objectOf(row['agent'])['type'] !== undefined || row['@metadata'] !== undefined
  return (isOfFilebeat ? TIMES_BESIDE_FILEBEAT : TIMES).find((name) => timeOf(row[name]) !== undefined)
}

/** What differs when a shipper reads a line again, after a crash. */
const CHANGING: readonly string[] = ['@timestamp', 'timestamp', 'date', '@metadata', 'agent']

/** Objects of shippers, whose members may have any name. */
const ADDED: readonly string[] = ['kubernetes', 'docker', 'container', 'host', 'agent', 'ecs', 'cloud', '@metadata']

/** The text of a line beside the event, or what a shipper says of itself; what else it adds is no field and no content. */
function isAdded(name: string, member: unknown): boolean {
  if (typeof member === 'string') return LINES.includes(name.toLowerCase())
  if (name === 'input') return Object.keys(objectOf(member)).join() === 'type'
  return ADDED.includes(name) || (LINES.includes(name) && objectOf(member)['requested_model'] !== undefined)
}

/** @returns undefined for none, and for the words that stand for none */
function idOf(value: unknown): string | undefined {
  const text = nameOf(Number.isSafeInteger(value) ? String(value) : value)
  return text === undefined || UUID_TEXT.test(text) ? text : eventIdOf('', 'event', text)
}

function timeOf(value: unknown): string | undefined {
  if (typeof value === 'string' && parseInstant(value) !== undefined) return value
  const isNumber = typeof value === 'number' || (typeof value === 'string' && /^\d{12,20}$/.test(value))
  return timeText(instantOf(isNumber ? inSeconds(Number(value)) : value))
}

/** Of a time since 1970 in seconds, milliseconds, microseconds or nanoseconds. */
function inSeconds(time: number): number {
  let seconds = time
  while (seconds >= SECONDS_MAX) seconds /= 1_000
  return seconds
}
const SECONDS_MAX = 1e11

/** Reads a value in another form than the schema's; undefined for any other. */
type Reader = (value: unknown) => unknown

const count: Reader = (value) => countOf(value)
const milliseconds: Reader = (value) => {
  const ms = Math.round(typeof value === 'string' && DECIMAL.test(value) ? Number(value) : Number.NaN)
  return countOf(typeof value === 'number' ? Math.round(value) : ms)
}
const DECIMAL = /^\d{1,15}(\.\d{1,20})?$/
const flag: Reader = (value) => ({ true: true, false: false })[String(value).toLowerCase()]
const confidence: Reader = (value) => (typeof value === 'string' && DECIMAL.test(value) ? Number(value) : undefined)
/** A larger number has lost digits, and may be that of another call. */
const name: Reader = (value) =>
  typeof value !== 'number' ? undefined : Number.isSafeInteger(value) ? String(value) : ''

/** Numbers, and texts with an exponent. */
function amount(value: unknown): string | undefined {
  if (typeof value === 'string' && isAmount(value)) return value
  const steps = amountStepsOf(value)
  return steps === undefined || steps < 0n ? undefined : formatQuantity(steps as Quantity<'USD'>)
}

/** The members of an object, each read; those that are empty are absent. */
function membersBy(reader: Reader): Reader {
  return (value) => {
    if (objectOf(value) !== value) return undefined
    const members = Object.entries(value as Row).filter(([, member]) => member !== '' && member !== null)
    return Object.fromEntries(members.map(([key, member]) => [key, reader(member) ?? member]))
  }
}

/** By the schemas that fields share. */
const SHARED = new Map<unknown, Reader>([
  [OPTIONAL_NAME, name],
  [OPTIONAL_COUNT, count],
  [OPTIONAL_FLAG, flag],
  [OPTIONAL_AMOUNT, amount],
])
const READERS = new Map<string, Reader | undefined>([
  ...Object.entries(EVENT_FIELDS).map(([field, form]) => [field, SHARED.get(form)] as const),
  ['ingestion_timestamp', timeOf],
  ['latency_ms', milliseconds],
  ['attribution_confidence', confidence],
  ['billed_units', membersBy(amount)],
  ['tags', membersBy((value) => (typeof value === 'object' ? undefined : String(value)))],
])
