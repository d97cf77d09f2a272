import { decodeFormText } from '../../text/query-string.js'

/**
 * Parameters of OAuth requests, in a form body or a query (RFC 6749 3.1 and 3.2): each at most once. Empty ones count
 * as absent, unknown ones are ignored.
 */
export type Parameters = ReadonlyMap<string, string>

/** @returns undefined when a parameter is repeated, or the text is not percent-encoded UTF-8 */
export function readParameters(text: string): Parameters | undefined {
  const parameters = new Map<string, string>()
  const seen = new Set<string>()
  for (const part of text.split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    const name = decodeFormText(equals < 0 ? part : part.slice(0, equals))
    const value = decodeFormText(equals < 0 ? '' : part.slice(equals + 1))
    if (name === undefined || value === undefined || seen.has(name)) return undefined
    seen.add(name)
    if (value !== '') parameters.set(name, value)
  }
  return parameters
}

const FORM_TYPE = /^application\/x-www-form-urlencoded *(; *charset *= *"?utf-8"? *)?$/i

export const isFormType = (contentType: string): boolean => FORM_TYPE.test(contentType)
