import { hasTagOf, type IdPrefix, parseId, type TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'

/**
 * Refuses an id that cannot belong to the caller's tenant. The tag in an id identifies its tenant, so that existing and
 * invented ids of another tenant get the same reply.
 *
 * @param what the kind's name in a sentence: `API key`
 * @returns undefined when the id may belong to the tenant
 */
export function refusalOfId(prefix: IdPrefix, text: string, ids: TenantIds, what: string): Problem | undefined {
  const bytes = parseId(prefix, text)
  if (bytes === undefined) return noSuch(what)
  return hasTagOf(bytes, ids) ? undefined : problem('TENANT_MISMATCH', `The ${what} belongs to another tenant.`)
}

export const noSuch = (what: string): Problem => problem('NOT_FOUND', `No such ${what}.`)
