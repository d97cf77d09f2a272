/** Export schedules on a real broker, a real store and a real S3 server; the test has the clock. */
import type { KV } from '@nats-io/kv'
import type { AuditEntry } from '../../internal/auth/audit-entry.js'
import type { NewEvent } from '../../internal/events/event.js'
import type { StoredJob } from '../../internal/exports/export-job.js'
import { isQueuedIn, jobQueue } from '../../internal/exports/queue.js'
import type { DeliveryManifest } from '../../internal/exports/schedules/delivery-manifest.js'
import { openDestination } from '../../internal/exports/schedules/destination.js'
import type { StoredProgress } from '../../internal/exports/schedules/progress.js'
import { isDue, type RunnerDeps, runSchedule } from '../../internal/exports/schedules/runner.js'
import { type Schedule, storedDestination } from '../../internal/exports/schedules/schedule.js'
import { tenantIdsCache } from '../../internal/ids/ids.js'
import { guardOf, targetRulesOf } from '../../internal/outbound/targets.js'
import { createLog } from '../../internal/telemetry/log.js'
import { EXPORT_PROGRESS, EXPORT_SCHEDULES } from '../../streams/buckets.js'
import { type ExportBench, launchExports } from './export-jobs.js'
import { masterKeysOf } from './master-keys.js'
import { RECEIVER_CERTIFICATE } from './receiver.js'
import { ACCESS_KEY, BUCKET, launchBucket, type S3Bucket, SECRET_KEY } from './s3-bucket.js'

export const MASTER_KEYS = masterKeysOf(7)

/** Right for the bucket of the test, but for the secret. */
export const DESTINATION = {
  region: 'eu-central-1',
  bucket: BUCKET,
  prefix: 'chargeback',
  access_key_id: ACCESS_KEY,
} as const

export interface ScheduleBench {
  readonly exports: ExportBench
  readonly bucket: S3Bucket
  readonly progress: KV
  readonly schedules: KV
  readonly events: readonly NewEvent[]
  /** By their id: an entry is recorded once per id. */
  readonly audited: ReadonlyMap<string, AuditEntry>
  /** Lines of the log. */
  readonly lines: readonly string[]
  now: number
  /** Of an exporter with this name. */
  depsOf(member: string, changed?: Partial<RunnerDeps>): RunnerDeps
  schedule(tenantId: string, stated?: ScheduleStated): Promise<Schedule>
  change(schedule: Schedule): Promise<void>
  progressOf(id: string): Promise<StoredProgress | undefined>
  /** One exporter does everything that is due, the export jobs too. */
  settle(schedule: Schedule, deps?: RunnerDeps): Promise<void>
  manifests(
    schedule: Schedule,
  ): Promise<readonly { readonly key: string; readonly text: string; readonly json: DeliveryManifest }[]>
}

type ScheduleStated = Partial<Omit<Schedule, 'destination'>> & {
  readonly destination?: Partial<Parameters<typeof storedDestination>[3]> & { readonly endpoint?: string }
}

