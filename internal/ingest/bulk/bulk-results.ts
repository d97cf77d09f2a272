import type { InvocationEvent } from '../../invocations/invocation-schema.js'
import { type ErrorCode, type FieldError, type Problem, problem } from '../../problems/problem-catalogue.js'
import { AcceptedText } from '../admission/accepted-text.js'
import type { Answer } from '../admission/answers.js'
import type { EventIds } from '../admission/check-event.js'
import type { BulkItem } from './bulk-body.js'

/** A rejected event in the answer, in wire form. */
interface Rejected {
  readonly index: number
  readonly event_id?: string
  readonly error_code: ErrorCode
  readonly errors?: readonly FieldError[]
}

/** Field errors in the answer to a request without any accepted event. */
const ERRORS_MAX = 100
/** Of one event among many: fewer than of one that comes alone, since there may be thousands. */
const EVENT_ERRORS_MAX = 5
/** For all events together; later errors are reported by code only. */
const ERROR_BYTES_MAX = 1024 * 1024

/** What follows the index of an accepted event, and the comma behind it. */
const ACCEPTED = new AcceptedText(
  (invocationId, eventId, duplicate) =>
    `,"event_id":"${eventId}","invocation_id":"${invocationId}","duplicate":${duplicate}},`,
)
const ACCEPTED_BYTES = 140
const INDEX = Buffer.from('{"index":')
const ZERO = 0x30
/** Where the results begin; the head, whose numbers are known last, is written to end there. */
const HEAD_BYTES = 64

/** The answer to a bulk request, written while its events are processed; one result per event, in order. */
export class BulkResults {
  private bytes: Buffer
  private length = HEAD_BYTES
  private count = 0
  private rejected = 0
  private errorBytes = 0
  /** Field errors reported when no event is accepted. */
  private readonly firstErrors: FieldError[] = []

  /** @param count of events, as many results are expected */
  constructor(count: number) {
    this.bytes = Buffer.allocUnsafe(HEAD_BYTES + count * ACCEPTED_BYTES + 2)
  }

  accept(ids: EventIds, isDuplicate: boolean): void {
    this.makeRoom(ACCEPTED_BYTES)
    this.writeIndex(this.count++)
    const rest = ACCEPTED.of(ids, isDuplicate)
    this.bytes.set(rest, this.length)
    this.length += rest.length
  }

  reject(item: BulkItem, { code, detail, errors }: Problem): void {
    const { index } = item
    const own = firstOf(errors ?? [{ pointer: '', detail }])
    for (const error of own) {
      if (this.firstErrors.length === ERRORS_MAX) break
      this.firstErrors.push({ ...error, pointer: `/${index}${error.pointer}` })
    }
    const eventId = (item.value() as Partial<InvocationEvent> | undefined | null)?.event_id
    const rejected: Rejected = {
      index,
      // Only a well-formed id is echoed.
      ...(typeof eventId === 'string' && /^[0-9a-fA-F-]{36}$/.test(eventId) ? { event_id: eventId } : {}),
      error_code: code,
      ...(this.errorBytes < ERROR_BYTES_MAX ? { errors: own } : {}),
    }
    this.rejected++
    const text = Buffer.from(`${JSON.stringify(rejected)},`)
    this.errorBytes += text.length
    this.makeRoom(text.length)
    this.bytes.set(text, this.length)
    this.length += text.length
    this.count++
  }

  /** 202 with all results, or 422 when no event was accepted. Call it once, at the end. */
  answer(): Answer {
    const { count, rejected, bytes, firstErrors: errors } = this
    if (rejected < count) {
      const head = `{"accepted":${count - rejected},"rejected":${rejected},"results":[`
      const start = HEAD_BYTES - head.length
      bytes.write(head, start, 'latin1')
      // In place of the last comma.
      const end = this.length - 1 + bytes.write(']}', this.length - 1, 'latin1')
      return { kind: 'accepted', body: bytes.subarray(start, end) }
    }
    return { kind: 'refused', problem: problem('VALIDATION_FAILED', 'No event was accepted.', { errors }) }
  }

  /** `{"index":` and the number, at the end of what is written. */
  private writeIndex(index: number): void {
    const { bytes } = this
    for (let i = 0; i < INDEX.length; i++) bytes[this.length++] = INDEX[i] as number
    let unit = 1
    while (unit * 10 <= index) unit *= 10
    for (; unit >= 1; unit = Math.floor(unit / 10)) bytes[this.length++] = ZERO + (Math.floor(index / unit) % 10)
  }

  /** Ensures space for this many bytes, and for the end. */
  private makeRoom(bytes: number): void {
    if (this.length + bytes + 2 <= this.bytes.length) return
    const larger = Buffer.allocUnsafe(2 * (this.bytes.length + bytes))
    larger.set(this.bytes.subarray(0, this.length))
    this.bytes = larger
  }
}

/** The first errors of an event, and that there are more. */
function firstOf(errors: readonly FieldError[]): readonly FieldError[] {
  const more = errors.length - EVENT_ERRORS_MAX
  if (more <= 0) return errors
  return [...errors.slice(0, EVENT_ERRORS_MAX), { pointer: '', detail: `has ${more} more errors` }]
}
