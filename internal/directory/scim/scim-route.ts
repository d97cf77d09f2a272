import type { AuditAction } from '../../auth/audit-entry.js'
import type { Caller } from '../../auth/authenticate.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { Exchange } from '../../http/exchange.js'
import type { Reply } from '../../http/mutations/mutation.js'
import { needsNewSignIn, STEP_UP } from '../../http/mutations/step-up.js'
import { changeWithoutKey, deniedWithoutKey, type WithoutKeyDeps } from '../../http/mutations/without-key.js'
import type { Method, Route } from '../../http/route.js'
import type { TenantIds } from '../../ids/ids.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import type { OpenDirectory } from '../open-directory.js'
import { SCIM_PATH, type ScimBody } from './scim-contract.js'
import type { ScimGroup } from './scim-group.js'
import { SCIM_ERRORS, SCIM_JSON } from './scim-messages.js'

/** What the routes of SCIM have in common: how they answer, and how a change is audited. */

export interface ScimDeps extends Pick<OpenDirectory, 'recordsOf' | 'entries'>, WithoutKeyDeps {
  readonly idsOf: (tenantId: string) => TenantIds
  readonly groups: WatchedRecords<ScimGroup>
  /** Ends what a person has signed in to: they have left. */
  readonly endSignIns: (tenantId: string, username: string) => Promise<void>
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

export function scimRead(path: string, answer: (exchange: Exchange, caller: Caller) => ScimBody | Problem): Route {
  return {
    ...COMMON,
    method: 'get',
    path: `${SCIM_PATH}/${path}`,
    rateClass: 'read',
    operation: operationOf('get', path),
    handle(exchange, caller) {
      const found = answer(exchange, caller)
      if ('code' in found) return exchange.replyProblem(found)
      exchange.reply(`200 OK\r\nContent-Type: ${SCIM_JSON}\r\nCache-Control: no-store`, JSON.stringify(found))
    },
  }
}

export interface ScimRequest {
  readonly tenantId: string
  /** The path's parameter. */
  readonly id: string
  readonly body: Buffer
}

export type ScimChange = (request: ScimRequest, deps: ScimDeps) => Promise<Reply | Problem>

const BODY_BYTES_MAX = 4 * 1024 * 1024

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
      const carryOut = (body: Buffer): void => {
        const isStale = method === 'del' && needsNewSignIn(caller, deps.clock())
        const work = async () =>
          isStale ? STEP_UP : make({ tenantId: caller.tenantId, id: exchange.parameter, body }, deps)
        changeWithoutKey(exchange, caller, action, work, deps, SCIM_JSON).catch((cause: unknown) =>
          exchange.fail(cause),
        )
      }
      if (method === 'del') carryOut(Buffer.alloc(0))
      else exchange.readBody(BODY_BYTES_MAX, (bytes, areLent) => carryOut(areLent ? Buffer.from(bytes) : bytes))
    },
  }
}
