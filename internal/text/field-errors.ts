import type { ErrorObject } from 'ajv'
import type { FieldError } from '../problems/problem-catalogue.js'

/** Limit of errors reported per event. */
export const ERRORS_MAX = 20

/** A key that the sender chose could hold content itself, so that only a short plain one is named. */
export const pointerTo = (parent: string, key: string): string =>
  `${parent}/${/^[\w.-]{1,64}$/.test(key) ? key : '(unnamed)'}`

/** A field whose keys the sender chose, and which could hold content as well as a value could, is named as a whole. */
export function fieldError(error: ErrorObject, fieldWithOwnKeys: string): FieldError {
  const path = error.instancePath
  const pointer = path.startsWith(`/${fieldWithOwnKeys}/`) ? `/${fieldWithOwnKeys}` : path
  switch (error.keyword) {
    case 'required':
      return { pointer: `${pointer}/${String(error.params['missingProperty'])}`, detail: 'is required' }
    case 'instant':
      return { pointer, detail: 'must be an RFC 3339 time in UTC' }
    case 'pattern':
    case 'plainText':
    case 'uuid':
    case 'amount':
      return { pointer, detail: 'does not have the required form' }
    case 'enum':
      // A key of an object whose keys are a closed list.
      return error.propertyName === undefined
        ? { pointer, detail: error.message ?? 'is not valid' }
        : {
            pointer: pointerTo(pointer, error.propertyName),
            detail: `is unknown; known are ${(error.params['allowedValues'] as readonly string[]).join(', ')}`,
          }
    default:
      return { pointer, detail: error.message ?? 'is not valid' }
  }
}

/**
 * A nullable field fails as a whole and in each of its alternatives; the first reason per place is enough.
 *
 * @returns at most `ERRORS_MAX`
 */
export function firstOfEachPlace(errors: readonly FieldError[]): FieldError[] {
  const seen = new Set<string>()
  return errors.filter(({ pointer }) => !seen.has(pointer) && seen.add(pointer)).slice(0, ERRORS_MAX)
}
