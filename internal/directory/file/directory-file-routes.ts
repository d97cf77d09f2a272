import { setTimeout as sleep } from 'node:timers/promises'
import type { Caller } from '../../auth/authenticate.js'
import type { Records } from '../../broker/records.js'
import type { Exchange } from '../../http/exchange.js'
import type { Reply } from '../../http/mutations/mutation.js'
import { invalid } from '../../http/mutations/read-body.js'
import { needsNewSignIn, STEP_UP } from '../../http/mutations/step-up.js'
import { changeWithoutKey, deniedWithoutKey, type WithoutKeyDeps } from '../../http/mutations/without-key.js'
import { noSuch, refusalOfId } from '../../http/resource/own-id.js'
import type { Route } from '../../http/route.js'
import { randomId, type TenantIds } from '../../ids/ids.js'
import { type Problem, problem } from '../../problems/problem-catalogue.js'
import { ownTurn } from '../../process/own-turn.js'
import { badParameter, readQuery } from '../../text/query-string.js'
import { type DirectoryKind, ENTRIES_MAX } from '../entries.js'
import type { EntriesOf } from '../entry-index.js'
import type { OpenDirectory } from '../open-directory.js'
import { applyPlan } from './apply-directory-file.js'
import {
  EXPORT_DIRECTORY,
  EXPORT_PATH,
  FILE_BYTES_MAX,
  GET_IMPORT,
  IMPORT_DIRECTORY,
  IMPORT_PATH,
  IMPORTS_PATH,
} from './directory-file-contract.js'
import { dryRunOf, type ImportJob, isLargeRemoval, reportOf, withConflicts } from './directory-file-job.js'
import { type Plan, planImport } from './plan-directory-file.js'
import { type ReadFile, readCsvFile, readJsonFile } from './read-directory-file.js'
import { type AllEntries, csvFile, jsonFile } from './write-directory-file.js'

export interface DirectoryFileDeps extends OpenDirectory, WithoutKeyDeps {
  readonly idsOf: (tenantId: string) => TenantIds
  readonly isPool: (tenantId: string, name: string) => boolean
  readonly imports: Pick<Records<ImportJob>, 'createOnce' | 'change' | 'read'>
}

const COMMON = { access: 'admin:config' } as const
const IMPORT = 'import'
/** Time to wait for an import before answering 202. */
const DONE_MS_MAX = 3_000
const RENEW_EVERY_MS = 1_000
/** An import that was not renewed for so long has lost its process. */
const LOST_MS = 15_000

/** The directory as a file: import, its status, and export. */
export const directoryFileRoutes = (deps: DirectoryFileDeps): readonly Route[] => {
  // One at a time per tenant and gateway: two would undo each other.
  const running = new Set<string>()
  return [
    {
      ...COMMON,
      method: 'put',
      path: IMPORT_PATH,
      rateClass: 'control',
      operation: IMPORT_DIRECTORY,
      whenDenied: deniedWithoutKey('directory.import', deps),
      handle: (exchange, caller) => startImport(exchange, caller, running, deps),
    },
    {
      ...COMMON,
      method: 'get',
      path: `${IMPORTS_PATH}/:id`,
      rateClass: 'control',
      operation: GET_IMPORT,
      handle: (exchange, caller) => showImport(exchange, caller, deps),
    },
    {
      ...COMMON,
      method: 'get',
      path: EXPORT_PATH,
      rateClass: 'report',
      operation: EXPORT_DIRECTORY,
      handle: (exchange, caller) => showFile(exchange, caller, deps),
    },
  ]
}

interface Options {
  readonly isDryRun: boolean
  readonly keepsMissing: boolean
  readonly allowsRemovals: boolean
}

