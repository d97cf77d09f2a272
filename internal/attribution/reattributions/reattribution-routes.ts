import { isDeepStrictEqual } from 'node:util'
import type { AuditAction } from '../../auth/audit-entry.js'
import type { Caller } from '../../auth/authenticate.js'
import type { Records } from '../../broker/records.js'
import type { WatchedRecords } from '../../broker/watched-records.js'
import { exchangeEntry } from '../../directory/file/apply-directory-file.js'
import type { StoredRule } from '../../directory/mapping/mapping-rule.js'
import type { Exchange } from '../../http/exchange.js'
import type { MutationRequest, Reply } from '../../http/mutations/mutation.js'
import { answerFromStore } from '../../http/resource/from-store.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { ResourceDeps } from '../../http/resource/resource.js'
import type { Route } from '../../http/route.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import type { AuditLogRow } from '../../store/tables/audit-log.js'
import { readQuery } from '../../text/query-string.js'
import type { StoredOverride } from '../../valuation/prices/override.js'
import type { Answer } from '../changes/answer.js'
import {
  type AskedJobDeps,
  replyAskedJob,
  runAskedJob,
  shownJobFields,
  shownMoves,
  statedPeriod,
} from '../changes/asked-job.js'
import { newJob, type ReattributionJob, untilEnded } from '../changes/reattribution-job.js'
import { type EntriesDeps, namedOf, recordsOf, revisionOf, type Wanted, wantedOf } from './entries.js'
import {
  type AnswerBody,
  answerBody,
  DRY_RUN,
  DRY_RUN_PATH,
  EXAMPLE_ANSWER,
  EXAMPLE_PERIOD,
  GET_REATTRIBUTION,
  LIST_RECENT,
  PATH,
  type PeriodBody,
  PRICE_UNPRICED,
  PRICES_PATH,
  periodBody,
  REATTRIBUTE,
  RECENT_DAYS,
  RECENT_MAX,
  type ShownReattribution,
  UNDO,
} from './reattribution-contract.js'
import { isChange, recentAnswers } from './recent.js'

export interface ReattributionRoutesDeps extends AskedJobDeps, EntriesDeps, Pick<ResourceDeps, 'mutate'> {
  readonly jobs: Pick<Records<ReattributionJob>, 'createOnce' | 'read' | 'change'>
  readonly rules: Pick<WatchedRecords<StoredRule>, 'get'>
  readonly prices: Pick<WatchedRecords<StoredOverride>, 'revision'>
  /** The newest rows of a tenant's audit log about answers. */
  readonly listAnswers: (
    question: { readonly tenantId: string; readonly fromMs: number; readonly limit: number },
    signal: AbortSignal,
  ) => Promise<readonly AuditLogRow[]>
}

const COMMON = { access: 'admin:config', rateClass: 'control' } as const
const JOB = 'job'
const DAY_MS = 24 * 60 * 60 * 1_000

/** `/api/v1/reattributions`: changes of entries that move calls of the past, tried, made and undone. */
export const reattributionRoutes = (deps: ReattributionRoutesDeps): readonly Route[] => [
  deps.mutate({
    ...COMMON,
    method: 'post',
    path: DRY_RUN_PATH,
    action: 'attribution.preview_reattribution',
    operation: DRY_RUN,
    body: { schema: answerBody, example: EXAMPLE_ANSWER },
    handle: (request) => dryRun(request, deps),
  }),
  deps.mutate({
    ...COMMON,
    method: 'post',
    path: PATH,
    action: 'attribution.reattribute',
    operation: REATTRIBUTE,
    body: { schema: answerBody, example: EXAMPLE_ANSWER },
    handle: (request) => make(request, deps),
  }),
  deps.mutate({
    ...COMMON,
    method: 'post',
    path: `${PATH}/:id/undo`,
    needsStepUp: true,
    action: 'attribution.reattribute',
    operation: UNDO,
    handle: (request) => undo(request, deps),
  }),
  deps.mutate({
    ...COMMON,
    method: 'post',
    path: PRICES_PATH,
    needsStepUp: true,
    action: 'attribution.reattribute',
    operation: PRICE_UNPRICED,
    body: { schema: periodBody, example: EXAMPLE_PERIOD },
    handle: async (request) => priceUnpriced(request, deps),
  }),
  {
    method: 'get',
    path: PATH,
    ...COMMON,
    operation: LIST_RECENT,
    handle: (exchange, caller) => listRecent(exchange, caller, deps),
  },
  {
    method: 'get',
    path: `${PATH}/:id`,
    ...COMMON,
    operation: GET_REATTRIBUTION,
    handle: (exchange, caller) => replyAskedJob(exchange, caller, isShown, shownJob, deps),
  },
]

