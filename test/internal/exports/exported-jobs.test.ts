import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { mirrorBucket } from '../../../internal/broker/mirror.js'
import { consumeWorkQueue } from '../../../internal/broker/work-queue.js'
import type { FailureReason, StoredJob } from '../../../internal/exports/export-job.js'
import { type WorkerDeps, workOnJob } from '../../../internal/exports/export-worker.js'
import { jobQueue } from '../../../internal/exports/queue.js'
import { jobsAtOnce } from '../../../internal/exports/slots.js'
import { waker } from '../../../internal/exports/waiting-exports.js'
import type { ExportSource } from '../../../internal/store/queries/exports/export-source.js'
import { SNAPSHOT_AGE_MS_MAX } from '../../../internal/store/snapshot.js'
import { EXPORTERS, EXPORTS } from '../../../streams/exports.js'
import {
  byPeople,
  type ExportBench,
  type Exported,
  launchExports,
  newTenant,
  record,
} from '../../support/export-jobs.js'
import { someUpTo } from '../../support/run/rings.js'

/** How a job ends despite interruptions and failures, by an exporter on a real broker and a real store. */

let bench: ExportBench
beforeAll(async () => {
  bench = await launchExports()
})

const NOBODY_ELSE = { workloads: [], personalTags: [] }
const AWAY = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

