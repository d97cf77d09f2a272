/**
 * Reads JSON, or a literal of arrays and objects in a JavaScript module, without executing it. Numbers stay the text
 * that the file has: `1.5e-07` has no exact binary form, and a price must be exact.
 */
export type Literal = string | boolean | null | readonly Literal[] | { readonly [name: string]: Literal }

/** Deeper than any price list. */
const DEPTH_MAX = 32

/** @throws SyntaxError when the text is not one literal. @param from index of the first character of one in a module */
export function readLiteral(text: string, from?: number): Literal {
  const reader = new LiteralReader(text, from ?? 0)
  const value = reader.value(0)
  if (from === undefined) reader.end()
  return value
}

const NUMBER = /[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y
const NAME = /[A-Za-z_$][\w$]*/y
const SPACE = /(?:\s|\/\*[\s\S]*?\*\/)*/y
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f', '0': '\0' }
const WORDS: Readonly<Record<string, Literal>> = { true: true, false: false, null: null }

class LiteralReader {
  private readonly text: string
  private at: number

  constructor(text: string, at: number) {
    this.text = text
    this.at = at
  }

  value(depth: number): Literal {
    if (depth > DEPTH_MAX) throw this.error('too many levels')
    this.take(SPACE)
    const first = this.text[this.at] ?? ''
    if (first === '[') return this.array(depth)
    if (first === '{') return this.object(depth)
    if (first === '"' || first === "'" || first === '`') return this.string(first)
    // What minifiers make of true and false.
    if (first === '!') {
      this.at += 2
      return this.text[this.at - 1] === '0'
    }
    const number = this.take(NUMBER)
    if (number !== undefined) return number
    const word = WORDS[this.take(NAME) ?? '']
    if (word === undefined) throw this.error('not a literal')
    return word
  }

  end(): void {
    this.take(SPACE)
    if (this.at < this.text.length) throw this.error('more than one literal')
  }

  private array(depth: number): readonly Literal[] {
    const items: Literal[] = []
    for (this.at += 1; !this.isEnd(']'); this.comma(']')) items.push(this.value(depth + 1))
    return items
  }

  private object(depth: number): Literal {
    const members: [string, Literal][] = []
    for (this.at += 1; !this.isEnd('}'); this.comma('}')) {
      const first = this.text[this.at] ?? ''
      const name = first === '"' || first === "'" ? this.string(first) : (this.take(NAME) ?? this.take(NUMBER))
      if (name === undefined) throw this.error('a name is expected')
      this.take(SPACE)
      if (this.text[this.at] !== ':') throw this.error('a colon is expected')
      this.at += 1
      members.push([name, this.value(depth + 1)])
    }
    return Object.fromEntries(members)
  }

  private isEnd(bracket: string): boolean {
    this.take(SPACE)
    if (this.text[this.at] !== bracket) return false
    this.at += 1
    return true
  }

  private comma(bracket: string): void {
    this.take(SPACE)
    const next = this.text[this.at]
    if (next === ',') this.at += 1
    else if (next !== bracket) throw this.error('a comma is expected')
  }

  private string(quote: string): string {
    let read = ''
    for (let from = ++this.at; ; ) {
      const next = this.text[this.at]
      if (next === undefined) throw this.error('a string has no end')
      if (quote === '`' && next === '$' && this.text[this.at + 1] === '{') throw this.error('a string is computed')
      if (next !== quote && next !== '\\') {
        this.at += 1
        continue
      }
      read += this.text.slice(from, this.at)
      this.at += 1
      if (next === quote) return read
      read += this.escaped()
      from = this.at
    }
  }

  private escaped(): string {
    const letter = this.text[this.at++] ?? ''
    if (letter !== 'u' && letter !== 'x') return ESCAPES[letter] ?? letter
    const digits = this.text.slice(this.at, this.at + (letter === 'u' ? 4 : 2))
    this.at += digits.length
    return String.fromCharCode(Number.parseInt(digits, 16))
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0]
    this.at += found?.length ?? 0
    return found
  }

  private error(what: string): SyntaxError {
    return new SyntaxError(`${what} at character ${this.at}`)
  }
}
