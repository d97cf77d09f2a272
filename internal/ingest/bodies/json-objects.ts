import { CLOSE_ARRAY, COMMA, isBlank, OPEN_ARRAY, OPEN_OBJECT } from '../../text/json-scanner.js'
import type { GrowingBytes } from './growing-bytes.js'
import { addNull, JsonCopy, type Kept, type KeptMembers, LINE_FEED, SPACE, spacesEnd } from './json-copy.js'

/** Of one body, most of which may be no calls. */
export const PAYLOADS_MAX = 100_000
/** Far beyond any payload. */
const DEPTH_MAX = 1_000
/** What begins each text of a sequence (RFC 7464), and the mark that some programs put before a text in UTF-8. */
const BETWEEN: ReadonlySet<number> = new Set([0x1e, 0xef, 0xbb, 0xbf])

/**
 * The objects of a body: lines, arrays, a single one on many lines, one behind the other, and all of these mixed. Each
 * is a unit; what is between them is counted as one that is broken, by line or element.
 */
export class JsonObjects extends JsonCopy {
  /** Where each lies in the copy, in their order; one that is broken is empty. */
  readonly starts: number[] = []
  readonly ends: number[] = []
  protected readonly hasLines = true
  protected readonly hasLists = false
  protected readonly afterUnit = 'between'
  protected readonly beforeUnit = 'between'
  /** Longer than any id. */
  protected readonly scalarBytesMax = 128 * 1024
  private readonly form: KeptMembers
  protected isInArray = false
  /** Of the list: how many came before it, whether an object is in it, and whether its last element is none. */
  private countBefore = 0
  private hasObject = false
  private isAfterOther = false
  /** The line holds no object, and is counted. */
  private isLineCounted = false

  constructor(kept: GrowingBytes, form: KeptMembers) {
    super(kept, DEPTH_MAX)
    this.form = form
  }

  get count(): number {
    return this.starts.length
  }

  end(): void {
    if (this.state === 'literal' && this.depth === 0) this.endLiteral()
    if (this.isInUnit) this.rejectUnit()
  }

  protected between(bytes: Buffer, at: number): number {
    if (this.isLineCounted) return this.passLine(bytes, at)
    const byte = bytes[at] as number
    if (byte === SPACE) return spacesEnd(bytes, at + 1)
    this.steps++
    if (byte === LINE_FEED) this.onLine()
    if (isBlank(byte) || BETWEEN.has(byte)) return at + 1
    if (byte === OPEN_OBJECT && !(this.isAfterOther && !this.hasObject)) {
      this.hasObject = true
      return this.unit(byte, at, this.form)
    }
    if (byte === COMMA) {
      this.isAfterOther = false
      return at + 1
    }
    if (this.isInArray) return this.inList(byte, at)
    if (byte !== OPEN_ARRAY) return this.rejectLine(at)
    this.isInArray = true
    this.countBefore = this.count
    this.hasObject = false
    return at + 1
  }

  protected override onLine(): void {
    if (this.isAfterOther && !this.hasObject) this.rejectList()
  }

  /** What is no object in a list: an element, or the text of a line that begins with a bracket. */
  private inList(byte: number, at: number): number {
    if (this.isAfterOther && !this.hasObject && byte !== CLOSE_ARRAY) {
      this.rejectList()
      this.isLineCounted = true
      return at
    }
    this.isAfterOther = false
    if (byte !== CLOSE_ARRAY) return this.unit(byte, at, undefined)
    const isOfOthers = !this.hasObject && this.count > this.countBefore
    if (isOfOthers) this.rejectList()
    this.isLineCounted = isOfOthers
    this.isInArray = false
    return at + 1
  }

  private unit(byte: number, at: number, form: KeptMembers | undefined): number {
    this.beginUnit()
    this.isUnitBad = form === undefined
    this.isAfterOther = form === undefined
    this.member = form
    return this.value(byte, at)
  }

  /** Its elements were words of a line, which is one thing. */
  private rejectList(): void {
    this.starts.length = this.countBefore
    this.ends.length = this.countBefore
    this.onUnit(true)
    this.isInArray = false
    this.isAfterOther = false
  }

  private rejectLine(at: number): number {
    this.onUnit(true)
    this.isLineCounted = true
    return at
  }

  private passLine(bytes: Buffer, at: number): number {
    const feed = bytes.indexOf(LINE_FEED, at)
    this.isLineCounted = feed < 0
    return feed < 0 ? bytes.length : feed
  }

  protected onUnit(isBad: boolean): void {
    // One more is enough to refuse the body.
    if (this.count > PAYLOADS_MAX) return
    this.starts.push(isBad ? this.kept.length : this.unitStart)
    this.ends.push(this.kept.length)
  }

  protected memberOf({ members, others }: KeptMembers, start: number, end: number): Kept | undefined {
    return members.get(this.kept.bytes.toString('utf8', start, end)) ?? others
  }

  /** Names that are not known are counted. */
  protected writeDropped(): void {
    addNull(this.kept)
  }

  protected isUnit(): boolean {
    return false
  }

  protected checkScalar(): void {
    // The payload's reader does.
  }

  protected failOutside(at: number): number {
    return this.rejectLine(at)
  }
}
