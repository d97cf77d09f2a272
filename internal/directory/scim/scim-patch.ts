import type { Problem } from '../../problems/problem-catalogue.js'
import { type Path, readPath } from './scim-filter.js'
import { badRequest, NO_OBJECT, readObject } from './scim-messages.js'
import { attributeIn, byAttribute, isObject } from './scim-names.js'

/** One operation of a PATCH (RFC 7644 section 3.5.2). */
export interface Operation extends Path {
  readonly op: 'add' | 'replace' | 'remove'
  readonly value: unknown
  /** Whether the client names this attribute alone, and not among those of an object. */
  readonly hasPath: boolean
}

const OPERATIONS_MAX = 1_000

const NO_OPERATIONS = badRequest('invalidValue', `Operations must be a list of 1 to ${OPERATIONS_MAX} operations.`)
const NO_OPERATION = badRequest('invalidSyntax', 'op must be add, replace or remove.')
const NO_PATH = badRequest('invalidPath', 'path must be the path of an attribute.')
const NO_TARGET = badRequest('noTarget', 'remove needs a path.')
const NO_ATTRIBUTES = badRequest('invalidValue', 'Without a path, value must be an object with attributes.')

export function readPatch(bytes: Buffer): readonly Operation[] | Problem {
  const body = readObject(bytes)
  if (body === undefined) return NO_OBJECT
  const operations = body['operations']
  if (!Array.isArray(operations) || operations.length === 0 || operations.length > OPERATIONS_MAX) return NO_OPERATIONS
  const read: Operation[] = []
  for (const each of operations as readonly unknown[]) {
    const one = isObject(each) ? readOperation(each) : NO_OPERATION
    if ('code' in one) return one
    read.push(...one)
  }
  return read
}

function readOperation(stated: Readonly<Record<string, unknown>>): readonly Operation[] | Problem {
  const { op: verb, path, value } = byAttribute(stated)
  const op = typeof verb === 'string' ? verb.trim().toLowerCase() : ''
  if (op !== 'add' && op !== 'replace' && op !== 'remove') return NO_OPERATION
  if (path !== undefined && path !== null && path !== '') {
    const target = typeof path === 'string' ? readPath(path) : undefined
    return target === undefined ? NO_PATH : [{ ...target, op, value, hasPath: true }]
  }
  if (op === 'remove') return NO_TARGET
  return isObject(value) ? Object.entries(value).map(namedIn(op)) : NO_ATTRIBUTES
}

/** Of an object of attributes: some clients write paths as their names. */
const namedIn =
  (op: 'add' | 'replace') =>
  ([name, value]: [string, unknown]): Operation => ({
    ...(readPath(name) ?? { attribute: attributeIn(name) }),
    op,
    value,
    hasPath: false,
  })
