import { comparableName } from '../../text/comparable-name.js'
import { parseJson } from '../../text/parse-json.js'
import { attributeIn } from './scim-names.js'

/** Filters and paths (RFC 7644 sections 3.4.2.2 and 3.5.2): how they are read, and what they select. */

export type Filter =
  | { readonly kind: 'and'; readonly left: Filter; readonly right: Filter }
  | { readonly kind: 'or'; readonly left: Filter; readonly right: Filter }
  | { readonly kind: 'not'; readonly of: Filter }
  | { readonly kind: 'present'; readonly attribute: string }
  | { readonly kind: 'compare'; readonly attribute: string; readonly by: Comparator; readonly to: Operand }

export type Operand = string | boolean | null
type Comparator = keyof typeof COMPARES

/** The target of an operation of a PATCH: `members[value eq "idn_…"].display`. */
export interface Path {
  /** In lower case, without the URN of a core schema. */
  readonly attribute: string
  readonly filter?: Filter
  readonly sub?: string
}

/** A text beyond this is not read. */
const FILTER_CHARACTERS_MAX = 4_096
/** Brackets and negations in each other. */
const DEPTH_MAX = 32

/** @returns undefined where it is not of RFC 7644's grammar */
export const readFilter = (text: string): Filter | undefined =>
  read(text, (tokens) => {
    const filter = readOr(tokens, 0)
    return tokens.next() === undefined ? filter : undefined
  })

/** @returns undefined where it is not of RFC 7644's grammar */
export const readPath = (text: string): Path | undefined =>
  read(text, (tokens) => {
    const attribute = tokens.attribute()
    if (attribute === undefined) return undefined
    const filter = tokens.takes('[') ? readOr(tokens, 1) : undefined
    if (filter !== undefined && !tokens.takes(']')) return undefined
    const sub = filter === undefined ? undefined : tokens.sub()
    return tokens.next() === undefined
      ? { attribute, ...(filter && { filter }), ...(sub !== undefined && { sub }) }
      : undefined
  })

class NotAFilter extends Error {}

function read<T>(text: string, readTokens: (tokens: Tokens) => T | undefined): T | undefined {
  if (text.length > FILTER_CHARACTERS_MAX) return undefined
  try {
    return readTokens(new Tokens(text))
  } catch (cause) {
    if (cause instanceof NotAFilter) return undefined
    throw cause
  }
}

const TOKEN = /\s*([()[\]]|"(?:[^"\\]|\\.)*"|\.?[\p{L}_$][\p{L}\p{N}_$.:-]*)/uy
const OPERAND = /\s*("(?:[^"\\]|\\.)*"|[^\s()[\]"]+)/y

class Tokens {
  private readonly text: string
  private at = 0

  constructor(text: string) {
    this.text = text.trim()
  }

  private peek(): readonly [token: string, end: number] | undefined {
    TOKEN.lastIndex = this.at
    const [, token] = TOKEN.exec(this.text) ?? []
    if (token === undefined) {
      if (this.at < this.text.length) throw new NotAFilter()
      return undefined
    }
    return [token, TOKEN.lastIndex]
  }

  next(): string | undefined {
    const [token, end] = this.peek() ?? []
    this.at = end ?? this.at
    return token
  }

  /** Passes a bracket or word, in whatever case. */
  takes(word: string): boolean {
    const [token, end] = this.peek() ?? []
    if (end === undefined || token?.toLowerCase() !== word) return false
    this.at = end
    return true
  }

  attribute(): string | undefined {
    const token = this.next()
    return token !== undefined && /^[\p{L}_$]/u.test(token) ? attributeIn(token) : undefined
  }

  operand(): string {
    OPERAND.lastIndex = this.at
    const [, text] = OPERAND.exec(this.text) ?? []
    if (text === undefined) throw new NotAFilter()
    this.at = OPERAND.lastIndex
    return text
  }

  /** `.display` behind a bracket. */
  sub(): string | undefined {
    const [token, end] = this.peek() ?? []
    if (end === undefined || token?.startsWith('.') !== true) return undefined
    this.at = end
    return token.slice(1).toLowerCase()
  }
}

function readOr(tokens: Tokens, depth: number): Filter {
  let left = readAnd(tokens, depth)
  while (tokens.takes('or')) left = { kind: 'or', left, right: readAnd(tokens, depth) }
  return left
}

function readAnd(tokens: Tokens, depth: number): Filter {
  let left = readTerm(tokens, depth)
  while (tokens.takes('and')) left = { kind: 'and', left, right: readTerm(tokens, depth) }
  return left
}

function readTerm(tokens: Tokens, depth: number): Filter {
  if (depth > DEPTH_MAX) throw new NotAFilter()
  if (tokens.takes('not')) {
    if (!tokens.takes('(')) throw new NotAFilter()
    return { kind: 'not', of: readGroup(tokens, depth) }
  }
  if (tokens.takes('(')) return readGroup(tokens, depth)
  const attribute = tokens.attribute()
  if (attribute === undefined) throw new NotAFilter()
  if (!tokens.takes('[')) return readComparison(tokens, attribute)
  // `emails[type eq "work"]`, and as some clients write it `emails[type eq "work"].value eq "…"`.
  const inner = within(attribute, readOr(tokens, depth + 1))
  if (!tokens.takes(']')) throw new NotAFilter()
  const sub = tokens.sub()
  return sub === undefined ? inner : { kind: 'and', left: inner, right: readComparison(tokens, `${attribute}.${sub}`) }
}