function startImport(exchange: Exchange, caller: Caller, running: Set<string>, deps: DirectoryFileDeps): void {
  exchange.keepAddress()
  const options = optionsOf(exchange.query)
  const read = readerOf(exchange)
  const refusal = 'code' in options ? options : 'code' in read ? read : undefined
  const { tenantId } = caller
  const work = (outcome: () => Promise<Reply | Problem>): void =>
    void changeWithoutKey(exchange, caller, 'directory.import', outcome, deps).catch((cause: unknown) =>
      exchange.fail(cause),
    )
  if (refusal !== undefined || 'code' in options || 'code' in read) {
    return work(async () => refusal ?? NOT_A_FILE)
  }
  exchange.readBody(FILE_BYTES_MAX, (bytes, areLent) => {
    const own = areLent ? Buffer.from(bytes) : bytes
    work(async () => {
      const file = await read.read(own)
      if (!file.ok) return invalid([{ pointer: file.pointer ?? '', detail: file.detail }])
      if (running.has(tenantId)) return RUNNING
      running.add(tenantId)
      let goesOn = false
      try {
        const begun = await run(file, options, caller, deps)
        if ('code' in begun) return begun
        goesOn = begun.rest !== undefined
        void begun.rest?.finally(() => running.delete(tenantId))
        return begun.reply
      } finally {
        if (!goesOn) running.delete(tenantId)
      }
    })
  })
}

function optionsOf(query: string): Options | Problem {
  const read = readQuery(query, ['dry_run', 'keep_missing', 'allow_removals'])
  if (!read.ok) return read.problem
  const wrong = Object.entries(read.values).find(([, value]) => value !== 'true' && value !== 'false')
  if (wrong !== undefined) return badParameter(`/${wrong[0]}`, `${wrong[0]} must be true or false.`)
  const { dry_run, keep_missing, allow_removals } = read.values
  return {
    isDryRun: dry_run === 'true',
    keepsMissing: keep_missing === 'true',
    allowsRemovals: allow_removals === 'true',
  }
}

function readerOf({
  headers: { contentType, contentEncoding },
}: Exchange): Problem | { read(bytes: Buffer): Promise<ReadFile> } {
  const type = contentType.split(';', 1)[0]?.trim().toLowerCase()
  if (contentEncoding !== '') return NOT_A_FILE
  if (type === 'application/json') return { read: (bytes) => readJsonFile(bytes, ownTurn) }
  if (type !== 'text/csv') return NOT_A_FILE
  return { read: (bytes) => readCsvFile(bytes, ownTurn) }
}

interface Begun {
  readonly reply: Reply
  /** What goes on after the reply. */
  readonly rest?: Promise<unknown>
}

async function run(
  file: Extract<ReadFile, { ok: true }>,
  { isDryRun, keepsMissing, allowsRemovals }: Options,
  caller: Caller,
  deps: DirectoryFileDeps,
): Promise<Begun | Problem> {
  const { tenantId } = caller
  const nowMs = deps.clock()
  const plan = await planImport(tenantId, allEntries(tenantId, deps), file.rows, file.bad, {
    ...deps,
    nowMs,
    keepsMissing,
    pause: ownTurn,
  })
  const ids = deps.idsOf(tenantId)
  if (isDryRun) return { reply: { status: 200, body: dryRunOf(plan, ids), changes: audited(plan, true) } }
  const refusal = refusalOfRemovals(plan, allowsRemovals, caller, nowMs)
  if (refusal !== undefined) return refusal

  const id = randomId('dim', ids)
  const job: ImportJob = {
    id,
    tenant_id: tenantId,
    actor: caller.principal,
    status: 'running',
    created_at: new Date(nowMs).toISOString(),
    renewed_at_ms: nowMs,
    applied: 0,
    report: reportOf(plan, ids),
  }
  await deps.imports.createOnce(id, job)
  const rest = carryOut(job, plan, deps)
  const ended = await Promise.race([rest, sleep(DONE_MS_MAX, undefined, { ref: false })])
  const reply = { target: id, changes: audited(plan, false) }
  if (ended !== undefined) return { reply: { status: 200, ...reply, body: shown(ended, nowMs) } }
  return { reply: { status: 202, ...reply, body: shown(job, nowMs) }, rest }
}

function refusalOfRemovals(plan: Plan, allowsRemovals: boolean, caller: Caller, nowMs: number): Problem | undefined {
  const { removals, there } = plan
  if (removals.length === 0) return undefined
  if (needsNewSignIn(caller, nowMs)) return STEP_UP
  if (allowsRemovals || !isLargeRemoval(plan)) return undefined
  return problem(
    'CONFLICT',
    `The file would remove ${removals.length} of ${there} entries. Send it with allow_removals=true if that is ` +
      'meant, or with keep_missing=true.',
  )
}

