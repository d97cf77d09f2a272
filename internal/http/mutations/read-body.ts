import { z } from 'zod'
import { type FieldError, type Problem, problem } from '../../problems/problem-catalogue.js'
import { screenContent } from '../../text/content-keys.js'
import { expectedForm } from '../../text/expected-form.js'
import { firstOfEachPlace, pointerTo } from '../../text/field-errors.js'
import { parseJson } from '../../text/parse-json.js'
import type { Mutation } from './mutation.js'

/** Maximum size of a mutation's body. */
export const MUTATION_BYTES_MAX = 64 * 1024

export type ReadBody<B> = { readonly ok: true; readonly body: B } | { readonly ok: false; readonly problem: Problem }

const refused = (what: Problem) => ({ ok: false, problem: what }) as const

/**
 * Parses and validates a mutation's body. Schemas are closed: an unknown member is refused, not ignored, because it is
 * often a misspelt limit or filter. Prompt and completion content is refused at any depth.
 */
export function readBody<B>(
  bytes: Buffer,
  { schema, isOptional, screen }: NonNullable<Mutation<B>['body']>,
): ReadBody<B> {
  const value = bytes.length === 0 && isOptional === true ? {} : parseJson(bytes)
  if (value === undefined) return refused(problem('MALFORMED_REQUEST', 'The body is not valid JSON in UTF-8.'))
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    return refused(invalid([{ pointer: '', detail: 'must be a JSON object' }]))
  }
  const { errors } = screenContent(value, fieldsOf(schema))
  if (errors.length > 0) return refused(invalid(errors))
  const refusal = screen?.(value as Readonly<Record<string, unknown>>)
  if (refusal !== undefined) return refused(refusal)
  const parsed = schema.safeParse(value, { error: expectedForm })
  if (parsed.success) return { ok: true, body: parsed.data }
  return refused(invalid(firstOfEachPlace(parsed.error.issues.flatMap((issue) => fieldErrors(issue, value)))))
}

/** Refuses a body's members where none are accepted. An empty object is allowed: some clients always send one. */
export function readNoBody(bytes: Buffer): ReadBody<undefined> {
  const value = bytes.length === 0 ? {} : parseJson(bytes)
  if (value === undefined) return refused(problem('MALFORMED_REQUEST', 'The body is not valid JSON in UTF-8.'))
  if (value === null) return { ok: true, body: undefined }
  if (typeof value !== 'object' || Array.isArray(value)) {
    return refused(invalid([{ pointer: '', detail: 'must be empty: this operation takes no body' }]))
  }
  const errors = Object.keys(value).map((key) => ({
    pointer: pointerTo('', key),
    detail: 'is unknown: this operation takes no body',
  }))
  return errors.length === 0 ? { ok: true, body: undefined } : refused(invalid(firstOfEachPlace(errors)))
}

export const invalid = (errors: readonly FieldError[]): Problem =>
  problem('VALIDATION_FAILED', 'The body does not match its schema.', { errors })

const fieldsOf = (schema: z.ZodType): ReadonlySet<string> =>
  new Set(schema instanceof z.ZodObject ? Object.keys(schema.shape) : [])

/** Names the field and the rule, never the value. */
function fieldErrors(issue: z.core.$ZodIssue, body: object): FieldError[] {
  const { code, path, message } = issue
  const pointer = path.reduce<string>((parent, key) => pointerTo(parent, String(key)), '')
  if (code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({ pointer: pointerTo(pointer, key), detail: 'is unknown or read-only' }))
  }
  const isAbsent = code === 'invalid_type' && valueAt(body, path) === undefined
  return [{ pointer, detail: isAbsent ? 'is required' : message }]
}

const valueAt = (value: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown> | undefined)?.[key], value)