function readGroup(tokens: Tokens, depth: number): Filter {
  const filter = readOr(tokens, depth + 1)
  if (!tokens.takes(')')) throw new NotAFilter()
  return filter
}

function readComparison(tokens: Tokens, attribute: string): Filter {
  const word = tokens.next()?.toLowerCase() ?? ''
  if (word === 'pr') return { kind: 'present', attribute }
  if (!isComparator(word)) throw new NotAFilter()
  return { kind: 'compare', attribute, by: word, to: operandIn(tokens.operand()) }
}

/** Some clients write a text without quotes. */
function operandIn(text: string): Operand {
  if (text.startsWith('"')) {
    const value = parseJson(Buffer.from(text))
    if (typeof value !== 'string') throw new NotAFilter()
    return value
  }
  const literal = text.toLowerCase()
  if (literal === 'null') return null
  return literal === 'true' || literal === 'false' ? literal === 'true' : text
}

const isComparator = (word: string): word is Comparator => Object.hasOwn(COMPARES, word)

/** A filter of the values of an attribute, as one of the resource. */
function within(attribute: string, filter: Filter): Filter {
  if (filter.kind === 'not') return { kind: 'not', of: within(attribute, filter.of) }
  if (filter.kind === 'and' || filter.kind === 'or') {
    return { ...filter, left: within(attribute, filter.left), right: within(attribute, filter.right) }
  }
  return { ...filter, attribute: `${attribute}.${filter.attribute}` }
}

/** A resource for filters: its values of an attribute; undefined where its kind has no such attribute. */
export type ValuesOf = (attribute: string) => ReadonlySet<string> | readonly (string | boolean)[] | undefined

const COMPARES = {
  eq: (one: string, other: string) => one === other,
  ne: (one: string, other: string) => one !== other,
  co: (one: string, other: string) => one.includes(other),
  sw: (one: string, other: string) => one.startsWith(other),
  ew: (one: string, other: string) => one.endsWith(other),
  gt: (one: string, other: string) => one > other,
  ge: (one: string, other: string) => one >= other,
  lt: (one: string, other: string) => one < other,
  le: (one: string, other: string) => one <= other,
}

/** Attributes whose values have a case (RFC 7643 sections 3.1 and 4.2). */
const CASE_EXACT: ReadonlySet<string> = new Set([
  'id',
  'externalid',
  'members',
  'members.value',
  'groups',
  'groups.value',
  'value',
])

export function isSelected(filter: Filter, valuesOf: ValuesOf): boolean {
  switch (filter.kind) {
    case 'and':
      return isSelected(filter.left, valuesOf) && isSelected(filter.right, valuesOf)
    case 'or':
      return isSelected(filter.left, valuesOf) || isSelected(filter.right, valuesOf)
    case 'not':
      return !isSelected(filter.of, valuesOf)
    case 'present':
      return countOf(valuesOf(filter.attribute) ?? []) > 0
    case 'compare':
      return isEqualOrSo(filter, valuesOf(filter.attribute) ?? [])
  }
}

const countOf = (values: ReadonlySet<string> | readonly unknown[]): number =>
  'size' in values ? values.size : values.length

function isEqualOrSo(
  { attribute, by, to }: Extract<Filter, { kind: 'compare' }>,
  values: ReadonlySet<string> | readonly (string | boolean)[],
): boolean {
  if (values instanceof Set && by === 'eq') return values.has(to)
  if (to === null) return by === 'eq' ? countOf(values) === 0 : by === 'ne' && countOf(values) > 0
  const text = CASE_EXACT.has(attribute) ? String : (value: unknown) => comparableName(String(value))
  const sought = text(to)
  return [...values].some((value) => COMPARES[by](text(value), sought))
}

/** Whether a condition reads through the members of a group, of which there may be a hundred thousand. */
export function readsMembers(filter: Filter): boolean {
  if (filter.kind === 'not') return readsMembers(filter.of)
  if (filter.kind === 'and' || filter.kind === 'or') return readsMembers(filter.left) || readsMembers(filter.right)
  return filter.kind === 'compare' && filter.by !== 'eq' && /^members(?:\.value)?$/.test(filter.attribute)
}

/** One value that a resource must have for a filter to select it. */
export interface Lookup {
  readonly attribute: string
  readonly value: string
}

/**
 * What to look up so that every resource which a filter selects is among the found: nothing is read through.
 *
 * @param isIndexed whether resources are found by an attribute; undefined: no resource of this kind has it
 * @returns undefined where the filter asks to read through all
 */
export function lookupsOf(
  filter: Filter,
  isIndexed: (attribute: string) => boolean | undefined,
): readonly Lookup[] | undefined {
  if (filter.kind === 'and') return lookupsOf(filter.left, isIndexed) ?? lookupsOf(filter.right, isIndexed)
  if (filter.kind === 'or') {
    const [left, right] = [lookupsOf(filter.left, isIndexed), lookupsOf(filter.right, isIndexed)]
    return left && right && [...left, ...right]
  }
  if (filter.kind === 'not') return undefined
  const { attribute } = filter
  // RFC 7644 section 3.4.2.1: a filter by an attribute that a resource does not have is false.
  const isOfAbsent = isIndexed(attribute) === undefined && !(filter.kind === 'compare' && isOfNothing(filter))
  if (isOfAbsent) return []
  return filter.kind === 'compare' &&
    filter.by === 'eq' &&
    isIndexed(attribute) === true &&
    typeof filter.to === 'string'
    ? [{ attribute, value: filter.to }]
    : undefined
}

const isOfNothing = ({ by, to }: Extract<Filter, { kind: 'compare' }>): boolean => by === 'eq' && to === null
