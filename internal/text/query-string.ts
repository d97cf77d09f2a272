import { type Problem, problem } from '../problems/problem-catalogue.js'

export type ReadQuery<K extends string> =
  | { readonly ok: true; readonly values: { readonly [key in K]?: string } }
  | { readonly ok: false; readonly problem: Problem }

export type ReadPairs =
  | { readonly ok: true; readonly pairs: readonly (readonly [name: string, value: string])[] }
  | { readonly ok: false; readonly problem: Problem }

/**
 * Reads a query string strictly: only the named parameters, each once, in valid percent-encoding of UTF-8.
 * A plus sign is a space, as HTML forms write it.
 */
export function readQuery<const K extends string>(query: string, known: readonly K[]): ReadQuery<K> {
  const read = readPairs(query)
  return read.ok ? namedOnce(read.pairs, known) : read
}

/** Names and values in their order, decoded. */
export function readPairs(query: string): ReadPairs {
  const pairs: [string, string][] = []
  for (const part of query.split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = decodeFormText(equals < 0 ? part : part.slice(0, equals))
    const value = decodeFormText(equals < 0 ? '' : part.slice(equals + 1))
    if (name === undefined || value === undefined) {
      const detail = 'The query string is not valid percent-encoded UTF-8.'
      return { ok: false, problem: problem('MALFORMED_REQUEST', detail, { errors: [{ pointer: '', detail }] }) }
    }
    pairs.push([name, value])
  }
  return { ok: true, pairs }
}

/** Only the named parameters, each once. */
export function namedOnce<const K extends string>(
  pairs: readonly (readonly [name: string, value: string])[],
  known: readonly K[],
): ReadQuery<K> {
  const values: Partial<Record<K, string>> = {}
  for (const [key, value] of pairs) {
    const name = known.find((candidate) => candidate === key)
    if (name === undefined) return refused('', `Known parameters are ${known.join(', ')}.`)
    if (Object.hasOwn(values, name)) return refused(`/${name}`, `The parameter ${name} must not be repeated.`)
    values[name] = value
  }
  return { ok: true, values }
}

/** @param pointer to the parameter, as if the query were an object (RFC 6901) */
export const badParameter = (pointer: string, detail: string): Problem =>
  problem('INVALID_FILTER', detail, { errors: [{ pointer, detail }] })

const refused = (pointer: string, detail: string) => ({ ok: false, problem: badParameter(pointer, detail) }) as const

/** @returns undefined when it is not percent-encoded UTF-8 */
export function decodeFormText(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
