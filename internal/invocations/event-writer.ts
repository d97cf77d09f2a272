import { placeOf, type WrittenMember } from './hot-reader.js'
import type { InvocationEvent } from './invocation-schema.js'

/** The fields of an event; those that are undefined are left out. */
export type EventParts = { readonly [F in keyof InvocationEvent]: InvocationEvent[F] | undefined }

/** An event with a few names; the buffer grows with longer ones. */
const BYTES_USUAL = 4 * 1024
/** A character of a JSON text takes six bytes at most, as `\u0000`. */
const ESCAPED_BYTES_MAX = 6
/** Quotes, comma, colon and the longest number. */
const BESIDES_BYTES_MAX = 64

/**
 * Writes events as JSON in UTF-8, one at a time: what `JSON.stringify` writes, without making strings of it.
 *
 * The events of one source have the same fields in the same order, and often the same values: a member that is that of
 * the event before is copied.
 */
export class EventWriter {
  /** Holds the last event, until the next is written. */
  bytes = Buffer.allocUnsafe(BYTES_USUAL)
  /** Its members, in order; there may be more behind them. */
  readonly members: readonly WrittenMember[]
  /** How many it has. */
  count = 0
  private view = viewOf(this.bytes)
  private at = 0
  private readonly written: Member[] = []

  constructor() {
    this.members = this.written
  }

  /** @returns its length in `bytes` */
  write(event: EventParts): number {
    this.at = 1
    let place = 0
    for (const field in event) {
      const value = event[field as keyof EventParts]
      if (value === undefined) continue
      const member = this.memberAt(place++, field)
      member.start = this.at + member.nameLength
      if (typeof value === 'string') this.writeMember(member, value)
      else {
        member.isUsual = false
        this.reserve(member.length)
        this.append(member, member.nameLength)
        this.writeOther(value)
        this.bytes[this.at++] = COMMA
      }
      member.end = this.at - 1
    }
    this.count = place
    if (place === 0) this.at++
    this.bytes[0] = OPEN_OBJECT
    // In the place of the last comma.
    this.bytes[this.at - 1] = CLOSE_OBJECT
    return this.at
  }

  /** Forgets what it has written, which may name people. */
  forget(): void {
    this.bytes = this.bytes.length > BYTES_USUAL ? Buffer.alloc(BYTES_USUAL) : this.bytes.fill(0)
    this.view = viewOf(this.bytes)
    this.count = 0
    for (const member of this.written) {
      member.bytes.fill(0, member.nameLength)
      member.value = undefined
    }
  }

  private memberAt(place: number, field: string): Member {
    const known = this.written[place]
    if (known?.field === field) return known
    const bytes = Buffer.alloc(MEMBER_BYTES_MAX)
    const nameLength = bytes.write(`${JSON.stringify(field)}:`)
    const member: Member = {
      field,
      place: placeOf(field),
      start: 0,
      end: 0,
      isUsual: false,
      bytes,
      view: viewOf(bytes),
      nameLength,
      value: undefined,
      length: nameLength,
    }
    this.written[place] = member
    return member
  }

  private writeMember(member: Member, value: string): void {
    const { bytes, nameLength } = member
    if (member.value === value) {
      this.reserve(member.length)
      this.append(member, member.length)
      return
    }
    member.isUsual = false
    this.reserve(nameLength + value.length)
    const start = this.at
    this.append(member, nameLength)
    this.writeText(value)
    this.bytes[this.at++] = COMMA
    const length = this.at - start
    if (value.length > REPEATED_MAX || length > MEMBER_BYTES_MAX) return
    for (let i = nameLength; i < length; i++) bytes[i] = this.bytes[start + i] as number
    member.value = value
    member.length = length
  }

  /** Four bytes at a time, the last of which may lie beyond the length. */
  private append({ view: from }: Member, length: number): void {
    const { view, at } = this
    for (let i = 0; i < length; i += 4) view.setUint32(at + i, from.getUint32(i))
    this.at = at + length
  }

  private writeText(text: string): void {
    const { bytes, at } = this
    const { length } = text
    bytes[at] = QUOTE
    for (let i = 0; i < length; i++) {
      const code = text.charCodeAt(i)
      if (code < 0x20 || code > 0x7e || code === QUOTE || code === BACKSLASH) {
        this.at += bytes.write(JSON.stringify(text), at)
        return
      }
      bytes[at + 1 + i] = code
    }
    bytes[at + 1 + length] = QUOTE
    this.at = at + length + 2
  }

  private writeOther(value: EventParts[keyof EventParts]): void {
    if (typeof value === 'number' && value >= 0 && value <= SMALL_MAX && Number.isInteger(value)) {
      let unit = 1
      while (value >= unit * 10) unit *= 10
      for (; unit >= 1; unit = Math.floor(unit / 10)) this.bytes[this.at++] = DIGIT_0 + (Math.floor(value / unit) % 10)
      return
    }
    const json = JSON.stringify(value)
    this.reserve(json.length)
    this.at += this.bytes.write(json, this.at)
  }

  /** Reserves space for a text of a number of characters and for what surrounds it. */
  private reserve(characters: number): void {
    const needed = this.at + characters * ESCAPED_BYTES_MAX + BESIDES_BYTES_MAX
    if (needed <= this.bytes.length) return
    const longer = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2))
    this.bytes.copy(longer, 0, 0, this.at)
    this.bytes = longer
    this.view = viewOf(longer)
  }
}

/** `"field":"value",`, of the last value that was short. */
interface Member extends WrittenMember {
  readonly field: string
  start: number
  end: number
  readonly bytes: Buffer
  readonly view: DataView
  /** Of its name and the colon. */
  readonly nameLength: number
  value: string | undefined
  length: number
}

const viewOf = ({ buffer, byteOffset, length }: Buffer): DataView => new DataView(buffer, byteOffset, length)

/** Longer values are ids, each of which comes once. */
const REPEATED_MAX = 31
const MEMBER_BYTES_MAX = 128

/** Token counts and milliseconds. */
const SMALL_MAX = 99_999_999
const DIGIT_0 = 0x30
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
