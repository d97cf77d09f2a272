import type { Mode } from '../../auth/api-keys.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import { inOrder } from '../../http/contract/scopes.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { TenantIds } from '../../ids/ids.js'
import { type FieldError, type Problem, problem } from '../../problems/catalogue.js'
import { formatClientSecret, type StoredClient, storeClientSecret, storedClient } from '../oauth/clients.js'
import { type CreateBody, locationOf, type RotateBody, type ShownClient, type UpdateBody } from './contract.js'

export interface ClientChangesDeps {
  readonly mode: Mode
  readonly idsOf: (tenantId: string) => TenantIds
  readonly clients: WatchedRecords<StoredClient>
  readonly clock: () => number
}

export const WHAT = 'client'
/** Per tenant. */
const CLIENTS_MAX = 1_000
const TOO_MANY = problem('CONFLICT', `Limit reached: at most ${CLIENTS_MAX} clients per tenant; delete some first.`)

/** `POST /api/v1/clients`. */
export async function createClient(
  request: MutationRequest<CreateBody>,
  { mode, clients, clock }: ClientChangesDeps,
): Promise<Reply | Problem> {
  const { caller, body, newId, newSecret } = request
  const { tenantId } = caller
  const wanted = {
    name: body.name,
    scopes: inOrder(body.scopes),
    grantTypes: body.grant_types ?? ['client_credentials' as const],
    redirectUris: body.redirect_uris ?? [],
    trustsCost: body.trusts_cost ?? undefined,
  }
  const faults = faultsOf(wanted.grantTypes, wanted.redirectUris)
  if (faults.length > 0) return invalid(faults)
  const [id, secret] = [newId('cli'), formatClientSecret(mode, newSecret())]
  if (!request.isRepeat && clients.countOf(tenantId) >= CLIENTS_MAX) return TOO_MANY
  const made = await clients.createOnce(id, storedClient(id, tenantId, wanted, secret, new Date(clock())))
  return {
    status: 201,
    location: locationOf(id),
    target: id,
    body: { ...shownClient(made), client_secret: secret },
    changes: { after: audited(made) },
  }
}

/** `PATCH /api/v1/clients/{id}`. It can remove scopes; to add some needs a new secret (spec 5 rule 5). */
export async function updateClient(
  { caller, body, parameter: id }: Pick<MutationRequest<UpdateBody>, 'caller' | 'body' | 'parameter'>,
  { clients, idsOf }: ClientChangesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const refusal = refusalOfId('cli', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  let before: StoredClient | undefined
  let faults: readonly FieldError[] = []
  const after = await clients.change(id, (client) => {
    before = client
    if (client.tenant_id !== tenantId) return undefined
    const patched = patchedClient(client, body)
    faults = [...wideningOf(client, patched), ...faultsOf(patched.grant_types, patched.redirect_uris)]
    return faults.length === 0 ? patched : undefined
  })
  if (after?.tenant_id !== tenantId || before === undefined) return noSuch(WHAT)
  if (faults.length > 0) return invalid(faults)
  return { status: 200, body: shownClient(after), changes: { before: audited(before), after: audited(after) } }
}

/** `POST /api/v1/clients/{id}/rotate-secret`. */
export async function rotateClientSecret(
  request: Pick<MutationRequest<RotateBody>, 'caller' | 'body' | 'parameter' | 'newSecret'>,
  { mode, clients, idsOf }: ClientChangesDeps,
): Promise<Reply | Problem> {
  const { caller, body, parameter: id, newSecret } = request
  const { tenantId } = caller
  const refusal = refusalOfId('cli', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const secret = formatClientSecret(mode, newSecret())
  let before: StoredClient | undefined
  const after = await clients.change(id, (client) => {
    before = client
    if (client.tenant_id !== tenantId) return undefined
    const scopes = body.scopes == null ? client.scopes : inOrder(body.scopes)
    return { ...client, scopes, ...storeClientSecret(secret) }
  })
  if (after?.tenant_id !== tenantId || before === undefined) return noSuch(WHAT)
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

const wideningOf = (before: StoredClient, after: StoredClient): readonly FieldError[] =>
  after.scopes.every((scope) => before.scopes.includes(scope))
    ? []
    : [{ pointer: '/scopes', detail: 'must not add scopes; rotate the secret to add some' }]

/** Grant types that need another grant type, or a redirect address. */
function faultsOf(
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
})

/** The API's form of a client. */
export const shownClient = (client: StoredClient): ShownClient => ({
  id: client.id,
  name: client.name,
  scopes: [...client.scopes],
  grant_types: [...client.grant_types],
  redirect_uris: [...client.redirect_uris],
  status: client.status,
  trusts_cost: client.trusts_cost !== false,
  created_at: client.created_at,
  last_four: client.last_four,
})

/** The part of a client that the audit log keeps: only the origins of its addresses, since a query may contain anything. */
const audited = ({ name, scopes, grant_types, redirect_uris, status, trusts_cost }: StoredClient) => ({
  name,
  scopes,
  grant_types,
  redirect_origins: redirect_uris.map((uri) => new URL(uri).origin),
  status,
  trusts_cost: trusts_cost !== false,
})
