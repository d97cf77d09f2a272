import { createHash } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { KV } from '@nats-io/kv'
import type { AuditEntry } from '../../auth/audit-entry.js'
import type { PublishEvent } from '../../events/publish-event.js'
import { idOfName, type TenantIds } from '../../ids/ids.js'
import type { ErrorCode } from '../../problems/problem-catalogue.js'
import type { DeliveryFailure } from '../../records/delivery-failures.js'
import { type Place, type ResidencyRegion, refusalOfCrossing } from '../../residency/residency.js'
import type { Logger } from '../../telemetry/log.js'
import { counter } from '../../telemetry/metrics.js'
import type { BlobStore } from '../blobs/blob-store.js'
import type { Manifest } from '../export-contract.js'
import { hasEnded, hasFiles, newJob, type StoredFile, type StoredJob } from '../export-job.js'
import { fileKeys, objectPrefix, writingOf } from './delivery-manifest.js'
import { type Destination, DestinationFailed } from './destination.js'
import type { Period } from './periods.js'
import {
  checked,
  failed,
  finished,
  initialProgress,
  nextStep,
  opened,
  type Pending,
  type Step,
  type StoredProgress,
  unchanged,
  type Writing,
  withoutPeriod,
} from './progress.js'
import { ClaimLost, ProgressHold } from './progress-hold.js'
import type { Schedule } from './schedule.js'

/**
 * Delivers the periods of schedules: orders an export job, writes its files to the tenant's bucket, then the manifest.
 *
 * Any number of exporters run it. Each effect is keyed by schedule, period and revision and safe to repeat: an exporter
 * that is killed leaves a claim that expires, and another one writes the same bytes to the same keys.
 */
