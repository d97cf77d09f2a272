import { invalid } from '../../http/mutations/read-body.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { ProblemForm } from '../../problems/render.js'
import { parseJson } from '../../text/parse-json.js'
import { badParameter, readPairs } from '../../text/query-string.js'
import { COUNT_MAX, type ScimBody } from './scim-contract.js'

/** The forms of SCIM 2.0 (RFC 7643, RFC 7644): what is read of a request, and how answers and errors look. */

export const SCIM_JSON = 'application/scim+json'
const MESSAGES = 'urn:ietf:params:scim:api:messages:2.0'

/** RFC 7644 section 3.12. The service's own code stays beside it. */
export const SCIM_ERRORS: ProblemForm = {
  contentType: SCIM_JSON,
  write: ({ status, detail, error_code, errors }) =>
    JSON.stringify({
      schemas: [`${MESSAGES}:Error`],
      status: String(status),
      ...(scimTypeOf(status, errors?.[0]?.pointer) && { scimType: scimTypeOf(status, errors?.[0]?.pointer) }),
      detail: errors?.[0] === undefined ? detail : `${errors[0].pointer} ${errors[0].detail}`.trim(),
      error_code,
    }),
}

function scimTypeOf(status: number, pointer: string | undefined): string | undefined {
  if (status === 409) return 'uniqueness'
  if (status !== 400 && status !== 422) return undefined
  return pointer === '/filter' ? 'invalidFilter' : 'invalidValue'
}

/** A ListResponse (RFC 7644 section 3.4.2). */
export const listOf = (resources: readonly object[], totalResults = resources.length, startIndex = 1) => ({
  schemas: [`${MESSAGES}:ListResponse`],
  totalResults,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
})

type Members = Readonly<Record<string, unknown>>

/** A body's members by their names in lower case: attribute names have no case. undefined: it is no JSON object. */
export function readObject(bytes: Buffer): Members | undefined {
  const value = parseJson(bytes)
  return isObject(value) ? lowered(value) : undefined
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const lowered = (value: Members): Members =>
  Object.fromEntries(Object.entries(value).map(([name, member]) => [name.toLowerCase(), member]))

/** `True` as some clients write it. */
export function flagIn(value: unknown): boolean | undefined {
  if (typeof value === 'boolean') return value
  const text = typeof value === 'string' ? value.toLowerCase() : undefined
  return text === 'true' ? true : text === 'false' ? false : undefined
}

/** The ids in a list of members. */
export function idsIn(value: unknown): readonly string[] {
  const members: readonly unknown[] = Array.isArray(value) ? value : [value]
  return members.flatMap((member) => {
    const id = isObject(member) ? lowered(member)['value'] : member
    return typeof id === 'string' ? [id] : []
  })
}

/** One operation of a PATCH. Attributes that are not kept are passed over. */
export interface Operation {
  readonly op: 'add' | 'replace' | 'remove'
  /** The attribute in lower case. */
  readonly attribute: string
  readonly value: unknown
}

/** @returns undefined when the body is no PatchOp (RFC 7644 section 3.5.2) */
export function readPatch(bytes: Buffer): readonly Operation[] | undefined {
  const stated = readObject(bytes)?.['operations']
  if (!Array.isArray(stated) || stated.length > OPERATIONS_MAX) return undefined
  const operations: readonly unknown[] = stated
  const read: Operation[] = []
  for (const each of operations) {
    if (!isObject(each)) return undefined
    const { op, path, value } = lowered(each)
    const verb = typeof op === 'string' ? op.toLowerCase() : ''
    if (verb !== 'add' && verb !== 'replace' && verb !== 'remove') return undefined
    if (path === undefined || path === null || path === '') {
      if (verb === 'remove' || !isObject(value)) return undefined
      for (const [attribute, member] of Object.entries(lowered(value))) {
        read.push({ op: verb, attribute, value: member })
      }
    } else if (typeof path === 'string') {
      // `members[value eq "idn_…"]`
      const [, attribute = path, id] = /^(\w+)\[\s*value\s+eq\s+"([^"]*)"\s*\]$/i.exec(path) ?? []
      read.push({ op: verb, attribute: attribute.toLowerCase(), value: id === undefined ? value : [{ value: id }] })
    } else return undefined
  }
  return read
}

const OPERATIONS_MAX = 1_000

/** The value of `<attribute> eq "<value>"`; null for any other filter. */
export function equalIn(filter: string, attribute: string): string | null {
  const [, name = '', text = ''] = /^\s*([\w.]+)\s+eq\s+("(?:[^"\\]|\\.)*")\s*$/i.exec(filter) ?? []
  if (name.toLowerCase() !== attribute.toLowerCase()) return null
  const value = parseJson(Buffer.from(text))
  return typeof value === 'string' ? value : null
}

/** A page that a list asks for. */
export interface Page {
  readonly startIndex: number
  readonly count: number
  /** The value of the one attribute that can be filtered by. */
  readonly sought: string | undefined
}

const COUNT_DEFAULT = 100

export function pageIn(query: string, attribute: string): Page | Problem {
  const read = readPairs(query)
  if (!read.ok) return read.problem
  const values = new Map(read.pairs)
  const filter = values.get('filter')
  const sought = filter === undefined ? undefined : equalIn(filter, attribute)
  if (sought === null) return badParameter('/filter', `must be ${attribute} eq "…"; other filters are not supported`)
  return {
    // Less than 1 is 1, and less than 0 is 0 (RFC 7644 section 3.4.2.4).
    startIndex: Math.max(1, wholeNumber(values.get('startIndex')) ?? 1),
    count: Math.min(COUNT_MAX, Math.max(0, wholeNumber(values.get('count')) ?? COUNT_DEFAULT)),
    sought,
  }
}

const wholeNumber = (text: string | undefined): number | undefined =>
  text !== undefined && /^-?\d{1,9}$/.test(text) ? Number(text) : undefined

export const pageOf = <T>(found: readonly T[], { startIndex, count }: Page, show: (one: T) => ScimBody) =>
  listOf(found.slice(startIndex - 1, startIndex - 1 + count).map(show), found.length, startIndex)

/** Refusals of a body. */
export const badAttribute = (attribute: string, detail: string): Problem => invalid([{ pointer: attribute, detail }])
export const NO_OBJECT = problem('MALFORMED_REQUEST', 'The body is not a JSON object.')
export const NO_PATCH = problem('MALFORMED_REQUEST', 'The body is not a PatchOp with a list of Operations.')
