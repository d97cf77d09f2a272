import type { StoredApiKey } from '../auth/api-keys.js'
import type { Caller } from '../auth/authenticate.js'
import { pageOfAll, readPage } from '../gateway/collection.js'
import type { Exchange } from '../gateway/exchange.js'
import type { Mutate } from '../gateway/mutations/mutations.js'
import { noSuch, refusalOfId } from '../gateway/own-id.js'
import type { CursorCodec } from '../gateway/pages.js'
import type { Route } from '../gateway/route.js'
import { type Problem, problem } from '../problems/catalogue.js'
import { type ApiKeyChangesDeps, createKey, revokeKey, rotateKey, WHAT } from './changes.js'
import {
  CREATE_API_KEY,
  createBody,
  EXAMPLE_NEW,
  EXAMPLE_ROTATION,
  GET_API_KEY,
  LIST_API_KEYS,
  PATH,
  REVOKE_API_KEY,
  ROTATE_API_KEY,
  rotateBody,
} from './contract.js'
import { shownApiKey } from './show.js'

export interface ApiKeyRoutesDeps extends ApiKeyChangesDeps {
  readonly mutate: Mutate
  readonly lastUsedAt: (id: string) => string | null
  readonly cursors: CursorCodec
}

const ACCESS = { access: 'admin:config', rateClass: 'control' } as const

/** `/api/v1/api-keys` and what is below it (spec 2.6, 4.4, 5; design section 7). */
export function apiKeyRoutes(deps: ApiKeyRoutesDeps): readonly Route[] {
  const { mutate } = deps
  return [
    {
      ...ACCESS,
      method: 'get',
      path: PATH,
      operation: LIST_API_KEYS,
      handle: (exchange, caller) => list(exchange, caller, deps),
    },
    {
      ...ACCESS,
      method: 'get',
      path: `${PATH}/:id`,
      operation: GET_API_KEY,
      handle: (exchange, caller) => get(exchange, caller, deps),
    },
    mutate({
      ...ACCESS,
      method: 'post',
      path: PATH,
      needsStepUp: true,
      action: 'api_key.create',
      operation: CREATE_API_KEY,
      body: {
        schema: createBody,
        example: EXAMPLE_NEW,
        screen: ({ scopes }) => (isEmpty(scopes) ? NO_SCOPE : undefined),
      },
      handle: (request) => createKey(request, deps),
    }),
    mutate({
      ...ACCESS,
      method: 'post',
      path: `${PATH}/:id/rotate`,
      needsStepUp: true,
      action: 'api_key.rotate',
      operation: ROTATE_API_KEY,
      body: {
        schema: rotateBody,
        example: EXAMPLE_ROTATION,
        isOptional: true,
        screen: ({ scopes }) => (scopes != null && isEmpty(scopes) ? NO_SCOPE : undefined),
      },
      handle: (request) => rotateKey(request, deps),
    }),
    mutate({
      ...ACCESS,
      method: 'del',
      path: `${PATH}/:id`,
      needsStepUp: true,
      action: 'api_key.revoke',
      operation: REVOKE_API_KEY,
      handle: (request) => revokeKey(request, deps),
    }),
  ]
}

const NO_SCOPE: Problem = problem('NO_SCOPE', 'Name at least one scope.')
const isEmpty = (scopes: unknown): boolean => scopes == null || (Array.isArray(scopes) && scopes.length === 0)

function list(exchange: Exchange, caller: Caller, deps: ApiKeyRoutesDeps): void {
  const read = readPage(exchange, caller, PATH, deps)
  if (!read.ok) return exchange.replyProblem(read.problem)
  const page = pageOfAll(
    read.request,
    deps.keys.of(caller.tenantId),
    ({ created_at, id }) => [created_at, id],
    'descending',
    (key) => shown(key, deps),
  )
  exchange.replyJson('200 OK', page)
}

function get(exchange: Exchange, { tenantId }: Caller, deps: ApiKeyRoutesDeps): void {
  const refusal = refusalOfId('key', exchange.parameter, deps.idsOf(tenantId), WHAT)
  if (refusal !== undefined) return exchange.replyProblem(refusal)
  const key = deps.keys.get(exchange.parameter)
  if (key?.tenant_id !== tenantId) return exchange.replyProblem(noSuch(WHAT))
  exchange.replyJson('200 OK', shown(key, deps))
}

const shown = (key: StoredApiKey, { lastUsedAt, clock }: ApiKeyRoutesDeps) =>
  shownApiKey(key, lastUsedAt(key.id), clock())
