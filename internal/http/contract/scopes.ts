import { z } from 'zod'
import { SCOPES, type Scope } from '../../auth/scopes.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'

/** The scopes of a new credential: at least one of the closed set. */
export const wantedScopes = () => z.array(z.enum(SCOPES)).min(1).max(SCOPES.length)

/** As stored: in the order of the closed set, without duplicates. */
export const inOrder = (scopes: readonly Scope[]): readonly Scope[] => SCOPES.filter((scope) => scopes.includes(scope))

const NO_SCOPE = problem('NO_SCOPE', 'At least one scope is required.')

/** Refuses a new credential without scopes, whether the field is absent, null or empty. */
export const refuseNoScope = ({ scopes }: Readonly<Record<string, unknown>>): Problem | undefined =>
  scopes == null ? NO_SCOPE : refuseEmptyScopes({ scopes })

/** The same for an update, where an absent field leaves the scopes unchanged. */
export const refuseEmptyScopes = ({ scopes }: Readonly<Record<string, unknown>>): Problem | undefined =>
  Array.isArray(scopes) && scopes.length === 0 ? NO_SCOPE : undefined
