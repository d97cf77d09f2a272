import type { WatchedRecords } from '../../../broker/watched-records.js'
import type { MutationRequest, Reply } from '../../../http/mutations/mutation.js'
import type { Mutate } from '../../../http/mutations/mutations.js'
import { pageOfAll, readPage } from '../../../http/resource/collection.js'
import { noSuch, refusalOfId } from '../../../http/resource/own-id.js'
import type { CursorCodec } from '../../../http/resource/pages.js'
import type { TenantRoute } from '../../../http/route.js'
import type { TenantIds } from '../../../ids/ids.js'
import { type Problem, problem } from '../../../problems/catalogue.js'
import { CREATE_PRICE, DELETE_PRICE, EXAMPLE_FIELDS, GET_PRICE, LIST_PRICES } from './contract.js'
import {
  OVERRIDES_MAX,
  type OverrideFields,
  overrideFields,
  overrideKey,
  type StoredOverride,
  storedOverride,
} from './override.js'

export interface PriceRoutesDeps {
  readonly mutate: Mutate
  readonly prices: WatchedRecords<StoredOverride>
  readonly cursors: CursorCodec
  readonly idsOf: (tenantId: string) => TenantIds
  readonly clock: () => number
}

const PATH = '/api/v1/prices'
const DECLARED = { access: 'admin:config', rateClass: 'control' } as const

/** `/api/v1/prices`: what a tenant pays where that is not the list price. */
export const priceRoutes = (deps: PriceRoutesDeps): readonly TenantRoute[] => [
  {
    ...DECLARED,
    method: 'get',
    path: PATH,
    operation: LIST_PRICES,
    handle(exchange, caller) {
      const read = readPage(exchange, caller, PATH, deps)
      if (!read.ok) return exchange.replyProblem(read.problem)
      const keyOf = ({ provider, model, valid_from, id }: StoredOverride) => [provider, model, valid_from, id]
      exchange.replyJson('200 OK', pageOfAll(read.request, deps.prices.of(caller.tenantId), keyOf, 'ascending', show))
    },
  },
  {
    ...DECLARED,
    method: 'get',
    path: `${PATH}/:id`,
    operation: GET_PRICE,
    handle(exchange, { tenantId }) {
      const found = find(tenantId, exchange.parameter, deps)
      if ('code' in found) exchange.replyProblem(found)
      else exchange.replyJson('200 OK', show(found))
    },
  },
  deps.mutate({
    ...DECLARED,
    method: 'post',
    path: PATH,
    action: 'price.create',
    operation: CREATE_PRICE,
    body: { schema: overrideFields, example: EXAMPLE_FIELDS },
    handle: (request) => create(request, deps),
  }),
  deps.mutate({
    ...DECLARED,
    method: 'del',
    path: `${PATH}/:id`,
    action: 'price.delete',
    operation: DELETE_PRICE,
    handle: (request) => remove(request, deps),
  }),
]

async function create(
  { caller: { tenantId }, body, isRepeat }: MutationRequest<OverrideFields>,
  { prices, idsOf, clock }: PriceRoutesDeps,
): Promise<Reply | Problem> {
  const override = storedOverride(body, tenantId, idsOf(tenantId), clock())
  const { id } = override
  const key = overrideKey(tenantId, id)
  if (prices.get(key) === undefined && prices.countOf(tenantId) >= OVERRIDES_MAX) {
    return problem('CONFLICT', `There are ${OVERRIDES_MAX} prices, as many as there may be.`)
  }
  const found = await prices.createOnce(key, override)
  const wasMadeBefore = isRepeat && isSamePrice(found, override)
  if (found !== override && !wasMadeBefore) {
    return problem('CONFLICT', 'There is a price for this provider, model and region from the same time on.')
  }
  return { status: 201, body: show(found), location: `${PATH}/${id}`, target: id, changes: { after: show(found) } }
}

const isSamePrice = (one: StoredOverride, other: StoredOverride): boolean =>
  JSON.stringify({ ...one, created_at: '' }) === JSON.stringify({ ...other, created_at: '' })

async function remove(
  { caller: { tenantId }, parameter: id, isRepeat }: MutationRequest<undefined>,
  deps: PriceRoutesDeps,
): Promise<Reply | Problem> {
  const found = find(tenantId, id, deps)
  // An attempt of the same request that nobody was told of may have removed it.
  if ('code' in found) return isRepeat && found.code === 'NOT_FOUND' ? { status: 204, target: id } : found
  await deps.prices.delete(overrideKey(tenantId, id))
  return { status: 204, target: id, changes: { before: show(found) } }
}

/** The price that an id in a path names. */
const find = (tenantId: string, id: string, { prices, idsOf }: PriceRoutesDeps): StoredOverride | Problem =>
  refusalOfId('prc', id, idsOf(tenantId), 'price') ?? prices.get(overrideKey(tenantId, id)) ?? noSuch('price')

const show = ({ tenant_id: _, ...shown }: StoredOverride) => shown
