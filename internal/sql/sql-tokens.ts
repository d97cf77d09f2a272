/**
 * A query's text as words, names, texts and signs, in a form in which nothing can hide: written again as one line of
 * printable characters, without comments, in which a backslash occurs only before another one.
 *
 * So no name or text, wherever the engine lets it begin and end, contains a line break. `syntax-tree.ts` relies on
 * that: the engine prints a tree line by line, and does not escape names.
 */

export interface Token {
  readonly kind: 'word' | 'name' | 'text' | 'number' | 'sign'
  /** As it is written again. Of a name without its quotes. */
  readonly text: string
}

/** A query that cannot be read; the message is shown to its sender. */
export class UnreadableQuery extends Error {}

/** Characters of a query. */
const QUERY_CHARACTERS_MAX = 64 * 1024

const SKIPPED = /(?:[ \t\r\n\f]+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/)+/y
const WORD = /[A-Za-z_][A-Za-z0-9_]*/y
const NUMBER = /(?:0x[0-9A-Fa-f]+|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)/y
const QUOTED_NAME = /`([^`\\\p{Cc}]+)`|"([^"\\\p{Cc}]+)"/uy
/** Of escapes, not those that the engine decodes to control characters, bytes or nothing. */
const TEXT = /'((?:[^'\\\p{Cc}]|''|\\x(?:[2-6][\dA-Fa-f]|7[\dA-Ea-e])|\\[^abefnrtv0xN\p{Cc}])*)'/uy
/** `->` is not among them: a function made in a query could take the name of one that the views are written with. */
const SIGN = /::|<=>|<=|>=|<>|!=|==|\|\||[(),.*=<>+\-/%?:[\]{};]/y

/** @throws UnreadableQuery */
export function readTokens(query: string): Token[] {
  if (query.length > QUERY_CHARACTERS_MAX) {
    throw new UnreadableQuery(`The query is longer than ${QUERY_CHARACTERS_MAX} characters`)
  }
  const tokens: Token[] = []
  for (let at = skipped(query, 0); at < query.length; at = skipped(query, at)) {
    const [token, end] = tokenAt(query, at)
    tokens.push(token)
    at = end
  }
  return tokens
}

const matchAt = (pattern: RegExp, query: string, at: number): RegExpExecArray | undefined => {
  pattern.lastIndex = at
  return pattern.exec(query) ?? undefined
}

const skipped = (query: string, at: number): number => at + (matchAt(SKIPPED, query, at)?.[0].length ?? 0)

function tokenAt(query: string, at: number): readonly [Token, end: number] {
  const whole = (pattern: RegExp): string | undefined => matchAt(pattern, query, at)?.[0]
  const word = whole(WORD)
  if (word !== undefined) return [{ kind: 'word', text: word }, at + word.length]
  const number = whole(NUMBER)
  if (number !== undefined) {
    // `1_000` must not become `1 _000`.
    const end = at + number.length
    if (matchAt(WORD, query, end) !== undefined)
      throw new UnreadableQuery(`This number cannot be read (position ${at + 1})`)
    return [{ kind: 'number', text: number }, end]
  }
  const name = matchAt(QUOTED_NAME, query, at)
  if (name !== undefined) return [{ kind: 'name', text: name[1] ?? name[2] ?? '' }, at + name[0].length]
  const text = matchAt(TEXT, query, at)
  if (text !== undefined) return [{ kind: 'text', text: rewritten(text[1] ?? '') }, at + text[0].length]
  const sign = whole(SIGN)
  if (sign !== undefined && !query.startsWith('->', at) && !query.startsWith('/*', at))
    return [{ kind: 'sign', text: sign }, at + sign.length]
  throw new UnreadableQuery(`${reasonAt(query, at)} (position ${at + 1})`)
}

function reasonAt(query: string, at: number): string {
  if (query.startsWith('->', at)) return 'Lambda functions are not allowed'
  if (query.startsWith('/*', at)) return 'This comment is not closed'
  switch (query[at]) {
    case "'":
      return 'This text is not closed, or has a control character, as it is or escaped; send it as a parameter'
    case '`':
    case '"':
      return 'This quoted name is not closed, is empty, or contains a backslash or a control character'
    default:
      return 'This character is not allowed here'
  }
}

/** As the engine decodes it: it keeps the backslash before what is no escape, such as `\%` and `\s` of a pattern. */
const rewritten = (text: string): string =>
  text.replace(/''|\\x(..)|\\(.)/gu, (_, hex?: string, escaped = "'") => {
    const decoded = hex === undefined ? escaped : String.fromCharCode(Number.parseInt(hex, 16))
    if (decoded === "'") return "''"
    const isPlain = hex !== undefined || '"`/='.includes(decoded)
    return decoded !== '\\' && isPlain ? decoded : `\\\\${decoded === '\\' ? '' : decoded}`
  })

/** A query of these tokens, as one line. */
export const writeTokens = (tokens: readonly Token[]): string => tokens.map(written).join(' ')

function written({ kind, text }: Token): string {
  switch (kind) {
    case 'name':
      return text.includes('`') ? `"${text}"` : `\`${text}\``
    case 'text':
      return `'${text}'`
    default:
      return text
  }
}

/** Whether a token is a word that the language knows, in any case. */
export const isWord = (token: Token | undefined, ...words: readonly string[]): boolean =>
  token?.kind === 'word' && words.includes(token.text.toUpperCase())

export const isSign = (token: Token | undefined, sign: string): boolean => token?.kind === 'sign' && token.text === sign

/** Whether a token is the name of something: quoted, or a word. */
export const isName = (token: Token | undefined, name: string): boolean =>
  (token?.kind === 'name' || token?.kind === 'word') && token.text === name
