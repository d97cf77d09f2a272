import type { Caller } from '../../auth/authenticate.js'
import type { Records } from '../../broker/records.js'
import type { Watermark } from '../../broker/watermark.js'
import { FILTER_FIELDS, withTags } from '../../filters/filter-fields.js'
import type { Condition } from '../../filters/parse.js'
import { readStatedFilters } from '../../filters/stated.js'
import type { Exchange } from '../../http/exchange.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { ResourceDeps } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { Dimension } from '../../records/dimensions.js'
import { TOO_MANY_QUERIES, withStoreErrors } from '../../store/failures.js'
import type { SelectedOwner, Selection } from '../../store/queries/records/selected-records.js'
import type { CanonicalValue } from '../../text/canonical-json.js'
import { formatInstant } from '../../units/instant.js'
import type { BulkOverride } from '../changes/bulk-override.js'
import { CALLER } from '../changes/moves.js'
import { type JobDeps, newJob, type ReattributionJob, untilEnded } from '../changes/reattribution-job.js'
import {
  EXAMPLE_DRY_RUN,
  GET_OVERRIDES,
  OVERRIDE_MANY,
  type OverridesBody,
  overridesBody,
  PATH,
  RECORDS_MAX,
  REPLACED_MAX,
  type ShownOverride,
  TOKEN_MINUTES,
  UNDO_MANY,
} from './override-contract.js'
import { type Selected, totalOf } from './selected.js'

/** A dry run, by its token. Its figures follow from the instant. */
export interface OverridePreview extends Omit<BulkOverride, 'records' | 'cost_usd'> {
  readonly tenant_id: string
  readonly expires_at_ms: number
}

export interface OverrideRoutesDeps extends JobDeps, Pick<ResourceDeps, 'mutate' | 'idsOf'> {
  readonly watermark: Pick<Watermark, 'latest' | 'renewed'>
  /** The tag keys that a tenant has declared. */
  readonly dimensionsOf: (tenantId: string) => readonly Dimension[]
  /** Why this instance may not show a tenant's data; undefined when it may. */
  readonly refusalToShow: (tenantId: string) => Problem | undefined
  /** Undefined when the tenant has too many concurrent queries. */
  readonly selectedOwners: (
    selection: Selection,
    caller: string,
  ) => Promise<{ readonly value: readonly SelectedOwner[] } | undefined>
  /** How many versions of a tenant's records decisions of people have replaced. */
  readonly countReplaced: (tenantId: string) => Promise<number>
  readonly previews: Pick<Records<OverridePreview>, 'createOnce' | 'read'>
}

const WHAT = 'override'
const COMMON = { access: 'admin:config', rateClass: 'control' } as const
const MINUTE_MS = 60_000

/** `/v1/attribution/overrides`: overrides of all records that filters select. */
export const overrideRoutes = (deps: OverrideRoutesDeps): readonly Route[] => [
  deps.mutate<OverridesBody>({
    ...COMMON,
    method: 'post',
    path: PATH,
    needsStepUp: true,
    action: 'attribution.apply_overrides',
    operation: OVERRIDE_MANY,
    body: { schema: overridesBody, example: EXAMPLE_DRY_RUN },
    handle: ({ body, ...request }) =>
      body.dry_run ? preview({ ...request, body }, deps) : apply({ ...request, body }, deps),
  }),
  {
    method: 'get',
    // `overrides/:id` could be read as `:id/override`.
    path: `${PATH}/:id/status`,
    ...COMMON,
    operation: GET_OVERRIDES,
    handle: (exchange, caller) => get(exchange, caller, deps),
  },
  deps.mutate({
    ...COMMON,
    method: 'post',
    path: `${PATH}/:id/undo`,
    needsStepUp: true,
    action: 'attribution.undo_overrides',
    operation: UNDO_MANY,
    handle: (request) => undo(request, deps),
  }),
]