/** Makes the changes, and notes how far it is. Never rejects: the job shows a failure by no longer being renewed. */
async function carryOut(job: ImportJob, plan: Plan, deps: DirectoryFileDeps): Promise<ImportJob | undefined> {
  const { imports, clock, log, records } = deps
  let applied = 0
  let noted = 0
  const note = async (progress: Partial<ImportJob>): Promise<ImportJob | undefined> =>
    imports.change(job.id, (now) => ({ ...now, ...progress, renewed_at_ms: clock() }))
  const timer = setInterval(() => {
    if (applied === noted) return
    noted = applied
    void note({ applied }).catch((cause: unknown) => log.warn({ err: cause, job: job.id }, 'import not noted'))
  }, RENEW_EVERY_MS)
  try {
    const made = await applyPlan(job.tenant_id, plan, records, ({ done }) => {
      applied = done
    })
    clearInterval(timer)
    return await note({ status: 'done', applied: made.done, report: withConflicts(job.report, made.conflicts) })
  } catch (cause) {
    log.error({ err: cause, job: job.id }, 'an import of the directory was interrupted')
    return undefined
  } finally {
    clearInterval(timer)
  }
}

async function showImport(exchange: Exchange, { tenantId }: Caller, deps: DirectoryFileDeps): Promise<void> {
  const id = exchange.parameter
  const refusal = refusalOfId('dim', id, deps.idsOf(tenantId), IMPORT)
  if (refusal !== undefined) return exchange.replyProblem(refusal)
  const job = await deps.imports.read(id)
  if (job === undefined || job.tenant_id !== tenantId) return exchange.replyProblem(noSuch(IMPORT))
  exchange.replyJson('200 OK', shown(job, deps.clock()))
}

function shown({ id, status, created_at, renewed_at_ms, applied, report }: ImportJob, nowMs: number): object {
  const isLost = status === 'running' && nowMs - renewed_at_ms > LOST_MS
  return { id, dry_run: false, status: isLost ? 'interrupted' : status, created_at, applied, ...report }
}

async function showFile(exchange: Exchange, { tenantId }: Caller, deps: DirectoryFileDeps): Promise<void> {
  const read = readQuery(exchange.query, ['format'])
  if (!read.ok) return exchange.replyProblem(read.problem)
  const { format = 'json' } = read.values
  if (format !== 'json' && format !== 'csv') {
    return exchange.replyProblem(badParameter('/format', 'format must be json or csv.'))
  }
  const entries = allEntries(tenantId, deps)
  const type = format === 'json' ? 'application/json' : 'text/csv; charset=utf-8'
  const name = `Content-Disposition: attachment; filename="directory.${format}"`
  const file = await (format === 'json' ? jsonFile(entries, ownTurn) : csvFile(entries, ownTurn))
  exchange.reply(`200 OK\r\nContent-Type: ${type}\r\n${name}\r\nCache-Control: no-store`, file)
}

/** A tenant's directory, each kind by name. */
function allEntries(tenantId: string, { entries }: Pick<OpenDirectory, 'entries'>): AllEntries {
  const all = <K extends DirectoryKind>(kind: K): readonly EntriesOf[K][] =>
    entries
      .of(tenantId, kind)
      .sorted.after(undefined, 'ascending', ENTRIES_MAX[kind] * 2)
      .map(({ record }) => record[1])
  return {
    services: all('services'),
    identities: all('identities'),
    principals: all('principals'),
    sources: all('sources'),
  }
}

/** Counts alone: the audit log is never erased, and people do not appear in it by name. */
const audited = ({ adds, changes, removals, refusals, unchanged }: Plan, isDryRun: boolean) => ({
  after: {
    dry_run: isDryRun,
    adds: adds.length,
    changes: changes.length,
    removals: removals.length,
    refusals: refusals.length,
    unchanged,
  },
})

const NOT_A_FILE = problem(
  'UNSUPPORTED_MEDIA_TYPE',
  'Send the file as text/csv or application/json without Content-Encoding.',
)
const RUNNING = problem('CONFLICT', 'Another import of this directory is running.')
