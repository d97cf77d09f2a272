import type { Caller } from '../../auth/authenticate.js'
import type { Watermark } from '../../broker/watermark.js'
import type { Exchange } from '../../http/exchange.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { ResourceDeps } from '../../http/resource/resource.js'
import type { Problem } from '../../problems/problem-catalogue.js'
import { formatInstant, parseInstant } from '../../units/instant.js'
import { costOf, mostCostlyFirst } from './moves.js'
import { type JobDeps, type newJob, type ReattributionJob, startJob, untilEnded } from './reattribution-job.js'

/** Jobs over records of the past that a person asks for by the API, as a dry run or to make the change. */
export interface AskedJobDeps extends JobDeps, Pick<ResourceDeps, 'idsOf'> {
  readonly watermark: Pick<Watermark, 'renewed'>
  /** Why this instance may not show a tenant's data; undefined when it may. */
  readonly refusalToShow: (tenantId: string) => Problem | undefined
}

/** Milliseconds since the epoch; the end is exclusive. */
export interface JobPeriod {
  readonly fromMs: number
  readonly toMs: number
}

const DAY_MS = 24 * 60 * 60 * 1_000

export const lastDays = (days: number, nowMs: number): JobPeriod => ({ fromMs: nowMs - days * DAY_MS, toMs: nowMs })

/** @param body RFC 3339; without an end until now */
export function statedPeriod(body: { from: string; to?: string | null | undefined }, nowMs: number) {
  const fromMs = Math.max(0, parseInstant(body.from) ?? 0)
  const toMs = body.to == null ? nowMs : (parseInstant(body.to) ?? 0)
  return fromMs < toMs ? { fromMs, toMs } : invalid([{ pointer: '/from', detail: 'must be before to' }])
}

/** What the job is to do. */
type Task = Pick<
  Parameters<typeof newJob>[0],
  'mapping' | 'answer' | 'by_service' | 'directory_revision' | 'conventions' | 'prices_revision' | 'valued' | 'dry_run'
>

/** Starts a job and waits for a moment: most end at once. 200 when it has ended, 202 while it runs. */
export async function runAskedJob<Shown extends { readonly from: string; readonly to: string }>(
  { caller, newId }: Pick<MutationRequest<unknown>, 'caller' | 'newId'>,
  { fromMs, toMs }: JobPeriod,
  task: Task,
  shown: (job: ReattributionJob) => Shown,
  deps: AskedJobDeps,
): Promise<Problem | (Reply & { readonly changes: { readonly after: object } })> {
  const { tenantId, principal: actor } = caller
  const blocked = deps.refusalToShow(tenantId)
  if (blocked !== undefined) return blocked
  const asked = { id: newId('rea'), tenant_id: tenantId, from_ms: fromMs, to_ms: toMs, model: null, ...task, actor }
  const started = await startJob(asked, deps)
  const job = await untilEnded(started, deps)
  const { from, to } = shown(started)
  return {
    status: job.status === 'running' ? 202 : 200,
    target: job.id,
    body: shown(job),
    changes: { after: { from, to, dry_run: task.dry_run === true } },
  }
}

/** What every such job shows. */
export const shownJobFields = (job: ReattributionJob) => ({
  id: job.id,
  status: job.status,
  dry_run: job.dry_run === true,
  from: formatInstant(job.from_ms),
  to: formatInstant(job.to_ms),
  seen: job.seen,
  records: job.changed,
  created_at: job.created_at,
})

/** What one shows in addition that gives records another service and owner. */
export const shownMoves = ({ unnamed, moves = [] }: ReattributionJob) => ({
  cost_usd: costOf(moves),
  unnamed,
  moves: mostCostlyFirst(moves),
})

/** @param isOfKind whether a job is one that this address shows */
export async function replyAskedJob(
  exchange: Exchange,
  { tenantId }: Caller,
  isOfKind: (job: ReattributionJob) => boolean,
  shown: (job: ReattributionJob) => object,
  deps: AskedJobDeps,
): Promise<void> {
  const id = exchange.parameter
  const refusal = refusalOfId('rea', id, deps.idsOf(tenantId), 'job') ?? deps.refusalToShow(tenantId)
  if (refusal !== undefined) return exchange.replyProblem(refusal)
  const job = await deps.jobs.read(id)
  if (job === undefined || !isOfKind(job) || job.tenant_id !== tenantId) return exchange.replyProblem(noSuch('job'))
  exchange.replyJson('200 OK', shown(job))
}