async function preview(
  { caller, body, newId }: MutationRequest<Extract<OverridesBody, { dry_run: true }>>,
  deps: OverrideRoutesDeps,
): Promise<Reply | Problem> {
  const { tenantId } = caller
  const blocked = deps.refusalToShow(tenantId)
  if (blocked !== undefined) return blocked
  const fields = withTags(FILTER_FIELDS, deps.dimensionsOf(tenantId))
  const unknown = `must be one of ${Object.keys(fields).join(', ')}`
  const { filters, errors } = readStatedFilters(body.filters, fields, unknown)
  if (errors.length > 0) return invalid(errors)

  const token = newId('ovr')
  // An earlier attempt of the request may have fixed the set already.
  const fixed = await deps.previews.createOnce(token, {
    tenant_id: tenantId,
    conditions: filters,
    snapshot_ms: await deps.watermark.latest(),
    service: body.service,
    owner: body.owner,
    reason: body.reason,
    expires_at_ms: deps.clock() + TOKEN_MINUTES * MINUTE_MS,
  })
  const found = await select(fixed, deps)
  if ('code' in found) return found
  const { records, cost_usd, before, implausible_cost, unchanged } = found
  const { service, owner } = fixed
  return {
    status: 200,
    action: 'attribution.preview_overrides',
    target: token,
    changes: { after: auditedOf({ ...fixed, records, cost_usd }) },
    body: {
      token,
      expires_at: formatInstant(fixed.expires_at_ms),
      records,
      cost_usd,
      before,
      after: [{ service, owner, records, cost_usd }],
      implausible_cost,
      unchanged,
    },
  }
}

/** The records that a dry run selected, again: as of its instant they are always the same. */
const select = async (fixed: OverridePreview, deps: OverrideRoutesDeps): Promise<Selected | Problem> =>
  withStoreErrors(async () => {
    const { tenant_id: tenantId, conditions, snapshot_ms: snapshotMs } = fixed
    const found = await deps.selectedOwners({ tenantId, conditions, snapshotMs }, CALLER)
    if (found === undefined) return TOO_MANY_QUERIES
    const selected = totalOf(found.value)
    if (selected.records > RECORDS_MAX) {
      const detail = `must select at most ${RECORDS_MAX} records; these select ${selected.records}`
      return invalid([{ pointer: '/filters', detail }])
    }
    const replaced = await deps.countReplaced(tenantId)
    return replaced + selected.records > REPLACED_MAX ? TOO_MANY_REPLACED : selected
  })

async function apply(
  { caller, body: { token }, newId }: MutationRequest<Extract<OverridesBody, { dry_run: false }>>,
  deps: OverrideRoutesDeps,
): Promise<Reply | Problem> {
  const { tenantId, principal: actor } = caller
  const refusal = refusalOfId('ovr', token, deps.idsOf(tenantId), WHAT)
  if (refusal?.code === 'NOT_FOUND') return invalid([{ pointer: '/token', detail: 'must be the token of a dry run' }])
  if (refusal !== undefined) return refusal
  const startedBy = newId('chg')
  const known = await deps.jobs.read(token)
  const started = known ?? (await start(token, startedBy, actor, tenantId, deps))
  if ('code' in started) return started
  if (started.override === undefined || started.started_by !== startedBy) return USED
  await deps.publishSlice(tenantId, { jobId: token, slice: 0 })
  const job = await untilEnded(started, deps)
  return {
    status: job.status === 'running' ? 202 : 200,
    target: token,
    body: shown(job, started.override, undefined),
    changes: { after: auditedOf(started.override) },
  }
}

/** Creates the job of a dry run, unless another request was faster. */
async function start(
  token: string,
  startedBy: string,
  actor: string,
  tenantId: string,
  deps: OverrideRoutesDeps,
): Promise<ReattributionJob | Problem> {
  const fixed = await deps.previews.read(token)
  if (fixed === undefined || fixed.tenant_id !== tenantId || fixed.expires_at_ms <= deps.clock()) return EXPIRED
  const found = await select(fixed, deps)
  if ('code' in found) return found
  const { conditions, snapshot_ms, service, owner, reason } = fixed
  const { records, cost_usd, fromMs, toMs } = found
  return deps.jobs.createOnce(
    token,
    newJob(
      {
        id: token,
        tenant_id: tenantId,
        from_ms: fromMs,
        to_ms: toMs,
        model: null,
        override: { conditions, snapshot_ms, service, owner, reason, records, cost_usd },
        started_by: startedBy,
        actor,
      },
      deps.clock(),
    ),
  )
}

