import type { WatchedRecords } from '../../../broker/watched-records.js'
import type { MutationRequest, Reply } from '../../../http/mutations/mutation.js'
import type { Mutate } from '../../../http/mutations/mutations.js'
import { removeRecord } from '../../../http/resource/record-changes.js'
import { type RecordRoutesDeps, recordRoutes } from '../../../http/resource/record-routes.js'
import type { Route } from '../../../http/route.js'
import { type Problem, problem } from '../../../problems/catalogue.js'
import { CREATE_NAME, DELETE_NAME, EXAMPLE_FIELDS, GET_NAME, LIST_NAMES, PATH } from './contract.js'
import { NAMES_MAX, type NameFields, nameFields, type StoredModelName, storedName } from './name.js'

export interface ModelNameRoutesDeps extends RecordRoutesDeps {
  readonly mutate: Mutate
  readonly names: WatchedRecords<StoredModelName>
}

const CHANGE = { access: 'admin:config', rateClass: 'control' } as const
const WHAT = 'model name'

/** `/api/v1/model-names`: what a tenant's own names for models stand for. */
export function modelNameRoutes(deps: ModelNameRoutesDeps): readonly Route[] {
  const { mutate, names } = deps
  const kind = { prefix: 'mnm', what: WHAT, records: names, idsOf: deps.idsOf, audited: meaning } as const
  return [
    ...recordRoutes(
      {
        path: PATH,
        prefix: 'mnm',
        what: WHAT,
        list: LIST_NAMES,
        get: GET_NAME,
        of: names.of,
        find: names.get,
        show,
      },
      deps,
    ),
    mutate({
      ...CHANGE,
      method: 'post',
      path: PATH,
      action: 'model_name.create',
      operation: CREATE_NAME,
      body: { schema: nameFields, example: EXAMPLE_FIELDS },
      handle: (request) => create(request, deps),
    }),
    mutate({
      ...CHANGE,
      method: 'del',
      path: `${PATH}/:id`,
      action: 'model_name.delete',
      operation: DELETE_NAME,
      handle: (request) => removeRecord(request, kind),
    }),
  ]
}

async function create(
  { caller: { tenantId }, body, isRepeat }: MutationRequest<NameFields>,
  { names, idsOf, clock }: ModelNameRoutesDeps,
): Promise<Reply | Problem> {
  const stored = storedName(body, tenantId, idsOf(tenantId), clock())
  const { id } = stored
  if (names.get(id) === undefined && names.countOf(tenantId) >= NAMES_MAX) {
    return problem('CONFLICT', `There are ${NAMES_MAX} names, as many as there may be.`)
  }
  const found = await names.createOnce(id, stored)
  const wasMadeBefore = isRepeat && JSON.stringify(meaning(found)) === JSON.stringify(meaning(stored))
  if (found !== stored && !wasMadeBefore) return problem('CONFLICT', 'The name stands for a model already.')
  return { status: 201, body: show(found), location: `${PATH}/${id}`, target: id, changes: { after: meaning(found) } }
}

const show = ({ tenant_id: _, ...shown }: StoredModelName) => shown

const meaning = ({ provider, name, served_provider, served_model }: StoredModelName) => {
  return { provider, name, served_provider, served_model }
}
