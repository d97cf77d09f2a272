import type { Mode } from '../../auth/api-keys.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import { inOrder, refuseEmptyScopes, refuseNoScope } from '../../http/contract/scopes.js'
import type { Asked, MutationRequest, Reply } from '../../http/mutations/mutation.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import { type RecordRoutesDeps, recordRoutes } from '../../http/resource/record-routes.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { ResidencyRegion } from '../../residency/residency.js'
import type { DelegationChecks } from '../delegation/delegation.js'
import { formatClientSecret } from '../oauth/clients.js'
import { type StoredConnector, storedConnector, withSecret } from './connector.js'
import {
  CHANGE_CONNECTOR,
  type ChangeBody,
  CREATE_CONNECTOR,
  type CreateBody,
  changeBody,
  createBody,
  DELETE_CONNECTOR,
  EXAMPLE_CHANGES,
  EXAMPLE_NEW,
  EXAMPLE_ROTATION,
  GET_CONNECTOR,
  LIST_CONNECTORS,
  PATH,
  ROTATE_CONNECTOR_SECRET,
  type RotateBody,
  rotateBody,
  type ShownConnector,
} from './connector-contract.js'

export interface ConnectorRoutesDeps extends RecordRoutesDeps {
  readonly mutate: Mutate
  readonly mode: Mode
  readonly connectors: WatchedRecords<StoredConnector>
  readonly delegationCheckOf: DelegationChecks
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion
}

/** A partner acts without a sign-in: a stale sign-in of an administrator must not extend a partner's access. */
const CHANGE = { access: 'admin:config', rateClass: 'control', needsStepUp: true } as const
const WHAT = 'connector'
/** Per tenant. */
const CONNECTORS_MAX = 100

