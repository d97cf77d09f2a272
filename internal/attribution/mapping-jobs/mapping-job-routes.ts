import type { Caller } from '../../auth/authenticate.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import type { Watermark } from '../../broker/watermark.js'
import type { RuleDraft } from '../../directory/mapping/mapping-policy.js'
import { type StoredRule, storedRule } from '../../directory/mapping/mapping-rule.js'
import { refusalOfRule } from '../../directory/mapping/mapping-rule-routes.js'
import type { Exchange } from '../../http/exchange.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { ResourceDeps } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { idOfName } from '../../ids/ids.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import { formatInstant, parseInstant } from '../../units/instant.js'
import { formatQuantity, parseSum, sum } from '../../units/quantity.js'
import type { Move } from '../changes/moves.js'
import { type JobDeps, type ReattributionJob, startJob, untilEnded } from '../changes/reattribution-job.js'
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
} from './mapping-job-contract.js'

export interface MappingJobRoutesDeps extends JobDeps, Pick<ResourceDeps, 'mutate' | 'idsOf'> {
  readonly watermark: Pick<Watermark, 'renewed'>
  readonly rules: Pick<WatchedRecords<StoredRule>, 'get' | 'revision'>
  readonly isPool: (tenantId: string, name: string) => boolean
  /** Why this instance may not show a tenant's data; undefined when it may. */
  readonly refusalToShow: (tenantId: string) => Problem | undefined
}

const COMMON = { access: 'admin:config', rateClass: 'control' } as const
const RULE = 'mapping rule'
const DAY_MS = 24 * 60 * 60 * 1_000

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
    handle: (exchange, caller) => get(exchange, caller, deps),
  },
]

async function dryRun(request: MutationRequest<DryRunBody>, deps: MappingJobRoutesDeps): Promise<Reply | Problem> {
  const { caller, body } = request
  const { tenantId } = caller
  const draft = draftOf(body, tenantId, deps)
  if ('code' in draft) return draft
  const toMs = deps.clock()
  const fromMs = toMs - (body.days ?? DAYS_DEFAULT) * DAY_MS
  return run(request, { fromMs, toMs, rule: draft.id, draft }, deps)
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
  return refusalOfRule(rule, (name) => isPool(tenantId, name)) ?? { id, rule }
}

async function apply(request: MutationRequest<ApplyBody>, deps: MappingJobRoutesDeps): Promise<Reply | Problem> {
  const { caller, body } = request
  const fromMs = Math.max(0, parseInstant(body.from) ?? 0)
  const toMs = body.to == null ? deps.clock() : (parseInstant(body.to) ?? 0)
  if (fromMs >= toMs) return invalid([{ pointer: '/from', detail: 'must be before to' }])
  const { rule } = body
  const refusal = rule == null ? undefined : refusalOfId('mrl', rule, deps.idsOf(caller.tenantId), RULE)
  return refusal ?? run(request, { fromMs, toMs, rule: rule ?? undefined }, deps)
}

interface Asked {
  /** Milliseconds since the epoch; the end is exclusive. */
  readonly fromMs: number
  readonly toMs: number
  readonly rule: string | undefined
  /** Of a dry run. */
  readonly draft?: RuleDraft
}

async function run(
  { caller, newId }: Pick<MutationRequest<unknown>, 'caller' | 'newId'>,
  { fromMs, toMs, rule, draft }: Asked,
  deps: MappingJobRoutesDeps,
): Promise<Reply | Problem> {
  const { tenantId, principal: actor } = caller
  const blocked = deps.refusalToShow(tenantId)
  if (blocked !== undefined) return blocked
  const id = newId('rea')
  const started = await startJob(
    {
      id,
      tenant_id: tenantId,
      from_ms: fromMs,
      to_ms: toMs,
      model: null,
      mapping: { ...(rule !== undefined && { rule }), ...(draft && { draft }), revision: deps.rules.revision() },
      ...(draft && { dry_run: true }),
      actor,
    },
    deps,
  )
  const job = await untilEnded(started, deps)
  const { from, to } = shownJob(started)
  return {
    status: job.status === 'running' ? 202 : 200,
    target: id,
    body: shownJob(job),
    changes: { after: { rule: rule ?? null, from, to, dry_run: draft !== undefined } },
  }
}

async function get(exchange: Exchange, { tenantId }: Caller, deps: MappingJobRoutesDeps): Promise<void> {
  const id = exchange.parameter
  const refusal = refusalOfId('rea', id, deps.idsOf(tenantId), 'job') ?? deps.refusalToShow(tenantId)
  if (refusal !== undefined) return exchange.replyProblem(refusal)
  const job = await deps.jobs.read(id)
  if (job?.mapping === undefined || job.tenant_id !== tenantId) return exchange.replyProblem(noSuch('job'))
  exchange.replyJson('200 OK', shownJob(job))
}

function shownJob(job: ReattributionJob): ShownJob {
  const { id, status, dry_run, mapping, from_ms, to_ms, seen, changed, unnamed, moves = [], created_at } = job
  const costs = moves.map(({ cost_usd }) => parseSum<'USD'>(cost_usd))
  return {
    id,
    status,
    dry_run: dry_run === true,
    rule: mapping?.rule ?? null,
    from: formatInstant(from_ms),
    to: formatInstant(to_ms),
    seen,
    records: changed,
    cost_usd: formatQuantity(sum(costs)),
    unnamed,
    moves: mostCostlyFirst(moves).map((move) => ({
      from_service: move.from_service ?? '',
      from_owner: move.from_owner,
      to_service: move.to_service ?? '',
      to_owner: move.to_owner,
      records: move.records,
      cost_usd: move.cost_usd,
    })),
    created_at,
  }
}

const mostCostlyFirst = (moves: readonly Move[]): readonly Move[] =>
  moves.toSorted((one, other) => {
    const [left, right] = [parseSum<'USD'>(one.cost_usd), parseSum<'USD'>(other.cost_usd)]
    return left === right ? other.records - one.records : left < right ? 1 : -1
  })
