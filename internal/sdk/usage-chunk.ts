import { Answer, type Stated } from './answer.js'
import { isAt, joined, placeOf } from './bytes.js'
import { EventScanner, endsEvent, MAY_STATE, SAYS_NOTHING, searched } from './event-scanner.js'

const LINE_FEED = 0x0a
const EVENT_BYTES_MAX = 1_000_000
const encoder = new TextEncoder()
const USAGE = encoder.encode('usage"')
const NULL = encoder.encode('null')

/**
 * Takes out of a streamed chat what its caller did not ask for: the last event, which has only the usage, and
 * `"usage": null` in all others. Holds the begin of an event until its end has come.
 */
export class UsageChunkFilter {
  private held: Uint8Array = NONE
  private isUsageOnly = false
  private readonly scanner: EventScanner

  /** @param onAnswer told of each event, as of a scanner's answers */
  constructor(onAnswer: (stated: Stated) => void) {
    this.scanner = new EventScanner((stated) => {
      this.isUsageOnly = Answer.isUsageOnly(stated)
      onAnswer(stated)
    })
  }

  /** @returns what may pass on @param bytes undefined at the end */
  passed(bytes: Uint8Array | undefined): Uint8Array | undefined {
    if (bytes === undefined) return this.held.length === 0 ? undefined : this.take(this.held.length)
    const found = this.held.length === 0 && endsEvent(bytes) ? searched(bytes) : MAY_STATE
    if (found === SAYS_NOTHING || (found >= 0 && endOfEvent(bytes) === bytes.length)) {
      this.scanner.push(bytes, found)
      return found === SAYS_NOTHING ? bytes : withoutNullUsage(bytes, found + 1)
    }
    this.held = this.held.length === 0 ? bytes : joined([this.held, bytes])
    const passed: Uint8Array[] = []
    for (;;) {
      const end = endOfEvent(this.held)
      if (end === undefined) break
      const event = this.take(end)
      this.isUsageOnly = false
      this.scanner.push(event)
      if (!this.isUsageOnly) passed.push(withoutNullUsage(event))
    }
    // No such event is the usage.
    if (this.held.length > EVENT_BYTES_MAX) passed.push(this.take(this.held.length))
    // What was passed on is its reader's, who may transfer it.
    this.held = this.held.length === 0 ? NONE : this.held.slice()
    return passed.length === 0 ? undefined : joined(passed)
  }

  private take(length: number): Uint8Array {
    const taken = this.held.subarray(0, length)
    this.held = this.held.subarray(length)
    return taken
  }
}

const NONE = new Uint8Array(0)

/** Where the empty line after an event ends. */
function endOfEvent(bytes: Uint8Array): number | undefined {
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) {
    const next = bytes[at + 1] === 0x0d ? at + 2 : at + 1
    if (bytes[next] === LINE_FEED) return next + 1
  }
  return undefined
}

/** A quote within a text would be escaped, so that this is a member. */
function withoutNullUsage(event: Uint8Array, key = placeOf(USAGE, event)): Uint8Array {
  if (key < 0 || event[key - 1] !== 0x22) return event
  let from = key - 2
  while (isSpace(event[from])) from--
  let value = key + USAGE.length
  while (isSpace(event[value]) || event[value] === 0x3a) value++
  if (event[from] !== 0x2c || !isAt(NULL, event, value)) return event
  const end = value + NULL.length
  const rest = new Uint8Array(event.length - (end - from))
  rest.set(event.subarray(0, from))
  // Mostly the end of the event.
  for (let at = end; at < event.length; at++) rest[at - end + from] = event[at] as number
  return rest
}

const isSpace = (byte: number | undefined): boolean => byte === 0x20