/** `/api/v1/connectors`: the partners that act for a tenant. */
export function connectorRoutes(deps: ConnectorRoutesDeps): readonly Route[] {
  const { mutate, connectors } = deps
  const kind = {
    path: PATH,
    prefix: 'con',
    what: WHAT,
    list: LIST_CONNECTORS,
    get: GET_CONNECTOR,
    of: connectors.of,
    find: connectors.get,
    show,
  } as const
  return [
    ...recordRoutes(kind, deps),
    mutate({
      ...CHANGE,
      method: 'post',
      path: PATH,
      action: 'connector.create',
      operation: CREATE_CONNECTOR,
      body: { schema: createBody, example: EXAMPLE_NEW, screen: refuseNoScope },
      refusalOf: (asked) => refusalOfCreation(asked, deps),
      handle: (request) => create(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'patch',
      path: `${PATH}/:id`,
      action: 'connector.update',
      operation: CHANGE_CONNECTOR,
      body: { schema: changeBody, example: EXAMPLE_CHANGES },
      handle: (request) => change(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'post',
      path: `${PATH}/:id/rotate-secret`,
      action: 'client.rotate_secret',
      operation: ROTATE_CONNECTOR_SECRET,
      body: { schema: rotateBody, example: EXAMPLE_ROTATION, isOptional: true, screen: refuseEmptyScopes },
      refusalOf: (asked) => refusalOfRotation(asked, deps),
      handle: (request) => rotateSecret(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'del',
      path: `${PATH}/:id`,
      action: 'connector.delete',
      operation: DELETE_CONNECTOR,
      handle: (request) => remove(request, deps),
    }),
  ]
}

const refusalOfCreation = async (
  { caller, body }: Asked<CreateBody>,
  { delegationCheckOf }: ConnectorRoutesDeps,
): Promise<Problem | undefined> =>
  (await delegationCheckOf(caller))({
    scopes: body.scopes,
    ingestionLayers: body.source_systems,
    trustsCost: body.trusts_cost ?? undefined,
  })

async function create(request: MutationRequest<CreateBody>, deps: ConnectorRoutesDeps): Promise<Reply | Problem> {
  const { caller, body, isRepeat, newId } = request
  const { connectors, mode, clock } = deps
  const { tenantId } = caller
  const id = newId('con')
  const secret = formatClientSecret(mode, request.newSecret())
  const trustsCost = body.trusts_cost ?? undefined
  let made = isRepeat ? await connectors.read(id) : undefined
  if (made === undefined) {
    if (connectors.countOf(tenantId) >= CONNECTORS_MAX) {
      return problem('CONFLICT', `Limit reached: at most ${CONNECTORS_MAX} connectors per tenant.`)
    }
    const wanted = {
      name: body.name,
      scopes: inOrder(body.scopes),
      sourceSystems: [...new Set(body.source_systems)],
      residencyLane: body.residency_lane ?? deps.residencyRegionOf(tenantId),
      trustsCost,
    }
    const ids = { connector: id, client: newId('cli') }
    const connector = storedConnector(ids, tenantId, wanted, secret, new Date(clock()).toISOString())
    made = await connectors.createOnce(id, connector)
  }
  return {
    status: 201,
    location: `${PATH}/${id}`,
    target: id,
    body: { ...show(made), client_secret: secret },
    changes: { after: audited(made) },
  }
}

async function change(
  { caller, parameter: id, body }: MutationRequest<ChangeBody>,
  { connectors, idsOf, delegationCheckOf }: ConnectorRoutesDeps,
): Promise<Reply | Problem> {
  const refusal = refusalOfId('con', id, idsOf(caller.tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const refusalOfGiving = await delegationCheckOf(caller)
  let before: StoredConnector | undefined
  let undelegable: Problem | undefined
  const after = await connectors.change(id, (connector) => {
    before = connector
    const wanted = patched(connector, body)
    undelegable = isWidening(connector, wanted) ? refusalOfGiving(givenBy(wanted)) : undefined
    return undelegable === undefined ? wanted : undefined
  })
  if (before === undefined || after === undefined) return noSuch(WHAT)
  if (undelegable !== undefined) return undelegable
  return { status: 200, body: show(after), changes: { before: audited(before), after: audited(after) } }
}

const patched = (connector: StoredConnector, body: ChangeBody): StoredConnector => ({
  ...connector,
  name: body.name ?? connector.name,
  source_systems: body.source_systems === undefined ? connector.source_systems : [...new Set(body.source_systems)],
  residency_lane: body.residency_lane === undefined ? connector.residency_lane : body.residency_lane,
  ...(body.trusts_cost !== undefined && { trusts_cost: body.trusts_cost }),
  status: body.status ?? connector.status,
})

const givenBy = ({ scopes, source_systems, trusts_cost }: StoredConnector) => ({
  scopes,
  ingestionLayers: source_systems,
  trustsCost: trusts_cost,
})

/** Whether a change gives the partner what it could not do before. */
const isWidening = (before: StoredConnector, after: StoredConnector): boolean =>
  (before.status !== 'active' && after.status === 'active') ||
  before.residency_lane !== after.residency_lane ||
  (before.trusts_cost === false && after.trusts_cost !== false) ||
  after.source_systems.some((layer) => !before.source_systems.includes(layer))

async function refusalOfRotation(
  { caller, body, parameter }: Asked<RotateBody>,
  { connectors, delegationCheckOf }: ConnectorRoutesDeps,
): Promise<Problem | undefined> {
  const connector = connectors.get(parameter)
  if (connector?.tenant_id !== caller.tenantId) return undefined
  return (await delegationCheckOf(caller))(givenBy({ ...connector, scopes: body.scopes ?? connector.scopes }))
}

async function rotateSecret(
  { caller, parameter: id, body, newSecret }: MutationRequest<RotateBody>,
  { connectors, idsOf, mode, delegationCheckOf }: ConnectorRoutesDeps,
): Promise<Reply | Problem> {
  const refusal = refusalOfId('con', id, idsOf(caller.tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const refusalOfGiving = await delegationCheckOf(caller)
  let undelegable: Problem | undefined
  const secret = formatClientSecret(mode, newSecret())
  let before: StoredConnector | undefined
  const after = await connectors.change(id, (connector) => {
    before = connector
    const renewed = withSecret(connector, secret, body.scopes == null ? connector.scopes : inOrder(body.scopes))
    undelegable = refusalOfGiving(givenBy(renewed))
    return undelegable === undefined ? renewed : undefined
  })
  if (before === undefined || after === undefined) return noSuch(WHAT)
  if (undelegable !== undefined) return undelegable
  return {
    status: 200,
    body: { ...show(after), client_secret: secret },
    changes: { before: audited(before), after: audited(after) },
  }
}

async function remove(
  { caller: { tenantId }, parameter: id, isRepeat }: MutationRequest<undefined>,
  { connectors, idsOf }: ConnectorRoutesDeps,
): Promise<Reply | Problem> {
  const refusal = refusalOfId('con', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const before = await connectors.read(id)
  // An earlier attempt of the same request, whose reply was lost, may have deleted it.
  if (before === undefined) return isRepeat ? { status: 204 } : noSuch(WHAT)
  await connectors.delete(id)
  return { status: 204, changes: { before: audited(before) } }
}

const show = ({ tenant_id: _, client, health, ...shown }: StoredConnector): ShownConnector => ({
  id: shown.id,
  name: shown.name,
  scopes: [...shown.scopes],
  source_systems: [...shown.source_systems],
  residency_lane: shown.residency_lane,
  trusts_cost: shown.trusts_cost !== false,
  status: shown.status,
  client_id: client.id,
  last_four: client.last_four,
  health: shownHealth(health),
  created_at: shown.created_at,
})

export const shownHealth = ({ status, since, reason, reported_at }: StoredConnector['health']) => ({
  status,
  since,
  reason,
  reported_at,
})

/** The part of a connector that the audit log keeps. */
const audited = ({
  id,
  name,
  scopes,
  source_systems,
  residency_lane,
  trusts_cost,
  status,
  client,
}: StoredConnector) => ({
  id,
  name,
  scopes,
  source_systems,
  residency_lane,
  trusts_cost: trusts_cost !== false,
  status,
  client_id: client.id,
})