describe('an export job that is interrupted', () => {
  const tenant = newTenant()
  const body = { group_by: ['owner', 'service', 'day', 'meter'] as ('owner' | 'service' | 'day' | 'meter')[] }
  let undisturbed: Exported
  beforeAll(async () => {
    await bench.insert(
      Array.from({ length: 31 }, (_, day) =>
        [5, 6, 2].flatMap((people, i) =>
          byPeople(tenant, people, { owner: `o${i}`, invocation: { eventTimeMs: Date.UTC(2026, 9, 1 + day, 3) } }),
        ),
      ).flat(),
    )
    undisturbed = await bench.exported(tenant, body)
  })

  /** Fails at the n-th call of any function. */
  const failingAt = (nth: number): { readonly source: ExportSource; readonly calls: () => number } => {
    let calls = 0
    const source = Object.fromEntries(
      Object.entries(bench.deps.source).map(([name, ask]) => [
        name,
        (...args: never[]) => {
          if (++calls === nth) return Promise.reject(AWAY)
          return (ask as (...args: never[]) => unknown)(...args)
        },
      ]),
    ) as ExportSource
    return { source, calls: () => calls }
  }

  test('gives the same file in the next attempt, at any failure of the store', async () => {
    const counting = failingAt(0)
    await bench.work(await bench.order(tenant, body), { source: counting.source })
    const steps = counting.calls()
    expect(steps).toBeGreaterThan(8)

    for (const nth of someUpTo(steps - 1)) {
      const job = await bench.order(tenant, body)
      const first = await bench.work(job, { source: failingAt(nth).source })
      expect(first).toMatchObject({ kind: 'again' })
      await bench.work(job)
      const { status, result, attempts, is_cleared } = await bench.read(job)
      expect([status, attempts, is_cleared]).toEqual(['succeeded', 2, true])
      const name = (text = '') => text.replaceAll(job.id, undisturbed.job.id)
      expect({ ...result?.file, key: name(result?.file.key), name: name(result?.file.name) }).toEqual(
        undisturbed.job.result?.file,
      )
    }
  })

  test('is returned to the queue with its progress when its exporter stops', async () => {
    const job = await bench.order(tenant, body)
    const stopping = new AbortController()
    const source = {
      ...bench.deps.source,
      streamRows: async (...args: Parameters<ExportSource['streamRows']>) => {
        stopping.abort()
        return bench.deps.source.streamRows(...args)
      },
    }

    expect(await bench.work(job, { source }, stopping.signal)).toEqual({ kind: 'again', afterMs: 0 })
    const left = await bench.read(job)
    await bench.work(job)

    expect([left.status, left.attempts, left.work?.slices.length]).toEqual(['running', 0, 1])
    expect((await bench.read(job)).result?.file.sha256).toBe(undisturbed.job.result?.file.sha256)
  })

  test('starts over when its snapshot is too old', async () => {
    const job = await bench.order(tenant, body)
    await bench.work(job, { source: failingAt(9).source })
    const { work } = await bench.read(job)
    const late = (ageMs: number) => ({
      source: failingAt(1).source,
      clock: () => (work?.read_as_of_ms ?? Number.NaN) + ageMs,
    })

    await bench.work(job, late(SNAPSHOT_AGE_MS_MAX))
    expect((await bench.read(job)).work).toEqual(work)
    await bench.work(job, late(SNAPSHOT_AGE_MS_MAX + 1))
    expect((await bench.read(job)).work).toEqual({
      read_as_of_ms: expect.any(Number),
      k: 5,
      filters_applied: 0,
      slices: [],
      folds: [],
      parts: [],
    })
    await bench.work(job)

    expect((await bench.read(job)).result?.file.sha256).toBe(undisturbed.job.result?.file.sha256)
  })

  test('starts over when an exporter that folded by another rule had started it', async () => {
    const job = await bench.order(tenant, body)
    await bench.work(job, { source: failingAt(9).source })
    const begun = await bench.read(job)
    const { read_as_of_ms: snapshot_ms, slices } = begun.work ?? { read_as_of_ms: Number.NaN, slices: [] }
    await bench.jobs.put(job.id, JSON.stringify({ ...begun, work: { snapshot_ms, slices, parts: [] } }))
    const staged: string[] = []
    const source = {
      ...bench.deps.source,
      stageGroups: async (...args: Parameters<ExportSource['stageGroups']>) => {
        staged.push(args[2].staging)
        return bench.deps.source.stageGroups(...args)
      },
    }

    await bench.work(job, { source })

    expect([slices.length, staged.length]).toEqual([1, 1])
    expect((await bench.read(job)).result?.file.sha256).toBe(undisturbed.job.result?.file.sha256)
  })

  test('stages lost groups and writes lost parts again', async () => {
    const job = await bench.order(tenant, body)
    await bench.work(job, { source: failingAt(9).source })
    const { work } = await bench.read(job)
    expect(work?.slices.length).toBe(1)
    await bench.deps.source.clearStaged(job.id)
    await bench.deps.blobs.removeUnder(`${tenant}/${job.id}/`)

    await bench.work(job)

    expect((await bench.read(job)).result?.file.sha256).toBe(undisturbed.job.result?.file.sha256)
  })

  test('keeps a slice that is staged under the name of another one: the engine does not deduplicate it', async () => {
    await bench.store.client.command({
      query: 'ALTER TABLE export_groups MODIFY SETTING non_replicated_deduplication_window = 100',
    })
    const [fromMs, toMs] = [Date.UTC(2026, 9, 1), Date.UTC(2026, 10, 1)]
    const selection = { tenantId: tenant, asOfMs: Date.now(), fromMs, toMs, filters: [], hasClosed: false }
    const grain = { names: ['owner'], tags: [], day: false } as const
    const slice = {
      jobId: 'job_twice',
      staging: 'one',
      month: '2026-10-01',
      chargeStart: '2026-10-01',
      chargeEnd: '2026-11-01',
    }
    const { signal } = new AbortController()
    const stageAndCount = async () => {
      await bench.deps.source.stageGroups(selection, grain, slice, NOBODY_ELSE, 5, signal)
      return bench.deps.source.countStaged({ jobId: slice.jobId, stagings: [slice.staging] }, signal)
    }

    expect([await stageAndCount(), await stageAndCount()]).toEqual([3, 6])
  })

  test('leaves only the manifest and the file with the digest in the manifest', async () => {
    const { job, manifest } = undisturbed
    const file = await bench.bytesOf(job, 'file')

    expect(createHash('sha256').update(file).digest('hex')).toBe(manifest.file.sha256)
    expect(file.length).toBe(manifest.file.bytes)
    expect(readdirSync(join(bench.folder, tenant, job.id)).sort()).toEqual([manifest.file.name, 'manifest.json'].sort())
    for (const table of ['export_groups', 'export_folds']) {
      const staged = await bench.store.client.query({
        query: `SELECT count() FROM ${table} WHERE job_id = {job:String}`,
        query_params: { job: job.id },
        format: 'JSONCompactEachRow',
      })
      expect(await staged.json()).toEqual([['0']])
    }
  })

  test('gives the same Parquet file, byte for byte, every time', async () => {
    const files = await Promise.all([1, 2].map(() => bench.exported(tenant, { ...body, file_format: 'parquet' })))

    const [one, other] = files.map(({ manifest }) => manifest.file.sha256)
    expect(one).toBe(other)
  })

  test('gives one file and one event when two exporters process it', async () => {
    const job = await bench.order(tenant, body)

    await Promise.all([bench.work(job), bench.work(job)])

    const { status, result } = await bench.read(job)
    expect([status, result?.file.sha256]).toEqual(['succeeded', undisturbed.job.result?.file.sha256])
    const told = bench.events.filter(({ cause }) => cause === job.id)
    expect(new Set(told.map(({ type }) => type))).toEqual(new Set(['export.completed']))
  })
})

