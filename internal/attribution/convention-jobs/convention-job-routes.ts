import type { Caller } from '../../auth/authenticate.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { Watermark } from '../../broker/watermark.js'
import type { Exchange } from '../../http/exchange.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { ResourceDeps } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import { formatInstant, parseInstant } from '../../units/instant.js'
import { type StoredConvention, storedConvention } from '../../valuation/conventions/convention.js'
import type { ConventionDraft } from '../../valuation/conventions/watched-conventions.js'
import { type JobDeps, type ReattributionJob, startJob, untilEnded } from '../changes/reattribution-job.js'
import { NO_TALLY } from '../changes/revalue.js'
import {
  APPLY,
  APPLY_PATH,
  type ApplyBody,
  applyBody,
  DAYS_DEFAULT,
  DRY_RUN,
  DRY_RUN_PATH,
  type DryRunBody,
  dryRunBody,
  EXAMPLE_APPLY,
  EXAMPLE_DRY_RUN,
  GET_JOB,
  JOBS_PATH,
  type ShownJob,
} from './convention-job-contract.js'

export interface ConventionJobRoutesDeps extends JobDeps, Pick<ResourceDeps, 'mutate' | 'idsOf'> {
  readonly watermark: Pick<Watermark, 'renewed'>
  readonly conventions: Pick<WatchedRecords<StoredConvention>, 'get' | 'revision'>
  /** Why this instance may not show a tenant's data; undefined when it may. */
  readonly refusalToShow: (tenantId: string) => Problem | undefined
}

const COMMON = { access: 'admin:config', rateClass: 'control' } as const
const CONVENTION = 'usage convention'
const DAY_MS = 24 * 60 * 60 * 1_000

/** What usage conventions would change in the past, and changing it. */
export const conventionJobRoutes = (deps: ConventionJobRoutesDeps): readonly Route[] => [
  deps.mutate({
    ...COMMON,
    method: 'post',
    path: DRY_RUN_PATH,
    action: 'usage_convention.dry_run',
    operation: DRY_RUN,
    body: { schema: dryRunBody, example: EXAMPLE_DRY_RUN },
    handle: (request) => dryRun(request, deps),
  }),
  deps.mutate({
    ...COMMON,
    method: 'post',
    path: APPLY_PATH,
    needsStepUp: true,
    action: 'usage_convention.apply',
    operation: APPLY,
    body: { schema: applyBody, example: EXAMPLE_APPLY },
    handle: (request) => apply(request, deps),
  }),
  {
    method: 'get',
    path: `${JOBS_PATH}/:id`,
    ...COMMON,
    operation: GET_JOB,
    handle: (exchange, caller) => get(exchange, caller, deps),
  },
]

async function dryRun(request: MutationRequest<DryRunBody>, deps: ConventionJobRoutesDeps): Promise<Reply | Problem> {
  const { caller, body } = request
  const draft = draftOf(body, caller.tenantId, deps)
  if ('code' in draft) return draft
  const toMs = deps.clock()
  return run(request, { fromMs: toMs - (body.days ?? DAYS_DEFAULT) * DAY_MS, toMs, draft }, deps)
}

/** The tenant's conventions as they would be. */
function draftOf(
  { convention: fields, replaces }: DryRunBody,
  tenantId: string,
  { idsOf, conventions, clock }: ConventionJobRoutesDeps,
): ConventionDraft | Problem {
  const ids = idsOf(tenantId)
  if (replaces != null) {
    const refusal = refusalOfId('ucv', replaces, ids, CONVENTION)
    if (refusal !== undefined) return refusal
    if (conventions.get(replaces)?.tenant_id !== tenantId) return noSuch(CONVENTION)
  }
  const convention = fields == null ? undefined : storedConvention(fields, tenantId, ids, clock())
  return { id: replaces ?? convention?.id ?? '', ...(convention && { convention }) }
}

async function apply(request: MutationRequest<ApplyBody>, deps: ConventionJobRoutesDeps): Promise<Reply | Problem> {
  const { body } = request
  const fromMs = Math.max(0, parseInstant(body.from) ?? 0)
  const toMs = body.to == null ? deps.clock() : (parseInstant(body.to) ?? 0)
  if (fromMs >= toMs) return invalid([{ pointer: '/from', detail: 'must be before to' }])
  return run(request, { fromMs, toMs }, deps)
}

interface Asked {
  /** Milliseconds since the epoch; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
  /** Of a dry run. */
  readonly draft?: ConventionDraft
}

async function run(
  { caller, newId }: Pick<MutationRequest<unknown>, 'caller' | 'newId'>,
  { fromMs, toMs, draft }: Asked,
  deps: ConventionJobRoutesDeps,
): Promise<Reply | Problem> {
  const { tenantId, principal: actor } = caller
  const blocked = deps.refusalToShow(tenantId)
  if (blocked !== undefined) return blocked
  const started = await startJob(
    {
      id: newId('rea'),
      tenant_id: tenantId,
      from_ms: fromMs,
      to_ms: toMs,
      model: null,
      valued: 'usage',
      conventions: { ...(draft && { draft }), revision: deps.conventions.revision() },
      ...(draft && { dry_run: true }),
      actor,
    },
    deps,
  )
  const job = await untilEnded(started, deps)
  const { from, to } = shownJob(started)
  return {
    status: job.status === 'running' ? 202 : 200,
    target: job.id,
    body: shownJob(job),
    changes: { after: { from, to, dry_run: draft !== undefined } },
  }
}

async function get(exchange: Exchange, { tenantId }: Caller, deps: ConventionJobRoutesDeps): Promise<void> {
  const id = exchange.parameter
  const refusal = refusalOfId('rea', id, deps.idsOf(tenantId), 'job') ?? deps.refusalToShow(tenantId)
  if (refusal !== undefined) return exchange.replyProblem(refusal)
  const job = await deps.jobs.read(id)
  if (job?.conventions === undefined || job.tenant_id !== tenantId) return exchange.replyProblem(noSuch('job'))
  exchange.replyJson('200 OK', shownJob(job))
}

function shownJob({ tally = NO_TALLY, ...job }: ReattributionJob): ShownJob {
  return {
    id: job.id,
    status: job.status,
    dry_run: job.dry_run === true,
    from: formatInstant(job.from_ms),
    to: formatInstant(job.to_ms),
    seen: job.seen,
    records: job.changed,
    cost_usd: tally.cost_usd,
    ambiguous: tally.left,
    created_at: job.created_at,
  }
}