export interface RunnerDeps {
  /** Of this process, a moment old. */
  readonly schedules: () => Iterable<Schedule>
  readonly progressOf: (id: string) => StoredProgress | undefined
  /** From the bucket itself. */
  readonly readSchedule: (id: string) => Promise<Schedule | undefined>
  /** export_progress */
  readonly progress: KV
  /** jobs */
  readonly jobs: KV
  readonly enqueue: (job: StoredJob) => Promise<void>
  readonly blobs: Pick<BlobStore, 'read' | 'place'>
  readonly openDestination: (schedule: Schedule) => Promise<Destination>
  /** By day, YYYY-MM-DD: the newest change of the records of these days, if it is after an instant. */
  readonly changedDays: (
    tenantId: string,
    days: { readonly fromMs: number; readonly toMs: number; readonly sinceMs: number },
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, number>>
  /** Undefined when there is no such tenant: nothing is delivered. */
  readonly residencyRegionOf: (tenantId: string) => ResidencyRegion | undefined
  /** Where export files pass on their way to the bucket. */
  readonly places: readonly Place[]
  readonly publishEvent: PublishEvent
  /** Records an entry once per id. */
  readonly audit: (entry: AuditEntry, id: string) => Promise<void>
  readonly idsOf: (tenantId: string) => TenantIds
  /** Unique among exporters. */
  readonly member: string
  readonly clock: () => number
  /** From 0 to 1. */
  readonly random: () => number
  readonly log: Logger
}

const DELIVERIES = counter('export_deliveries_total', "Attempts to write a period to a tenant's bucket.", ['status'])
for (const status of ['succeeded', 'failed']) DELIVERIES.inc({ status }, 0)

const RENEW_EVERY_MS = 4_000

/** Does everything that a schedule needs now. @param stopping when it aborts, another exporter goes on */
export async function runSchedule(id: string, deps: RunnerDeps, stopping: AbortSignal): Promise<void> {
  const schedule = await deps.readSchedule(id)
  if (schedule === undefined) {
    await deps.progress.delete(id)
    return
  }
  if (deps.residencyRegionOf(schedule.tenant_id) === undefined) return
  const hold = await ProgressHold.claim(deps.progress, schedule, deps.member, deps.clock)
  if (hold === undefined) return
  const lost = new AbortController()
  const heartbeat = setInterval(() => {
    hold.save((progress) => progress).catch((cause: unknown) => lost.abort(cause))
  }, RENEW_EVERY_MS)
  const signal = AbortSignal.any([stopping, lost.signal])
  setMaxListeners(0, signal)
  const log = deps.log.child({ schedule_id: id, tenant_id: schedule.tenant_id })
  try {
    const run: Run = { ...deps, schedule, hold, signal, log }
    let hasMore = true
    while (hasMore && !signal.aborted) hasMore = await takeStep(run)
  } catch (cause) {
    if (!(cause instanceof ClaimLost) && !signal.aborted) throw cause
    log.info('returned the schedule; another exporter goes on')
  } finally {
    clearInterval(heartbeat)
    await hold.release().catch((cause: unknown) => {
      if (!(cause instanceof ClaimLost)) log.warn({ err: cause }, 'could not release a schedule; its claim expires')
    })
  }
}

interface Run extends RunnerDeps {
  readonly schedule: Schedule
  readonly hold: ProgressHold
  readonly signal: AbortSignal
}

/** @returns false when there is nothing to do for now */
async function takeStep(run: Run): Promise<boolean> {
  const { schedule, hold, clock } = run
  const step = nextStep(schedule, hold.progress, clock())
  switch (step.kind) {
    case 'wait':
      return false
    case 'open':
      await hold.save((progress) => opened(progress, step, clock()))
      return true
    case 'late':
      await announceLate(run, step.period, step.pending)
      return true
    case 'give_up':
      await audit(run, step.period, step.pending, step.pending.failure ?? 'export_failed', 'gave up')
      run.log.warn({ period: step.period }, 'a period is too old and was not delivered')
      await hold.save((progress) => ({ ...progress, pending: withoutPeriod(progress.pending, step.period) }))
      return true
    case 'check':
      await check(run, step.periods)
      return true
    case 'move':
      await hold.save((progress) => ({ ...progress, writing: null }))
      return true
    case 'finish':
      await finish(run, step.writing, step.pending)
      return true
    case 'deliver':
      return deliver(run, step.period, step.pending)
  }
}

/** Whether a schedule needs a claim at all: decided from the copies in memory, and from the job that it waits for. */
export async function isDue(schedule: Schedule, deps: Pick<RunnerDeps, 'progressOf' | 'jobs' | 'idsOf' | 'clock'>) {
  const progress = deps.progressOf(schedule.id) ?? initialProgress(schedule)
  const step: Step = nextStep(schedule, progress, deps.clock())
  if (step.kind !== 'deliver') return step.kind !== 'wait'
  const entry = await deps.jobs.get(jobIdOf(schedule, step.period, step.pending, deps))
  return entry?.operation !== 'PUT' || hasEnded(entry.json<StoredJob>())
}

async function announceLate(run: Run, period: Period, pending: Pending): Promise<void> {
  const { schedule, hold, publishEvent } = run
  await publishEvent({
    tenantId: schedule.tenant_id,
    type: 'export.schedule.late',
    cause: `${schedule.id}.${period.name}`,
    data: {
      schedule_id: schedule.id,
      period: period.name,
      due_at: new Date(pending.due_at_ms).toISOString(),
      reason: pending.failure,
    },
  })
  run.log.warn({ period: period.name, reason: pending.failure }, 'a period of an export schedule is late')
  await hold.save((progress) => ({
    ...progress,
    pending: { ...progress.pending, [period.name]: { ...pending, is_late: true } },
  }))
}

async function check({ schedule, hold, changedDays, clock, signal }: Run, periods: readonly Period[]): Promise<void> {
  const [first, last] = [periods[0], periods.at(-1)]
  if (first === undefined || last === undefined) return
  const nowMs = clock()
  const sinceMs = Math.min(...periods.map(({ name }) => hold.progress.delivered[name]?.as_of_ms ?? nowMs))
  const days = { fromMs: first.fromMs, toMs: last.toMs, sinceMs }
  const changedAt = await changedDays(schedule.tenant_id, days, signal)
  await hold.save((progress) => checked(progress, periods, changedAt, nowMs))
}

/** @returns false while the export job is running */
async function deliver(run: Run, period: Period, pending: Pending): Promise<boolean> {
  const { schedule, hold, clock } = run
  if (isBlocked(run)) return fail(run, period.name, pending, 'residency_blocked')
  const job = await orderJob(run, period, pending)
  if (!hasEnded(job)) return false
  if (!hasFiles(job, clock())) return fail(run, period.name, pending, 'export_failed')
  const details = await readDetails(run, job.result.manifest).catch(() => undefined)
  if (details === undefined) return fail(run, period.name, pending, 'files_unavailable')
  const before = hold.progress.delivered[period.name]
  if (before?.file_sha256 === job.result.file.sha256) {
    await hold.save((progress) => unchanged(progress, period.name, Date.parse(details.as_of)))
    return true
  }
  const failure = await upload(run, period, pending.revision, job)
  if (failure !== undefined) return fail(run, period.name, pending, failure)
  const { head } = hold.progress
  await hold.save((progress) => ({
    ...progress,
    writing: writingOf(schedule, period, pending.revision, job, details, head),
  }))
  return true
}

const isBlocked = ({ schedule, residencyRegionOf, places }: Run): boolean => {
  const home = residencyRegionOf(schedule.tenant_id)
  const bucket = { name: "the schedule's bucket", region: schedule.destination.region }
  return home === undefined || refusalOfCrossing(home, [...places, bucket]) !== undefined
}

/** The same at each attempt: an exporter that is killed leaves a job that the next one finds. */
const jobIdOf = (
  { id, tenant_id: tenantId }: Schedule,
  { name }: Period,
  { revision, job }: Pending,
  { idsOf }: Pick<RunnerDeps, 'idsOf'>,
): string => idOfName('job', idsOf(tenantId), 'schedule', `${id}.${name}.${revision}.${job}`)

async function orderJob(run: Run, period: Period, pending: Pending): Promise<StoredJob> {
  const { schedule, jobs, enqueue, clock } = run
  const id = jobIdOf(schedule, period, pending, run)
  const entry = await jobs.get(id)
  if (entry?.operation === 'PUT') return entry.json<StoredJob>()
  const request = { ...schedule.request, period: { from: period.from, to: period.to } }
  const job: StoredJob = {
    ...newJob(id, schedule.tenant_id, schedule.created_by, request, clock()),
    schedule_id: schedule.id,
  }
  await jobs.create(id, JSON.stringify(job))
  // If this fails, the sweep of jobs queues it.
  await enqueue(job)
  return job
}

async function readDetails({ blobs }: Run, { key }: StoredFile): Promise<Manifest> {
  const parts: Uint8Array[] = []
  for await (const part of blobs.read(key)) parts.push(part)
  return JSON.parse(Buffer.concat(parts).toString()) as Manifest
}

/** @returns why it failed */
async function upload(
  run: Run,
  period: Period,
  revision: number,
  job: StoredJob & { readonly result: NonNullable<StoredJob['result']> },
): Promise<DeliveryFailure | undefined> {
  const { schedule, blobs, signal } = run
  const keys = fileKeys(objectPrefix(schedule, period, revision), job)
  const { file, manifest } = job.result
  return withDestination(run, async (destination) => {
    await destination.put(keys.file, verified(blobs.read(file.key), file), signal)
    await destination.put(keys.details, verified(blobs.read(manifest.key), manifest), signal)
  })
}

/** A blob that differs from its digest must not become an object that looks complete. */
class BlobUnreadable extends Error {}

async function* verified(parts: AsyncIterable<Uint8Array>, { sha256 }: StoredFile): AsyncGenerator<Uint8Array> {
  const digest = createHash('sha256')
  try {
    for await (const part of parts) {
      digest.update(part)
      yield part
    }
  } catch (cause) {
    throw new BlobUnreadable('a file of the export cannot be read', { cause })
  }
  if (digest.digest('hex') !== sha256) throw new BlobUnreadable('a file of the export differs from its digest')
}

async function withDestination(
  { schedule, openDestination, signal, log }: Run,
  work: (destination: Destination) => Promise<void>,
): Promise<DeliveryFailure | undefined> {
  let destination: Destination | undefined
  try {
    destination = await openDestination(schedule)
    await work(destination)
    return undefined
  } catch (cause) {
    signal.throwIfAborted()
    if (cause instanceof BlobUnreadable) {
      log.warn({ err: cause }, 'could not read a file of a scheduled export')
      return 'files_unavailable'
    }
    if (!(cause instanceof DestinationFailed)) throw cause
    log.info({ reason: cause.reason, status: cause.status }, "could not write to a tenant's bucket")
    return cause.reason
  } finally {
    destination?.close()
  }
}

async function fail(run: Run, period: string, pending: Pending, reason: DeliveryFailure): Promise<true> {
  DELIVERIES.inc({ status: 'failed' })
  await audit(run, period, pending, reason, 'attempt')
  await run.hold.save((progress) => failed(progress, period, reason, run.clock(), run.random()))
  return true
}

/** Writes the manifest. Its text is stored, so that a repeat writes the same bytes. */
async function finish(run: Run, writing: Writing, pending: Pending): Promise<void> {
  const { schedule, hold, signal, clock } = run
  const { period, key, text } = writing
  const failure = isBlocked(run)
    ? 'residency_blocked'
    : await withDestination(run, (destination) => destination.put(key, bytesOf(text), signal))
  if (failure !== undefined) return void (await fail(run, period, pending, failure))
  const { revision } = writing.delivered
  await run.publishEvent({
    tenantId: schedule.tenant_id,
    type: 'export.completed',
    cause: writing.job_id,
    data: {
      job_id: writing.job_id,
      status: 'succeeded',
      delivery: { schedule_id: schedule.id, period, revision, manifest_key: key },
    },
  })
  await audit(run, period, pending, null, 'delivered')
  await hold.save((progress) => finished(progress, schedule.cadence, clock()))
  DELIVERIES.inc({ status: 'succeeded' })
  run.log.info({ period, revision, sequence: writing.sequence }, 'a period was delivered')
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text)
}

/** One entry per attempt that failed, and one per delivery. */
function audit(
  { schedule, clock, audit: record }: Run,
  period: string,
  { revision, failures }: Pending,
  failure: DeliveryFailure | null,
  what: string,
): Promise<void> {
  const cause = `${schedule.id}.${period}.${revision}.${failures}.${what}`
  const errorCode: ErrorCode | null =
    failure === null ? null : failure === 'residency_blocked' ? 'RESIDENCY_BLOCKED' : 'SERVICE_UNAVAILABLE'
  const after = { period, revision, attempt: failures + 1, ...(failure !== null && { reason: failure }) }
  const entry: AuditEntry = {
    tenantId: schedule.tenant_id,
    actor: schedule.created_by,
    action: 'export_schedule.deliver',
    target: schedule.id,
    outcome: failure === null ? 'succeeded' : failure === 'residency_blocked' ? 'refused' : 'failed',
    errorCode,
    traceId: createHash('sha256').update(cause).digest('hex').slice(0, 32),
    at: clock(),
    changes: { after },
  }
  return record(entry, cause)
}