/** Ends with the test file. @param resolvers name servers of the destinations' hosts */
export async function launchSchedules(resolvers: readonly string[] = []): Promise<ScheduleBench> {
  const exports = await launchExports()
  const { broker } = exports
  const bucket = await launchBucket()
  const [schedules, progress] = [await broker.bucket(EXPORT_SCHEDULES), await broker.bucket(EXPORT_PROGRESS)]
  const events: NewEvent[] = []
  const audited = new Map<string, AuditEntry>()
  const lines: string[] = []
  const idsOf = tenantIdsCache(new Uint8Array(32).fill(7))
  const targets = {
    webhookPorts: [bucket.port],
    webhookAllowedNetworks: ['127.0.0.0/8'],
    webhookResolvers: resolvers,
  }
  const calling = {
    masterKeys: MASTER_KEYS,
    targetRules: targetRulesOf(targets, ''),
    guard: guardOf(targets),
    extraCa: RECEIVER_CERTIFICATE.cert,
  }
  const log = createLog('test', 'trace', {
    format: 'json',
    destination: { write: (line: string) => void lines.push(line) },
  })
  let made = 0
  const bench: ScheduleBench = {
    exports,
    bucket,
    progress,
    schedules,
    events,
    audited,
    lines,
    now: Date.parse('2026-11-01T03:00:00Z'),

    depsOf: (member, changed = {}) => ({
      schedules: () => [],
      progressOf: () => undefined,
      async readSchedule(id) {
        const entry = await schedules.get(id)
        return entry?.operation === 'PUT' ? entry.json<Schedule>() : undefined
      },
      progress,
      jobs: exports.jobs,
      enqueue: jobQueue(broker.publish, isQueuedIn(broker)),
      blobs: exports.deps.blobs,
      openDestination: (schedule) => openDestination(schedule, calling),
      changedDays: (tenantId, days, signal) => exports.deps.source.changedDays({ tenantId, ...days }, signal),
      residencyRegionOf: () => null,
      places: [],
      publishEvent: async (event) => void events.push(event),
      audit: async (entry, id) => void audited.set(id, entry),
      idsOf,
      member,
      clock: () => bench.now,
      random: () => 1,
      log,
      ...changed,
    }),

    async schedule(tenantId, { destination = {}, ...stated } = {}) {
      const id = `sch_${++made}`
      const schedule: Schedule = {
        id,
        tenant_id: tenantId,
        name: 'Lake',
        status: 'active',
        cadence: 'monthly',
        request: {
          group_by: ['owner', 'provider'],
          filters: [],
          file_format: 'csv',
          focus_version: '1.4',
          columns: ['BilledCost', 'BillingPeriodStart', 'x_InvocationCount'],
        },
        destination: storedDestination(MASTER_KEYS, id, destination.endpoint ?? `https://127.0.0.1:${bucket.port}`, {
          ...DESTINATION,
          secret_access_key: SECRET_KEY,
          ...destination,
        }),
        run: null,
        created_by: 'key_one',
        created_at: '2026-10-20T10:00:00.000Z',
        ...stated,
      }
      await bench.change(schedule)
      return schedule
    },
    change: async (schedule) => void (await schedules.put(schedule.id, JSON.stringify(schedule))),

    async progressOf(id) {
      const entry = await progress.get(id)
      return entry?.operation === 'PUT' ? entry.json<StoredProgress>() : undefined
    },

    async settle(schedule, deps = bench.depsOf('exporter-1')) {
      for (;;) {
        await runSchedule(schedule.id, deps, new AbortController().signal)
        if ((await workOnJobs(bench, schedule)) > 0) continue
        const current = (await bench.progressOf(schedule.id)) ?? undefined
        const read = await deps.readSchedule(schedule.id)
        if (read === undefined || !(await isDue(read, { ...deps, progressOf: () => current }))) return
      }
    },

    async manifests({ id }) {
      const keys = (await bucket.keys()).filter((key) => key.includes(id) && key.endsWith('manifest.json'))
      const all = await Promise.all(
        keys.map(async (key) => {
          const text = String(await bucket.read(key))
          return { key, text, json: JSON.parse(text) as DeliveryManifest }
        }),
      )
      return all.sort((one, other) => one.json.sequence - other.json.sequence)
    },
  }
  return bench
}

/** Runs the queued jobs of a schedule. @returns how many */
export async function workOnJobs({ exports, now }: ScheduleBench, schedule: Schedule): Promise<number> {
  let worked = 0
  for await (const key of await exports.jobs.keys()) {
    const job = (await exports.jobs.get(key))?.json<StoredJob>()
    if (job?.schedule_id !== schedule.id || job.status !== 'queued') continue
    await exports.work(job, { clock: () => now, newestComplete: async () => now })
    worked++
  }
  return worked
}
