import type { AuditAction } from '../../auth/audit-entry.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import type { Mutate } from '../../http/mutations/mutations.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import { type RecordRoutesDeps, recordRoutes } from '../../http/resource/record-routes.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { DECISIONS, type Decided, type Decision, decided } from './decide-model.js'
import { GET_MODEL, LIST_MODELS, PROMOTE_MODEL, RECALL_MODEL, RESTORE_MODEL } from './model-contract.js'
import type { StoredModel } from './model-version.js'
import type { StoredShadow } from './shadow.js'
import { shownModel } from './show-model.js'

export interface ModelRoutesDeps extends RecordRoutesDeps {
  readonly mutate: Mutate
  readonly models: WatchedRecords<StoredModel>
  readonly shadowsOf: (tenantId: string) => Iterable<StoredShadow>
}

const PATH = '/v1/models'
const WHAT = 'model'
const OPERATIONS = { promote: PROMOTE_MODEL, recall: RECALL_MODEL, restore: RESTORE_MODEL } as const
export const ACTIONS = {
  promote: 'model.promote',
  recall: 'model.recall',
  restore: 'model.restore',
} as const satisfies Record<Decision, AuditAction>

/** `/v1/models`: the model versions of a tenant, their cards, and the decisions of admins about them. */
export function modelRoutes(deps: ModelRoutesDeps): readonly Route[] {
  const kind = {
    path: PATH,
    prefix: 'mdl',
    what: WHAT,
    access: 'read:attribution',
    rateClass: 'read',
    list: LIST_MODELS,
    get: GET_MODEL,
    of: deps.models.of,
    find: deps.models.get,
    show: (version: StoredModel) => show(version, deps),
  } as const
  return [
    ...recordRoutes(kind, deps),
    ...DECISIONS.map((decision) =>
      deps.mutate({
        access: 'admin:config',
        rateClass: 'control',
        method: 'post',
        path: `${PATH}/:id/${decision}`,
        action: ACTIONS[decision],
        operation: OPERATIONS[decision],
        handle: (request) => decide(request, decision, deps),
      }),
    ),
  ]
}

async function decide(
  { caller: { tenantId }, parameter: id }: MutationRequest<undefined>,
  decision: Decision,
  deps: ModelRoutesDeps,
): Promise<Reply | Problem> {
  const { models, idsOf, clock } = deps
  const refusal = refusalOfId('mdl', id, idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  let before: StoredModel | undefined
  let outcome: Decided | undefined
  const after = await models.change(id, (version) => {
    before = version
    outcome = decided(version, decision, models.of(tenantId), clock())
    return outcome.kind === 'decided' && outcome.version !== version ? outcome.version : undefined
  })
  if (before === undefined || after === undefined) return noSuch(WHAT)
  if (outcome?.kind === 'no_artefact') {
    return problem('CONFLICT', 'The version is too old to serve: only its model card is retained.')
  }
  return { status: 200, body: show(after, deps), changes: { before: audited(before), after: audited(after) } }
}

const show = (version: StoredModel, { models, shadowsOf }: ModelRoutesDeps) =>
  shownModel(
    version,
    models.of(version.tenant_id),
    [...shadowsOf(version.tenant_id)].filter(({ model_id }) => model_id === version.id),
  )

/** The fields of a version that the audit log records. */
export const audited = ({ promoted_at, recalled_at }: StoredModel) => ({ promoted_at, recalled_at })
