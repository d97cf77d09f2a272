import { type Problem, problem } from '../problems/catalogue.js'

export type ReadQuery<K extends string> =
  | { readonly ok: true; readonly values: { readonly [key in K]?: string } }
  | { readonly ok: false; readonly problem: Problem }

/**
 * Reads a query string strictly: only the named parameters, each once, in valid percent-encoding of UTF-8.
 * A plus sign is a space, as HTML forms write it.
 */
export function readQuery<const K extends string>(query: string, known: readonly K[]): ReadQuery<K> {
  const values: Partial<Record<K, string>> = {}
  for (const part of query.split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const key = decodeFormText(equals < 0 ? part : part.slice(0, equals))
    const value = decodeFormText(equals < 0 ? '' : part.slice(equals + 1))
    if (key === undefined || value === undefined) {
      return {
        ok: false,
        problem: problem('MALFORMED_REQUEST', 'The query string is not valid percent-encoded UTF-8.'),
      }
    }
    const name = known.find((candidate) => candidate === key)
    if (name === undefined) return refused(`Known parameters are ${known.join(', ')}.`)
    if (name in values) return refused(`The parameter ${name} may stand only once.`)
    values[name] = value
  }
  return { ok: true, values }
}

const refused = (detail: string) => ({ ok: false, problem: problem('INVALID_FILTER', detail) }) as const

/** @returns undefined when it is not percent-encoded UTF-8 */
export function decodeFormText(text: string): string | undefined {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    return undefined
  }
}
