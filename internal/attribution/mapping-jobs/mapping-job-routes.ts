import type { WatchedRecords } from '../../broker/watched-records.js'
import type { RuleDraft } from '../../directory/mapping/mapping-policy.js'
import { type StoredRule, storedRule } from '../../directory/mapping/mapping-rule.js'
import { refusalOfRule } from '../../directory/mapping/mapping-rule-routes.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { ResourceDeps } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { idOfName } from '../../ids/ids.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import {
  type AskedJobDeps,
  type JobPeriod,
  lastDays,
  replyAskedJob,
  runAskedJob,
  shownJobFields,
  shownMoves,
  statedPeriod,
} from '../changes/asked-job.js'
import { DAYS_DEFAULT } from '../changes/asked-job-contract.js'
import type { ReattributionJob } from '../changes/reattribution-job.js'
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
} from './mapping-job-contract.js'

export interface MappingJobRoutesDeps extends AskedJobDeps, Pick<ResourceDeps, 'mutate'> {
  readonly rules: Pick<WatchedRecords<StoredRule>, 'get' | 'of' | 'revision'>
  readonly isPool: (tenantId: string, name: string) => boolean
}

const COMMON = { access: 'admin:config', rateClass: 'control' } as const
const RULE = 'mapping rule'

/** What mapping rules would change in the past, and changing it. */
export const mappingJobRoutes = (deps: MappingJobRoutesDeps): readonly Route[] => [
  deps.mutate({
    ...COMMON,
    method: 'post',
    path: DRY_RUN_PATH,
    action: 'mapping_rule.dry_run',
    operation: DRY_RUN,
    body: { schema: dryRunBody, example: EXAMPLE_DRY_RUN },
    handle: (request) => dryRun(request, deps),
  }),
  deps.mutate({
    ...COMMON,
    method: 'post',
    path: APPLY_PATH,
    needsStepUp: true,
    action: 'mapping_rule.apply',
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
      replyAskedJob(exchange, caller, ({ mapping }) => mapping !== undefined, shownJob, deps),
  },
]

async function dryRun(request: MutationRequest<DryRunBody>, deps: MappingJobRoutesDeps): Promise<Reply | Problem> {
  const { caller, body } = request
  const { tenantId } = caller
  const draft = draftOf(body, tenantId, deps)
  if ('code' in draft) return draft
  return run(request, lastDays(body.days ?? DAYS_DEFAULT, deps.clock()), { rule: draft.id, draft }, deps)
}

/** The tenant's rules as they would be. */
function draftOf(
  { rule: fields, replaces }: DryRunBody,
  tenantId: string,
  { idsOf, rules, isPool, clock }: MappingJobRoutesDeps,
): RuleDraft | Problem {
  const ids = idsOf(tenantId)
  if (replaces != null) {
    const refusal = refusalOfId('mrl', replaces, ids, RULE)
    if (refusal !== undefined) return refusal
    if (rules.get(replaces)?.tenant_id !== tenantId) return noSuch(RULE)
  }
  if (fields == null) return { id: replaces ?? '' }
  const id = replaces ?? idOfName('mrl', ids, 'mapping_rules', fields.name)
  const rule = storedRule(fields, id, tenantId, clock())
  return refusalOfRule(rule, rules.of(tenantId), (name) => isPool(tenantId, name)) ?? { id, rule }
}

async function apply(request: MutationRequest<ApplyBody>, deps: MappingJobRoutesDeps): Promise<Reply | Problem> {
  const period = statedPeriod(request.body, deps.clock())
  if ('code' in period) return period
  const { rule } = request.body
  const refusal = rule == null ? undefined : refusalOfId('mrl', rule, deps.idsOf(request.caller.tenantId), RULE)
  return refusal ?? run(request, period, { ...(rule != null && { rule }) }, deps)
}

async function run(
  request: MutationRequest<unknown>,
  period: JobPeriod,
  /** Of a dry run, with a draft. */
  asked: { readonly rule?: string; readonly draft?: RuleDraft },
  deps: MappingJobRoutesDeps,
): Promise<Reply | Problem> {
  const mapping = { ...asked, revision: deps.rules.revision() }
  const task = { mapping, ...(asked.draft && ({ dry_run: true } as const)) }
  const reply = await runAskedJob(request, period, task, shownJob, deps)
  if ('code' in reply) return reply
  return { ...reply, changes: { after: { rule: asked.rule ?? null, ...reply.changes.after } } }
}

const shownJob = (job: ReattributionJob): ShownJob => ({
  ...shownJobFields(job),
  rule: job.mapping?.rule ?? null,
  ...shownMoves(job),
})
