import type { WatchedRecords } from '../../broker/watched-records.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { ResourceDeps } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import { type StoredConvention, storedConvention } from '../../valuation/conventions/convention.js'
import type { ConventionDraft } from '../../valuation/conventions/watched-conventions.js'
import {
  type AskedJobDeps,
  type JobPeriod,
  lastDays,
  replyAskedJob,
  runAskedJob,
  shownJobFields,
  statedPeriod,
} from '../changes/asked-job.js'
import { DAYS_DEFAULT } from '../changes/asked-job-contract.js'
import type { ReattributionJob } from '../changes/reattribution-job.js'
import { NO_TALLY } from '../changes/revalue.js'
import {
  APPLY,
  APPLY_PATH,
  type ApplyBody,
  applyBody,
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

export interface ConventionJobRoutesDeps extends AskedJobDeps, Pick<ResourceDeps, 'mutate'> {
  readonly conventions: Pick<WatchedRecords<StoredConvention>, 'get' | 'revision'>
}

const COMMON = { access: 'admin:config', rateClass: 'control' } as const
const CONVENTION = 'usage convention'

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
    handle: (exchange, caller) =>
      replyAskedJob(exchange, caller, ({ conventions }) => conventions !== undefined, shownJob, deps),
  },
]

async function dryRun(request: MutationRequest<DryRunBody>, deps: ConventionJobRoutesDeps): Promise<Reply | Problem> {
  const { caller, body } = request
  const draft = draftOf(body, caller.tenantId, deps)
  if ('code' in draft) return draft
  return run(request, lastDays(body.days ?? DAYS_DEFAULT, deps.clock()), draft, deps)
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
  const period = statedPeriod(request.body, deps.clock())
  return 'code' in period ? period : run(request, period, undefined, deps)
}

const run = (
  request: MutationRequest<unknown>,
  period: JobPeriod,
  draft: ConventionDraft | undefined,
  deps: ConventionJobRoutesDeps,
): Promise<Reply | Problem> => {
  const conventions = { ...(draft && { draft }), revision: deps.conventions.revision() }
  return runAskedJob(request, period, { valued: 'usage', conventions, ...(draft && { dry_run: true }) }, shownJob, deps)
}

function shownJob(job: ReattributionJob): ShownJob {
  const { cost_usd, left } = job.tally ?? NO_TALLY
  return { ...shownJobFields(job), cost_usd, ambiguous: left }
}