describe('an export job', () => {
  const failed = async (deps: Partial<WorkerDeps>, tenant = newTenant()) => {
    await bench.insert(byPeople(tenant, 5))
    const job = await bench.order(tenant)
    const settlement = await bench.work(job, deps)
    const { status, failure } = await bench.read(job)
    const told = bench.events.filter(({ cause }) => cause === job.id).map(({ type, data }) => [type, data])
    expect(existsSync(join(bench.folder, tenant, job.id))).toBe(false)
    return { settlement, status, failure, told, id: job.id }
  }

  test.each<readonly [FailureReason, Partial<WorkerDeps>]>([
    ['residency_unknown', { findTenant: () => undefined }],
    [
      'residency_blocked',
      {
        findTenant: () => ({ name: 'A', residencyRegion: 'eu', minCohort: 5, personalTags: [] }),
        places: [{ name: 'here', region: 'us' }],
      },
    ],
    [
      'residency_blocked',
      {
        findTenant: () => ({ name: 'A', residencyRegion: 'eu', minCohort: 5, personalTags: [] }),
        places: [{ name: 'here', region: null }],
      },
    ],
    ['cohorts_unknown', { workloadsOf: () => Promise.reject(new Error('no directory')) }],
  ])('fails with %s, and leaves no files', async (reason, deps) => {
    const { settlement, status, failure, told, id } = await failed(deps)

    expect([settlement.kind, status, failure]).toEqual(['done', 'failed', reason])
    expect(told).toEqual([['export.failed', { job_id: id, status: 'failed' }]])
  })

  test('of a schedule fails without an event of its own: the schedule reports what becomes late', async () => {
    const tenant = newTenant()
    await bench.insert([record(tenant)])
    const job = await bench.order(tenant, {}, { schedule_id: 'xsc_one' })
    await bench.work(job, { workloadsOf: () => Promise.reject(new Error('no directory')) })

    expect((await bench.read(job)).status).toBe('failed')
    expect(bench.events.filter(({ cause }) => cause === job.id)).toEqual([])
  })

  test('fails when a record has an unknown reason for exclusion', async () => {
    const tenant = newTenant()
    await bench.insert([record(tenant, {}, { exportEligibility: 'some_day' })])

    expect((await failed({}, tenant)).failure).toBe('floor_unknown')
  })

  test('fails when the totals of the rows differ from those of the records', async () => {
    const source = {
      ...bench.deps.source,
      sumStaged: async (...args: Parameters<ExportSource['sumStaged']>) => ({
        ...(await bench.deps.source.sumStaged(...args)),
        cost: '0.1',
      }),
    }

    expect((await failed({ source })).failure).toBe('totals_differ')
  })

  test('is retried ten times while a dependency is unavailable', async () => {
    const tenant = newTenant()
    const source = { ...bench.deps.source, summarizeRecords: () => Promise.reject(AWAY) }
    const job = await bench.order(tenant, {}, { attempts: 8 })

    expect(await bench.work(job, { source })).toMatchObject({ kind: 'again' })
    expect((await bench.read(job)).status).toBe('running')
    expect(await bench.work(job, { source })).toMatchObject({ kind: 'done' })
    expect(await bench.read(job)).toMatchObject({ status: 'failed', failure: 'store_unavailable' })
  })

  test('emits only its event again after it has ended', async () => {
    const tenant = newTenant()
    const { job } = await bench.exported(tenant)
    const before = bench.events.length

    expect(await bench.work(job)).toEqual({ kind: 'done' })
    expect(bench.events.slice(before).map(({ type, cause }) => [type, cause])).toEqual([['export.completed', job.id]])
    expect(await bench.read(job)).toEqual(job)
  })
})