/** Overrides, and jobs of usage conventions, have a status of their own. */
const isShown = ({ override, undoes, conventions }: ReattributionJob): boolean =>
  override === undefined && undoes === undefined && conventions === undefined

async function dryRun(request: MutationRequest<AnswerBody>, deps: ReattributionRoutesDeps): Promise<Reply | Problem> {
  const { body, caller } = request
  const period = statedPeriod(body, deps.clock())
  if ('code' in period) return period
  const wanted = await wantedOf(body, caller.tenantId, deps)
  if (wanted === undefined) return runAskedJob(request, period, { ...byWhatIs(deps), dry_run: true }, shownJob, deps)
  if ('code' in wanted) return wanted
  const answer = { ...wanted, revision: revisionOf(wanted.kind, deps) }
  return runAskedJob(request, period, { answer, dry_run: true }, shownJob, deps)
}

async function make(request: MutationRequest<AnswerBody>, deps: ReattributionRoutesDeps): Promise<Reply | Problem> {
  const { body, caller, newId } = request
  const blocked = deps.refusalToShow(caller.tenantId)
  if (blocked !== undefined) return blocked
  const period = statedPeriod(body, deps.clock())
  if ('code' in period) return period
  const id = newId('rea')
  // An attempt that crashed may have changed the entry already: its job knows what it was.
  const wanted = (await deps.jobs.read(id))?.answer ?? (await wantedOf(body, caller.tenantId, deps))
  if (wanted === undefined) return runAskedJob(request, period, byWhatIs(deps), shownJob, deps)
  if ('code' in wanted) return wanted
  return answered({ id, ...period, wanted }, caller, deps)
}

const byWhatIs = ({ revision }: ReattributionRoutesDeps) =>
  ({ by_service: true, directory_revision: revision() }) as const

interface Answering {
  readonly id: string
  readonly fromMs: number
  readonly toMs: number
  readonly wanted: Wanted
  /** The job that it undoes. */
  readonly undoes?: string
}

/**
 * Changes the entry and starts the job. The job is stored first, and started last: whichever attempt comes to the end
 * finds in it what the entry was.
 */
async function answered(
  { id, fromMs, toMs, wanted, undoes }: Answering,
  { tenantId, principal: actor }: Caller,
  deps: ReattributionRoutesDeps,
): Promise<Reply | Problem> {
  const stored = await deps.jobs.createOnce(
    id,
    newJob(
      {
        id,
        tenant_id: tenantId,
        from_ms: fromMs,
        to_ms: toMs,
        model: null,
        answer: { ...wanted, revision: 0 },
        ...(undoes !== undefined && { undoes_answer: undoes }),
        actor,
      },
      deps.clock(),
    ),
  )
  const { kind, key, before, after } = stored.answer ?? wanted
  const records = recordsOf(kind, deps)
  const isMade =
    (await exchangeEntry(key, before ?? undefined, after ?? undefined, records)) ||
    isDeepStrictEqual((await records.read(key)) ?? null, after)
  if (!isMade) {
    await deps.jobs.change(id, (job) => ({ ...job, status: 'cancelled' }))
    return CHANGED
  }
  const revision = revisionOf(kind, deps)
  const started = await deps.jobs.change(id, (job) =>
    job.answer?.revision === 0 ? { ...job, answer: { ...job.answer, revision } } : undefined,
  )
  if (undoes !== undefined) await deps.jobs.change(undoes, (job) => ({ ...job, undone_by: id }))
  await deps.publishSlice(tenantId, { jobId: id, slice: 0 })
  const job = await untilEnded(started ?? stored, deps)
  const { audited, id: target } = namedOf({ kind, key, before, after }, tenantId, deps)
  return {
    status: job.status === 'running' ? 202 : 200,
    target,
    action: actionOf(kind, before, after),
    body: shownJob(job),
    changes: {
      ...(before !== null && { before: audited(before) }),
      after: { ...(after !== null && audited(after)), reattribution: id },
    },
  }
}

