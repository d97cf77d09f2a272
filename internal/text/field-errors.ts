import type { ErrorObject } from 'ajv'
import type { FieldError } from '../problems/problem-catalogue.js'
import { expectedByAjv } from './expected-form.js'

/** Limit of errors reported per event. */
export const ERRORS_MAX = 20

/** A key that the sender chose could hold content itself, so that only a short plain one is named. */
export const pointerTo = (parent: string, key: string): string =>
  `${parent}/${/^[\w.-]{1,64}$/.test(key) ? key : '(unnamed)'}`

/** A field whose keys the sender chose, and which could hold content as well as a value could, is named as a whole. */
export function fieldError(error: ErrorObject, fieldWithOwnKeys: string): FieldError {
  const path = error.instancePath
  const pointer = path.startsWith(`/${fieldWithOwnKeys}/`) ? `/${fieldWithOwnKeys}` : path
  if (error.keyword === 'required') {
    return { pointer: `${pointer}/${String(error.params['missingProperty'])}`, detail: 'is required' }
  }
  // A key of an object whose keys are a closed list.
  if (error.keyword === 'enum' && error.propertyName !== undefined) {
    const known = (error.params['allowedValues'] as readonly string[]).join(', ')
    return { pointer: pointerTo(pointer, error.propertyName), detail: `is unknown; known are ${known}` }
  }
  return { pointer, detail: expectedByAjv(error) }
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
