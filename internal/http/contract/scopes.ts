import { z } from 'zod'
import { SCOPES, type Scope } from '../../auth/scopes.js'
import { type Problem, problem } from '../../problems/catalogue.js'

/** What a credential is to be given: at least one of the closed set. */
export const wantedScopes = () => z.array(z.enum(SCOPES)).min(1).max(SCOPES.length)

/** As it is kept: in the order of the closed set, each once. */
export const inOrder = (scopes: readonly Scope[]): readonly Scope[] => SCOPES.filter((scope) => scopes.includes(scope))

const NO_SCOPE = problem('NO_SCOPE', 'Name at least one scope.')

/** Refuses a new credential without scopes (spec 5 rule 6), by whatever it says that it has none. */
export const refuseNoScope = ({ scopes }: Readonly<Record<string, unknown>>): Problem | undefined =>
  scopes == null ? NO_SCOPE : refuseEmptyScopes({ scopes })

/** The same where the scopes need not be named, and then stay. */
export const refuseEmptyScopes = ({ scopes }: Readonly<Record<string, unknown>>): Problem | undefined =>
  Array.isArray(scopes) && scopes.length === 0 ? NO_SCOPE : undefined
