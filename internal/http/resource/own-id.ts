import { hasTagOf, type IdPrefix, parseId, type TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/catalogue.js'

/**
 * Why an id in a path is not one of the caller's tenant. An id of another tenant is told by its tag, so that those that
 * exist there and those that somebody made up are answered alike.
 *
 * @param what names it in a sentence: `API key`
 * @returns undefined when it may be one
 */
export function refusalOfId(prefix: IdPrefix, text: string, ids: TenantIds, what: string): Problem | undefined {
  const bytes = parseId(prefix, text)
  if (bytes === undefined) return noSuch(what)
  return hasTagOf(bytes, ids) ? undefined : problem('TENANT_MISMATCH', `The ${what} belongs to another tenant.`)
}

export const noSuch = (what: string): Problem => problem('NOT_FOUND', `There is no such ${what}.`)