async function undo(request: MutationRequest<undefined>, deps: OverrideRoutesDeps): Promise<Reply | Problem> {
  const { caller, parameter: id, newId } = request
  const found = await find(caller, id, deps)
  if ('code' in found) return found
  const { job, override } = found
  if (job.status === 'running') return RUNNING
  const undoId = undoIdOf(id)
  const startedBy = newId('chg')
  const { from_ms, to_ms, tenant_id } = job
  const begun = newJob(
    { id: undoId, tenant_id, from_ms, to_ms, model: null, undoes: id, started_by: startedBy, actor: caller.principal },
    deps.clock(),
  )
  const started = await deps.jobs.createOnce(undoId, begun)
  if (started.started_by !== startedBy) return UNDONE
  await deps.publishSlice(tenant_id, { jobId: undoId, slice: 0 })
  const undone = await untilEnded(started, deps)
  return {
    status: undone.status === 'running' ? 202 : 200,
    target: id,
    body: shown(job, override, undone),
    changes: { before: auditedOf(override) },
  }
}

/** An override is undone once. */
const undoIdOf = (id: string): string => `${id}.undo`

async function get(exchange: Exchange, caller: Caller, deps: OverrideRoutesDeps): Promise<void> {
  const id = exchange.parameter
  const found = await find(caller, id, deps)
  if ('code' in found) return exchange.replyProblem(found)
  exchange.replyJson('200 OK', shown(found.job, found.override, await deps.jobs.read(undoIdOf(id))))
}

async function find(
  { tenantId }: Caller,
  id: string,
  deps: OverrideRoutesDeps,
): Promise<{ readonly job: ReattributionJob; readonly override: BulkOverride } | Problem> {
  const refusal = refusalOfId('ovr', id, deps.idsOf(tenantId), WHAT)
  if (refusal !== undefined) return refusal
  const job = await deps.jobs.read(id)
  return job?.override === undefined || job.tenant_id !== tenantId ? noSuch(WHAT) : { job, override: job.override }
}

function shown(job: ReattributionJob, override: BulkOverride, undone: ReattributionJob | undefined): ShownOverride {
  const { service, owner, reason, records, conditions } = override
  return {
    id: job.id,
    status: statusOf(job, undone),
    filters: filtersOf(conditions),
    service,
    owner,
    reason,
    records,
    overridden: job.changed,
    restored: undone?.changed ?? null,
    created_at: job.created_at,
  }
}

function statusOf(job: ReattributionJob, undone: ReattributionJob | undefined): ShownOverride['status'] {
  if (undone !== undefined) return undone.status === 'running' ? 'undoing' : 'undone'
  return job.status === 'done' ? 'applied' : job.status
}

const auditedOf = ({ conditions, service, owner, reason, records, cost_usd }: Omit<BulkOverride, 'snapshot_ms'>) =>
  ({ filters: filtersOf(conditions), service, owner, reason, records, cost_usd }) satisfies CanonicalValue

const filtersOf = (conditions: readonly Condition[]) =>
  conditions.map(({ field, operator, values }) => ({ field, operator, values: [...values] }))

const TOO_MANY_REPLACED = problem(
  'CONFLICT',
  `Limit reached: overrides may replace at most ${REPLACED_MAX} versions of a tenant's records.`,
)
const USED = problem('CONFLICT', 'The token is used already.')
const EXPIRED = problem('CONFLICT', 'The token is expired; make another dry run.')
const RUNNING = problem('CONFLICT', 'The override is still running; undo it when it is applied.')
const UNDONE = problem('CONFLICT', 'The override is undone already.')