const hold = () => {
  let release: () => void = () => undefined
  const held = new Promise<void>((resolve) => {
    release = resolve
  })
  return { held, release: () => release() }
}

/** An export that waits for `held` once it has begun. */
const heldUntil = (held: Promise<void>): ExportSource => ({
  ...bench.deps.source,
  summarizeRecords: async (...args) => {
    await held
    return bench.deps.source.summarizeRecords(...args)
  },
})

test("a tenant's backlog does not delay the jobs of other tenants", async () => {
  const [many, one] = [newTenant(), newTenant()]
  await bench.insert([...byPeople(many, 5), ...byPeople(one, 5)])
  const enqueue = jobQueue(bench.broker.publish, async () => true)
  const watched = await mirrorBucket<StoredJob>(bench.jobs, () => undefined)
  const backlog = await Promise.all(Array.from({ length: 12 }, () => bench.order(many)))
  for (const job of backlog) await enqueue(job)
  const other = await bench.order(one)
  await enqueue(other)
  const { held, release } = hold()
  const ended = async (job: StoredJob): Promise<string> => {
    for await (const entry of await bench.jobs.watch({ key: job.id })) {
      const { status } = entry.json<StoredJob>()
      if (status !== 'queued' && status !== 'running') return status
    }
    throw new Error('the watch ended')
  }
  const stopping = new AbortController()
  const queue = {
    manager: bench.broker.manager,
    stream: EXPORTS.name,
    consumer: EXPORTERS.durable_name,
    concurrency: jobsAtOnce(bench.deps.perTenant),
    log: bench.deps.log,
  }
  const deps = { ...bench.deps, wake: waker(watched, enqueue, bench.deps.perTenant) }
  const heldDeps = { ...deps, source: heldUntil(held) }
  const working = consumeWorkQueue(
    queue,
    (work) => workOnJob(work, work.subject.startsWith(`exports.${many}.`) ? heldDeps : deps, stopping.signal),
    stopping.signal,
  )
  onTestFinished(async () => {
    stopping.abort()
    release()
    await working
    watched.stop()
  })

  const othersEnd = await ended(other)
  const meanwhile = await Promise.all(backlog.map(bench.read))
  release()
  const ends = await Promise.all(backlog.map(ended))

  expect(othersEnd).toBe('succeeded')
  expect(meanwhile.filter(({ status }) => status === 'succeeded')).toEqual([])
  expect(new Set(ends)).toEqual(new Set(['succeeded']))
})

test('a tenant has at most its allowed number of running jobs', async () => {
  const tenant = newTenant()
  await bench.insert(byPeople(tenant, 5))
  const jobs = await Promise.all([1, 2, 3].map(() => bench.order(tenant)))
  const { held, release } = hold()
  const source = heldUntil(held)
  const [one, two, three] = jobs
  if (one === undefined || two === undefined || three === undefined) throw new Error('expected three jobs')

  const running = [bench.work(one, { source }), bench.work(two, { source })]
  await expect.poll(async () => (await bench.read(two)).status).toBe('running')
  const turnedAway = await bench.work(three)
  release()
  await Promise.all(running)

  // It has left the queue, and is queued again when one of the other jobs has ended.
  expect(turnedAway.kind).toBe('done')
  expect((await bench.read(three)).status).toBe('queued')
  expect((await bench.work(three)).kind).toBe('done')
})
