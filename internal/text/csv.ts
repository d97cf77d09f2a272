/** No row of a table of calls is longer, even with its messages. */
const ROW_CHARACTERS_MAX = 64 * 1024 * 1024

/** A record of a CSV file. */
export interface CsvRecord {
  readonly fields: readonly (string | undefined)[]
  /** Where it begins, from 1. */
  readonly line: number
}

/**
 * Reads CSV (RFC 4180) as it comes: quoted fields may have line breaks; an empty field that is not quoted is undefined.
 *
 * @throws Error that names the line, never its text
 */
export class CsvReader {
  private fields: (string | undefined)[] = []
  private field = ''
  private state: 'start' | 'plain' | 'quoted' | 'quote' = 'start'
  private line = 1
  private firstLine = 1

  private append(sign: string): void {
    this.field += sign
    if (this.field.length > ROW_CHARACTERS_MAX) throw new Error(`line ${this.firstLine} is too long`)
  }

  *read(chunk: string): Generator<CsvRecord> {
    for (const sign of chunk) {
      if (sign === '\n') this.line++
      if (this.state === 'quoted') {
        if (sign === '"') this.state = 'quote'
        else this.append(sign)
      } else if (sign === '"' && this.state !== 'plain') {
        // The second of two quotes is one that belongs to the text.
        if (this.state === 'quote') this.append(sign)
        this.state = 'quoted'
      } else if (sign === ',') this.endField()
      else if (sign === '\n') yield* this.endRecord()
      else if (sign !== '\r') {
        this.state = 'plain'
        this.append(sign)
      }
    }
  }

  *end(): Generator<CsvRecord> {
    if (this.state === 'quoted')
      throw new Error(`a quoted field that begins after line ${this.firstLine - 1} does not end`)
    yield* this.endRecord()
  }

  private endField(): void {
    this.fields.push(this.state === 'start' ? undefined : this.field)
    this.field = ''
    this.state = 'start'
  }

  private *endRecord(): Generator<CsvRecord> {
    const isBlank = this.fields.length === 0 && this.state === 'start'
    this.endField()
    if (!isBlank) yield { fields: this.fields, line: this.firstLine }
    this.fields = []
    this.firstLine = this.line
  }
}

/**
 * How a text begins that a spreadsheet reads as a formula (OWASP, CSV injection), also behind apostrophes: with a sign or
 * a form of it (`＝`), also after spaces and what is not shown; or with a tab or line end. JavaScript and RE2 read it
 * alike.
 */
export const FORMULA = "^'*(?:[\\p{Z}\\p{Cc}\\p{Cf}]*[=+\\-@＝＋－＠﹦﹢﹣﹫⁼⁺₌₊﬩]|[\\t\\r\\n])"
const IS_FORMULA = new RegExp(FORMULA, 'u')

/** With an apostrophe in front where a spreadsheet would read a formula; all texts stay different from each other. */
export const neutralised = (text: string): string => (IS_FORMULA.test(text) ? `'${text}` : text)

/** The text that was neutralised. */
export const restored = (text: string): string => (text.startsWith("'") && IS_FORMULA.test(text) ? text.slice(1) : text)

/** A field as CSV, quoted where it must be. */
export const csvField = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text)