const actionOf = (kind: Answer['kind'], before: Answer['before'], after: Answer['after']): AuditAction => {
  if (kind !== 'pools') return after === null ? 'directory.delete' : 'directory.put'
  if (after === null) return 'pool.delete'
  return before === null ? 'pool.create' : 'pool.update'
}

async function undo(request: MutationRequest<undefined>, deps: ReattributionRoutesDeps): Promise<Reply | Problem> {
  const { caller, parameter, newId } = request
  const { tenantId } = caller
  const refusal = refusalOfId('rea', parameter, deps.idsOf(tenantId), JOB) ?? deps.refusalToShow(tenantId)
  if (refusal !== undefined) return refusal
  const job = await deps.jobs.read(parameter)
  if (job?.answer === undefined || job.dry_run === true || job.tenant_id !== tenantId) return noSuch(JOB)
  const id = newId('rea')
  if (job.status === 'running') return RUNNING
  if (job.undone_by !== undefined && job.undone_by !== id) return UNDONE
  if (!isChange(job.answer)) return UNCHANGED
  const { kind, key, before, after } = job.answer
  const wanted = { kind, key, before: after, after: before }
  return answered({ id, fromMs: job.from_ms, toMs: deps.clock(), wanted, undoes: job.id }, caller, deps)
}

function priceUnpriced(
  request: MutationRequest<PeriodBody>,
  deps: ReattributionRoutesDeps,
): Promise<Reply | Problem> | Problem {
  const period = statedPeriod(request.body, deps.clock())
  if ('code' in period) return period
  return runAskedJob(request, period, { valued: 'unpriced', prices_revision: deps.prices.revision() }, shownJob, deps)
}

const CHANGED = problem('CONFLICT', 'The entry has changed since.')
const RUNNING = problem('CONFLICT', 'The job is still running; undo it when it is done.')
const UNCHANGED = problem('CONFLICT', 'The entry was not changed.')
const UNDONE = problem('CONFLICT', 'This is undone already.')

async function listRecent(exchange: Exchange, { tenantId }: Caller, deps: ReattributionRoutesDeps): Promise<void> {
  const refused = readQuery(exchange.query, [])
  const problemOf = refused.ok ? deps.refusalToShow(tenantId) : refused.problem
  if (problemOf !== undefined) return exchange.replyProblem(problemOf)
  const fromMs = deps.clock() - RECENT_DAYS * DAY_MS
  await answerFromStore(exchange, async (signal) => {
    const rows = await deps.listAnswers({ tenantId, fromMs, limit: RECENT_MAX }, signal)
    const rule = (id: string) => {
      const known = deps.rules.get(id)
      return known?.tenant_id === tenantId ? known : undefined
    }
    const data = await recentAnswers(rows, {
      job: async (id) => {
        const job = await deps.jobs.read(id)
        return job?.tenant_id === tenantId ? job : undefined
      },
      hasRule: (id) => rule(id) !== undefined,
      nameOfRule: (id) => rule(id)?.name,
    })
    exchange.replyJson('200 OK', { data })
  })
}

function shownJob(job: ReattributionJob): ShownReattribution {
  const shown = { ...shownJobFields(job), ...shownMoves(job) }
  return job.tally === undefined ? shown : { ...shown, cost_usd: job.tally.cost_usd }
}
