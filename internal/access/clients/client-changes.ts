import type { Mode } from '../../auth/api-keys.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import { inOrder } from '../../http/contract/scopes.js'
import type { Asked, MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { TenantIds } from '../../ids/ids.js'
import { type FieldError, type Problem, problem } from '../../problems/problem-catalogue.js'
import type { DelegationChecks } from '../delegation/delegation.js'
import { formatClientSecret, type StoredClient, storeClientSecret, storedClient } from '../oauth/clients.js'
import { isPrivateUseUri, originOf } from '../oauth/redirect-uris.js'
import { type CreateBody, locationOf, type RotateBody, type ShownClient, type UpdateBody } from './client-contract.js'

export interface ClientChangesDeps {
  readonly mode: Mode
  readonly idsOf: (tenantId: string) => TenantIds
  readonly clients: WatchedRecords<StoredClient>
  readonly delegationCheckOf: DelegationChecks
  readonly clock: () => number
}

export const WHAT = 'client'
/** Per tenant. */
const CLIENTS_MAX = 1_000
const NO_SECRET = problem('CONFLICT', 'A public client has no secret.')
const TOO_MANY = problem('CONFLICT', `Limit reached: at most ${CLIENTS_MAX} clients per tenant; delete some first.`)

export const refusalOfCreation = async (
  { caller, body }: Asked<CreateBody>,
  { delegationCheckOf }: ClientChangesDeps,
): Promise<Problem | undefined> =>
  (await delegationCheckOf(caller))({
    scopes: body.scopes,
    trustsCost: body.trusts_cost ?? undefined,
    isGateway: body.is_gateway ?? undefined,
  })

/** `POST /api/v1/clients`. */
export async function createClient(
  request: MutationRequest<CreateBody>,
  { mode, clients, clock }: ClientChangesDeps,
): Promise<Reply | Problem> {
  const { body, newId, newSecret } = request
  const { tenantId } = request.caller
  const isPublic = body.type === 'public'
  const wanted = {
    name: body.name,
    scopes: inOrder(body.scopes),
    isPublic,
    grantTypes: body.grant_types ?? [isPublic ? ('authorization_code' as const) : ('client_credentials' as const)],
    redirectUris: body.redirect_uris ?? [],
    trustsCost: body.trusts_cost ?? undefined,
    isGateway: body.is_gateway ?? undefined,
    billing: body.billing ?? undefined,
  }
  const faults = faultsOf(isPublic, wanted.grantTypes, wanted.redirectUris)
  if (faults.length > 0) return invalid(faults)
  const [id, secret] = [newId('cli'), formatClientSecret(mode, newSecret())]
  if (!request.isRepeat && clients.countOf(tenantId) >= CLIENTS_MAX) return TOO_MANY
  const made = await clients.createOnce(id, storedClient(id, tenantId, wanted, secret, new Date(clock())))
  return {
    status: 201,
    location: locationOf(id),
    target: id,
    body: { ...shownClient(made), ...(!isPublic && { client_secret: secret }) },
    changes: { after: audited(made) },
  }
}

/** `PATCH /api/v1/clients/{id}`. It can remove scopes; to add some needs a new secret. */
export async function updateClient(
  { caller, body, parameter: id }: Pick<MutationRequest<UpdateBody>, 'caller' | 'body' | 'parameter'>,
  { clients, idsOf, delegationCheckOf }: ClientChangesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const refusal = refusalOfId('cli', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const refusalOfGiving = await delegationCheckOf(caller)
  let before: StoredClient | undefined
  let faults: readonly FieldError[] = []
  let undelegable: Problem | undefined
  const after = await clients.change(id, (client) => {
    before = client
    if (client.tenant_id !== tenantId) return undefined
    const patched = patchedClient(client, body)
    faults = [
      ...wideningOf(client, patched),
      ...faultsOf(client.is_public === true, patched.grant_types, patched.redirect_uris),
    ]
    undelegable = isWidening(client, patched) ? refusalOfGiving(givenBy(patched)) : undefined
    return faults.length === 0 && undelegable === undefined ? patched : undefined
  })
  if (after?.tenant_id !== tenantId || before === undefined) return noSuch(WHAT)
  if (faults.length > 0) return invalid(faults)
  if (undelegable !== undefined) return undelegable
  return { status: 200, body: shownClient(after), changes: { before: audited(before), after: audited(after) } }
}

export async function refusalOfRotation(
  { caller, body, parameter }: Asked<RotateBody>,
  { clients, delegationCheckOf }: ClientChangesDeps,
): Promise<Problem | undefined> {
  const client = clients.get(parameter)
  return client?.tenant_id === caller.tenantId && client.is_public !== true
    ? (await delegationCheckOf(caller))(givenBy(rotated(client, body)))
    : undefined
}

const rotated = (client: StoredClient, { scopes }: RotateBody): StoredClient => ({
  ...client,
  scopes: scopes == null ? client.scopes : inOrder(scopes),
})

/** `POST /api/v1/clients/{id}/rotate-secret`. */
export async function rotateClientSecret(
  request: Pick<MutationRequest<RotateBody>, 'caller' | 'body' | 'parameter' | 'newSecret'>,
  { mode, clients, idsOf, delegationCheckOf }: ClientChangesDeps,
): Promise<Reply | Problem> {
  const { caller, body, parameter: id, newSecret } = request
  const { tenantId } = caller
  const refusal = refusalOfId('cli', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const refusalOfGiving = await delegationCheckOf(caller)
  const secret = formatClientSecret(mode, newSecret())
  let before: StoredClient | undefined
  let undelegable: Problem | undefined
  const after = await clients.change(id, (client) => {
    before = client
    if (client.tenant_id !== tenantId) return undefined
    const renewed = { ...rotated(client, body), ...storeClientSecret(secret) }
    undelegable = client.is_public === true ? NO_SECRET : refusalOfGiving(givenBy(renewed))
    return undelegable === undefined ? renewed : undefined
  })
  if (after?.tenant_id !== tenantId || before === undefined) return noSuch(WHAT)
  if (undelegable !== undefined) return undelegable
  return {
    status: 200,
    body: { ...shownClient(after), client_secret: secret },
    changes: { before: audited(before), after: audited(after) },
  }
}

/** `DELETE /api/v1/clients/{id}`. */
export async function deleteClient(
  { caller, parameter: id, isRepeat }: Pick<MutationRequest<undefined>, 'caller' | 'parameter' | 'isRepeat'>,
  { clients, idsOf }: ClientChangesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const refusal = refusalOfId('cli', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const isDeleted = await clients.delete(id, (client) => client.tenant_id === tenantId)
  return isDeleted || isRepeat ? { status: 204 } : noSuch(WHAT)
}

const givenBy = ({ scopes, trusts_cost, is_gateway }: StoredClient) => ({
  scopes,
  trustsCost: trusts_cost,
  isGateway: is_gateway,
})

/** Whether a change gives somebody what they could not have before: scopes can only be removed. */
const isWidening = (before: StoredClient, after: StoredClient): boolean =>
  (before.status !== 'active' && after.status === 'active') ||
  (before.trusts_cost === false && after.trusts_cost !== false) ||
  (before.is_gateway !== true && after.is_gateway === true) ||
  after.grant_types.some((type) => !before.grant_types.includes(type)) ||
  after.redirect_uris.some((uri) => !before.redirect_uris.includes(uri))

const wideningOf = (before: StoredClient, after: StoredClient): readonly FieldError[] =>
  after.scopes.every((scope) => before.scopes.includes(scope))
    ? []
    : [{ pointer: '/scopes', detail: 'must not add scopes; rotate the secret to add some' }]

/** Grant types that need another grant type, or a redirect address; and what only one type of client may have. */
function faultsOf(
  isPublic: boolean,
  grantTypes: StoredClient['grant_types'],
  redirectUris: StoredClient['redirect_uris'],
): readonly FieldError[] {
  const hasCode = grantTypes.includes('authorization_code')
  if (hasCode && redirectUris.length === 0) {
    return [{ pointer: '/redirect_uris', detail: 'must contain an address for authorization_code' }]
  }
  if (!hasCode && grantTypes.includes('refresh_token')) {
    return [{ pointer: '/grant_types', detail: 'must contain authorization_code if it contains refresh_token' }]
  }
  if (isPublic && grantTypes.includes('client_credentials')) {
    return [{ pointer: '/grant_types', detail: 'must not contain client_credentials for a public client' }]
  }
  if (!isPublic && redirectUris.some(isPrivateUseUri)) {
    return [{ pointer: '/redirect_uris', detail: 'must not have a private-use scheme for a confidential client' }]
  }
  return []
}

const patchedClient = (client: StoredClient, patch: UpdateBody): StoredClient => ({
  ...client,
  name: patch.name ?? client.name,
  scopes: patch.scopes === undefined ? client.scopes : inOrder(patch.scopes),
  grant_types: patch.grant_types ?? client.grant_types,
  redirect_uris: patch.redirect_uris ?? client.redirect_uris,
  status: patch.status ?? client.status,
  ...(patch.trusts_cost !== undefined && { trusts_cost: patch.trusts_cost }),
  ...(patch.is_gateway !== undefined && { is_gateway: patch.is_gateway }),
  ...(patch.billing !== undefined && { billing: patch.billing }),
})

/** The API's form of a client. */
export const shownClient = (client: StoredClient): ShownClient => ({
  id: client.id,
  name: client.name,
  type: client.is_public === true ? 'public' : 'confidential',
  scopes: [...client.scopes],
  grant_types: [...client.grant_types],
  redirect_uris: [...client.redirect_uris],
  status: client.status,
  trusts_cost: client.trusts_cost !== false,
  is_gateway: client.is_gateway === true,
  billing: client.billing ?? 'auto',
  created_at: client.created_at,
  last_four: client.is_public === true ? null : client.last_four,
})

/**
 * The part of a client that the audit log keeps: only the origins of its addresses, since a query may contain anything.
 */
const audited = ({
  name,
  scopes,
  grant_types,
  redirect_uris,
  is_public,
  status,
  trusts_cost,
  is_gateway,
  billing,
}: StoredClient) => ({
  name,
  type: is_public === true ? 'public' : 'confidential',
  scopes,
  grant_types,
  redirect_origins: redirect_uris.map(originOf),
  status,
  trusts_cost: trusts_cost !== false,
  is_gateway: is_gateway === true,
  billing: billing ?? 'auto',
})
