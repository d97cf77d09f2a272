import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { ProblemForm } from '../../problems/render.js'
import { parseJson } from '../../text/parse-json.js'
import { name as nameSchema } from '../../text/plain-text.js'
import { byAttribute, isObject, type Members } from './scim-names.js'

/** The forms of SCIM 2.0 (RFC 7643, RFC 7644): what is read of a request, and how answers and errors look. */

export const SCIM_JSON = 'application/scim+json'
const MESSAGES = 'urn:ietf:params:scim:api:messages:2.0'

/** RFC 7644 section 3.12. It has these members alone. */
export const SCIM_ERRORS: ProblemForm = {
  contentType: SCIM_JSON,
  write: ({ status, detail }, { members }) =>
    JSON.stringify({
      schemas: [`${MESSAGES}:Error`],
      status: String(status),
      ...(members?.['scimType'] !== undefined && { scimType: members['scimType'] }),
      detail,
    }),
}

/** Of RFC 7644 table 9, for status 400. */
type ScimType = 'invalidFilter' | 'invalidSyntax' | 'invalidPath' | 'noTarget' | 'invalidValue' | 'mutability'

export const badRequest = (scimType: ScimType, detail: string): Problem =>
  problem('MALFORMED_REQUEST', detail, { members: { scimType } })
export const badAttribute = (attribute: string, detail: string): Problem =>
  badRequest('invalidValue', `${attribute} ${detail}`)
export const immutable = (attribute: string): Problem => badRequest('mutability', `${attribute} cannot be changed`)
export const NO_OBJECT = badRequest('invalidSyntax', 'The body is not a JSON object.')
export const taken = (detail: string): Problem => problem('CONFLICT', detail, { members: { scimType: 'uniqueness' } })

/** A ListResponse (RFC 7644 section 3.4.2). */
export const listOf = (resources: readonly object[], totalResults = resources.length, startIndex = 1) => ({
  schemas: [`${MESSAGES}:ListResponse`],
  totalResults,
  startIndex,
  itemsPerPage: resources.length,
  Resources: resources,
})

/** A body's members by the names of their attributes. undefined: it is no JSON object. */
export function readObject(bytes: Buffer): Members | undefined {
  const value = parseJson(bytes)
  return isObject(value) ? byAttribute(value) : undefined
}

/** `True` as some clients write it. */
export function flagIn(value: unknown): boolean | undefined {
  const one = singleIn(value)
  if (typeof one === 'boolean') return one
  const text = typeof one === 'string' ? one.trim().toLowerCase() : undefined
  return text === 'true' ? true : text === 'false' ? false : undefined
}

/** A value of an attribute that has one; some clients write `[{ "value": … }]`. */
function singleIn(value: unknown): unknown {
  const one = Array.isArray(value) && value.length === 1 ? value[0] : value
  return isObject(one) ? byAttribute(one)['value'] : one
}

/** Of at most 256 bytes. */
export function textIn(value: unknown): string | undefined {
  const read = nameSchema().safeParse(singleIn(value))
  return read.success ? read.data : undefined
}

/** Whether a client states that an attribute has no value (RFC 7643 section 2.5). */
export const isUnassigned = (value: unknown): boolean => {
  const one = singleIn(value)
  return one === undefined || one === null || one === '' || (Array.isArray(one) && one.length === 0)
}

/** The ids in a list of members. undefined: it is none. */
export function idsIn(value: unknown): readonly string[] | undefined {
  const members: readonly unknown[] = Array.isArray(value) ? value : isUnassigned(value) ? [] : [value]
  const ids = members.map((member) => (isObject(member) ? byAttribute(member)['value'] : member))
  return ids.every((id) => typeof id === 'string') ? ids : undefined
}

/** @returns null where the client states that there is none */
export function readExternalId(value: unknown): { readonly externalId: string | null } | Problem {
  const externalId = isUnassigned(value) ? null : textIn(value)
  return externalId === undefined ? badAttribute('externalId', 'must be a text of at most 256 bytes') : { externalId }
}
