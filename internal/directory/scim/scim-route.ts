import type { AuditAction } from '../../auth/audit-entry.js'
import type { Caller } from '../../auth/authenticate.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { Exchange } from '../../http/exchange.js'
import type { Reply } from '../../http/mutations/mutation.js'
import { needsNewSignIn, STEP_UP } from '../../http/mutations/step-up.js'
import { changeWithoutKey, deniedWithoutKey, type WithoutKeyDeps } from '../../http/mutations/without-key.js'
import type { Method, Route } from '../../http/route.js'
import type { TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { OpenDirectory } from '../open-directory.js'
import { SCIM_PATH, type ScimBody } from './scim-contract.js'
import type { GroupIndex, ScimGroup } from './scim-group.js'
import { SCIM_ERRORS, SCIM_JSON } from './scim-messages.js'
import { type Projection, projected } from './scim-projection.js'
import { type Collection, listed, queryOf, type ScimQuery, searchOf } from './scim-query.js'

/** What the routes of SCIM have in common: how they answer, and how a change is audited. */

export interface ScimDeps extends Pick<OpenDirectory, 'recordsOf' | 'entries' | 'people'>, WithoutKeyDeps {
  readonly idsOf: (tenantId: string) => TenantIds
  /** Where clients reach the service. */
  readonly baseUrl: string
  readonly groups: WatchedRecords<ScimGroup>
  readonly groupIndex: GroupIndex
  /** Ends what a person has signed in to: they have left. */
  readonly endSignIns: (tenantId: string, username: string) => Promise<void>
  /**
   * Before a change that ends the sign-ins of people with these names, or renames them.
   *
   * @returns why it may not be made
   */
  readonly prepareLeaving: (caller: Caller, names: readonly string[], isEnded: boolean) => Promise<Problem | undefined>
}

/** SCIM describes itself; it is no part of the API's own contract. */
const COMMON = { access: 'admin:config', isUndescribed: true, problemForm: SCIM_ERRORS } as const
const operationOf = (method: Method, path: string) => ({
  id: `scim.${method}.${path}`,
  tag: 'Directory' as const,
  summary: `SCIM ${path}`,
  replies: {},
  // Parsed by the handlers.
  query: {},
})

function reply(exchange: Exchange, found: ScimBody | Problem): void {
  if ('code' in found) return exchange.replyProblem(found)
  exchange.reply(`200 OK\r\nContent-Type: ${SCIM_JSON}\r\nCache-Control: no-store`, JSON.stringify(found))
}

export function scimRead(
  path: string,
  answer: (exchange: Exchange, caller: Caller, projection: Projection) => ScimBody | Problem,
): Route {
  return {
    ...COMMON,
    method: 'get',
    path: `${SCIM_PATH}/${path}`,
    rateClass: 'read',
    operation: operationOf('get', path),
    handle(exchange, caller) {
      const query = queryOf(exchange)
      if ('code' in query) return exchange.replyProblem(query)
      const found = answer(exchange, caller, query.projection)
      reply(exchange, 'code' in found ? found : projected(found, query.projection))
    },
  }
}

/** A list by GET, and the same by POST (RFC 7644 section 3.4.3). @param path empty: of all kinds, by POST alone */
export function scimCollection(
  path: string,
  collectionsOf: (tenantId: string) => readonly Collection<unknown>[],
): readonly Route[] {
  const list = (exchange: Exchange, { tenantId }: Caller, query: ScimQuery | Problem): void =>
    reply(exchange, 'code' in query ? query : listed(collectionsOf(tenantId), query))
  const search: Route = {
    ...COMMON,
    method: 'post',
    path: [SCIM_PATH, path, '.search'].filter((part) => part !== '').join('/'),
    rateClass: 'read',
    takesNoKey: true,
    operation: operationOf('post', `${path}/.search`),
    handle(exchange, caller) {
      exchange.readBody(SEARCH_BYTES_MAX, (bytes) => list(exchange, caller, searchOf(bytes)))
    },
  }
  if (path === '') return [search]
  const get: Route = {
    ...COMMON,
    method: 'get',
    path: `${SCIM_PATH}/${path}`,
    rateClass: 'read',
    operation: operationOf('get', path),
    handle: (exchange, caller) => list(exchange, caller, queryOf(exchange)),
  }
  return [get, search]
}

/** What SCIM describes and the service does not have (RFC 7644 sections 3.7 and 3.11). */
export const scimWithout = (method: 'get' | 'post', path: string): Route => ({
  ...COMMON,
  method,
  path: `${SCIM_PATH}/${path}`,
  rateClass: 'read',
  takesNoKey: true,
  operation: operationOf(method, path),
  handle: (exchange: Exchange) => exchange.replyProblem(problem('NOT_IMPLEMENTED', `The service has no ${path}.`)),
})

export interface ScimRequest {
  readonly caller: Caller
  readonly tenantId: string
  /** The path's parameter. */
  readonly id: string
  readonly body: Buffer
  /** The part of the resource that the answer is to have. */
  readonly projection: Projection
}

export type ScimChange = (request: ScimRequest, deps: ScimDeps) => Promise<Reply | Problem>

const BODY_BYTES_MAX = 4 * 1024 * 1024
const SEARCH_BYTES_MAX = 64 * 1024

export function scimChange(
  method: Exclude<Method, 'get'>,
  path: string,
  action: AuditAction,
  deps: ScimDeps,
  make: ScimChange,
): Route {
  return {
    ...COMMON,
    method,
    path: `${SCIM_PATH}/${path}`,
    rateClass: 'control',
    takesNoKey: true,
    whenDenied: deniedWithoutKey(action, deps),
    operation: operationOf(method, path),
    handle(exchange, caller) {
      exchange.keepAddress()
      const query = queryOf(exchange)
      const carryOut = (body: Buffer): void => {
        const isStale = method === 'del' && needsNewSignIn(caller, deps.clock())
        const work = async (): Promise<Reply | Problem> => {
          if (isStale) return STEP_UP
          if ('code' in query) return query
          const { projection } = query
          const made = await make({ caller, tenantId: caller.tenantId, id: exchange.parameter, body, projection }, deps)
          return 'code' in made || made.body === undefined
            ? made
            : { ...made, body: projected(made.body as ScimBody, projection) }
        }
        changeWithoutKey(exchange, caller, action, work, deps, SCIM_JSON).catch((cause: unknown) =>
          exchange.fail(cause),
        )
      }
      if (method === 'del') carryOut(Buffer.alloc(0))
      else exchange.readBody(BODY_BYTES_MAX, (bytes, areLent) => carryOut(areLent ? Buffer.from(bytes) : bytes))
    },
  }
}
