import { gunzipSync } from 'node:zlib'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { CLAIM_MS, ClaimLost, ProgressHold } from '../../../../internal/exports/schedules/progress-hold.js'
import { type RunnerDeps, runSchedule } from '../../../../internal/exports/schedules/runner.js'
import { secretOf, storedDestination } from '../../../../internal/exports/schedules/schedule.js'
import { byPeople, costOf, newTenant } from '../../../support/export-jobs.js'
import { someUpTo } from '../../../support/run/rings.js'
import { digestOf, launchBucket, SECRET_KEY } from '../../../support/s3-bucket.js'
import {
  DESTINATION,
  launchSchedules,
  MASTER_KEYS,
  type ScheduleBench,
  workOnJobs,
} from '../../../support/schedule-bench.js'

/** Deliveries by exporters on a real broker and a real store to a real S3 server over TLS. */

const HOUR_MS = 3_600_000
const START = Date.parse('2026-11-01T03:00:00Z')
const SIGNAL = new AbortController().signal
let bench: ScheduleBench
beforeAll(async () => {
  bench = await launchSchedules()
})
beforeEach(() => {
  bench.now = START
  bench.bucket.intercept = () => false
})

const callsOf = (tenant: string, people = 7) => byPeople(tenant, people, { owner: 'team-search' })
const eventsOf = (tenant: string) => bench.events.filter(({ tenantId }) => tenantId === tenant)
const auditOf = (id: string) => [...bench.audited.values()].filter(({ target }) => target === id)

describe('a closed period', () => {
  test('is in the bucket once with its files, then its manifest, of two exporters', async () => {
    const tenant = newTenant()
    const calls = callsOf(tenant)
    await bench.exports.insert(calls)
    const schedule = await bench.schedule(tenant)
    const both = ['exporter-1', 'exporter-2'].map((member) => bench.depsOf(member))
    const from = bench.bucket.requests.length

    for (let round = 0; round < 3; round++) {
      await Promise.all(both.map((deps) => runSchedule(schedule.id, deps, SIGNAL)))
      await workOnJobs(bench, schedule)
    }

    const [delivered, ...others] = await bench.manifests(schedule)
    const { json: manifest, key } = delivered ?? expect.fail('no manifest')
    const prefix = `chargeback/${schedule.id}/2026-10/r0001/`
    expect(others).toEqual([])
    expect(key).toBe(`${prefix}manifest.json`)
    const writes = bench.bucket.requests.slice(from)
    const names = [...manifest.files.map((file) => file.key), key]
    expect(writes).toEqual(names.map((name) => `PUT /acme-finops/${name}`))
    for (const file of manifest.files) {
      const bytes = await bench.bucket.read(file.key)
      expect([bytes.length, digestOf(bytes)]).toEqual([file.bytes, file.sha256])
    }
    const csv = String(gunzipSync(await bench.bucket.read(manifest.files[0]?.key ?? '')))
    expect(csv.trim().split('\r\n')).toHaveLength(manifest.rows + 1)
    expect(manifest).toMatchObject({
      manifest_version: 1,
      schedule_id: schedule.id,
      tenant_id: tenant,
      sequence: 1,
      period: { name: '2026-10', from: '2026-10-01', to: '2026-10-31' },
      revision: 1,
      supersedes: null,
      previous: null,
      exported: { count: 7, cost_usd: costOf(calls) },
      totals: { billed_cost: costOf(calls), invocations: 7 },
    })
    expect(eventsOf(tenant)).toEqual([
      {
        tenantId: tenant,
        type: 'export.completed',
        cause: manifest.job_id,
        data: {
          job_id: manifest.job_id,
          status: 'succeeded',
          delivery: { schedule_id: schedule.id, period: '2026-10', revision: 1, manifest_key: key },
        },
      },
    ])
    // The job itself tells nobody: a tenant hears once, when the bucket has the file.
    expect(bench.exports.events.filter(({ tenantId }) => tenantId === tenant)).toEqual([])
    expect(auditOf(schedule.id)).toMatchObject([
      { tenantId: tenant, actor: 'key_one', action: 'export_schedule.deliver', outcome: 'succeeded', errorCode: null },
    ])
  })

  test('is not delivered before it has settled, nor when the schedule is paused', async () => {
    const tenant = newTenant()
    const early = await bench.schedule(tenant)
    const paused = await bench.schedule(tenant, { status: 'paused' })

    bench.now = START - 1
    await bench.settle(early)
    bench.now = START + 5 * HOUR_MS
    await bench.settle(paused)

    expect(await bench.manifests(early)).toEqual([])
    expect(await bench.manifests(paused)).toEqual([])
  })

  test('is delivered alike when the exporter crashes at any step', async () => {
    const tenant = newTenant()
    await bench.exports.insert(callsOf(tenant))
    const crash = new Error('killed')
    const crashingAt = (nth: number, member: string): { readonly deps: RunnerDeps; readonly calls: () => number } => {
      let calls = 0
      const isOver = (): boolean => calls >= nth
      /** Dies before or after the effect, in turn; nothing works any more in a dead process. */
      const mortal =
        <A extends readonly unknown[], R>(effect: (...args: A) => Promise<R>) =>
        async (...args: A): Promise<R> => {
          if (isOver()) throw crash
          if (++calls === nth && nth % 2 === 0) throw crash
          const result = await effect(...args)
          if (calls === nth) throw crash
          return result
        }
      const real = bench.depsOf(member)
      const progress = Object.assign(Object.create(bench.progress), {
        create: mortal(bench.progress.create.bind(bench.progress)),
        update: mortal(bench.progress.update.bind(bench.progress)),
      })
      const deps: RunnerDeps = {
        ...real,
        progress,
        enqueue: mortal(real.enqueue),
        publishEvent: mortal((event: never) => real.publishEvent(event)) as RunnerDeps['publishEvent'],
        audit: mortal(real.audit),
        async openDestination(schedule) {
          const destination = await real.openDestination(schedule)
          return { ...destination, put: mortal(destination.put) }
        },
      }
      return { deps, calls: () => calls }
    }
    const counting = crashingAt(Number.POSITIVE_INFINITY, 'exporter-0')
    await bench.settle(await bench.schedule(tenant), counting.deps)
    expect(counting.calls()).toBeGreaterThan(9)

    for (const nth of someUpTo(counting.calls())) {
      bench.now = START
      const schedule = await bench.schedule(tenant)
      const { deps } = crashingAt(nth, `exporter-${nth}`)
      // A claim that cannot be released expires: nobody waits for the release.
      await bench.settle(schedule, deps).catch((cause: unknown) => expect(cause).toBe(crash))
      // Another one takes over as soon as the claim has expired.
      bench.now += CLAIM_MS + 1
      const before = await objectsOf(schedule.id)
      await bench.settle(schedule, bench.depsOf('exporter-next'))

      const after = await objectsOf(schedule.id)
      expect(after.size).toBe(3)
      for (const [key, digest] of before) expect(after.get(key)).toBe(digest)
      const [manifest] = await bench.manifests(schedule)
      for (const { key, sha256 } of manifest?.json.files ?? []) expect(after.get(key)).toBe(sha256)
      const causes = eventsOf(tenant).filter(({ data }) => JSON.stringify(data).includes(schedule.id))
      expect(new Set(causes.map(({ cause }) => cause))).toEqual(new Set([manifest?.json.job_id]))
      expect(auditOf(schedule.id).map(({ outcome }) => outcome)).toEqual(['succeeded'])
    }
  })
})

async function objectsOf(id: string): Promise<ReadonlyMap<string, string>> {
  const keys = (await bench.bucket.keys()).filter((key) => key.includes(id))
  return new Map(await Promise.all(keys.map(async (key) => [key, digestOf(await bench.bucket.read(key))] as const)))
}

describe('a correction', () => {
  test('is a new revision next to the old files, and continues the chain of manifests', async () => {
    const tenant = newTenant()
    const first = callsOf(tenant)
    await bench.exports.insert(first)
    const schedule = await bench.schedule(tenant)
    await bench.settle(schedule)
    const before = await objectsOf(schedule.id)

    const later = byPeople(tenant, 6, { owner: 'team-ads' }).map((row) => ({ ...row, validFromMs: START + HOUR_MS }))
    await bench.exports.insert(later)
    bench.now = START + 23 * HOUR_MS
    await bench.settle(schedule)
    expect(await bench.manifests(schedule)).toHaveLength(1)
    bench.now = START + 24 * HOUR_MS
    await bench.settle(schedule)

    const [one, two, ...others] = await bench.manifests(schedule)
    expect(others).toEqual([])
    expect(two?.json).toMatchObject({
      sequence: 2,
      revision: 2,
      supersedes: 1,
      previous: { key: one?.key, sha256: digestOf(one?.text ?? '') },
      exported: { count: 13, cost_usd: costOf([...first, ...later]) },
    })
    const after = await objectsOf(schedule.id)
    for (const [key, digest] of before) expect(after.get(key)).toBe(digest)
    expect(after.size).toBe(2 * before.size)
  })

  test('is not written when the records are the same', async () => {
    const tenant = newTenant()
    await bench.exports.insert(callsOf(tenant))
    const schedule = await bench.schedule(tenant)
    await bench.settle(schedule)

    // Another month of the same tenant changes.
    const row = (at: number) => ({ invocation: { eventTimeMs: at } })
    await bench.exports.insert(byPeople(tenant, 5, row(START + 1)).map((each) => ({ ...each, validFromMs: START + 2 })))
    for (let days = 1; days < 4; days++) {
      bench.now = START + days * 24 * HOUR_MS
      await bench.settle(schedule)
    }
    // A request exports again, and finds the same file.
    const run = { id: 'sch_run', period: '2026-10', requested_at: new Date(bench.now).toISOString() }
    await bench.change({ ...schedule, run })
    await bench.settle(schedule)

    expect(await bench.manifests(schedule)).toHaveLength(1)
    expect(await bench.progressOf(schedule.id)).toMatchObject({ pending: {}, answered: 'sch_run' })
  })
})

describe('another destination', () => {
  test('gets files and manifest together, and a chain of its own', async () => {
    const tenant = newTenant()
    await bench.exports.insert(callsOf(tenant))
    const schedule = await bench.schedule(tenant)
    // The files are in the first place when the manifest fails; then the destination changes.
    bench.bucket.intercept = ({ url = '' }, response) => {
      if (!url.includes('/manifest.json')) return false
      response.writeHead(403).end()
      return true
    }
    await bench.settle(schedule)
    bench.bucket.intercept = () => false
    const moved = { ...schedule, destination: { ...schedule.destination, prefix: 'elsewhere' } }
    await bench.change(moved)
    bench.now += HOUR_MS
    await bench.settle(moved)
    const [first] = await bench.manifests(schedule)
    expect(first?.key).toBe(`elsewhere/${schedule.id}/2026-10/r0001/manifest.json`)
    const objects = await objectsOf(schedule.id)
    for (const { key, sha256 } of first?.json.files ?? []) {
      expect(key).toMatch(/^elsewhere\//)
      expect(objects.get(key)).toBe(sha256)
    }

    await bench.change(schedule)
    await bench.exports.insert(callsOf(tenant, 5).map((row) => ({ ...row, validFromMs: bench.now + 1 })))
    bench.now += 25 * HOUR_MS
    await bench.settle(schedule)
    const [, second] = await bench.manifests(schedule)
    expect(second?.key).toMatch(/^chargeback\//)
    expect(second?.json).toMatchObject({ sequence: 2, revision: 2, previous: null })
  })
})

describe('a bucket that refuses', () => {
  test('is retried, emits once that the period is late, and gets it when its credentials are right', async () => {
    const tenant = newTenant()
    await bench.exports.insert(callsOf(tenant))
    const wrong = 'a-wrong-secret-that-nobody-may-see'
    const schedule = await bench.schedule(tenant, {
      destination: { access_key_id: 'NOBODY', secret_access_key: wrong },
    })

    for (let hour = 0; hour < 14; hour++) {
      bench.now = START + hour * HOUR_MS
      await bench.settle(schedule)
    }
    const progress = await bench.progressOf(schedule.id)
    expect(progress?.pending['2026-10']).toMatchObject({ failure: 'access_denied', is_late: true })
    expect(progress?.pending['2026-10']?.failures).toBeGreaterThanOrEqual(12)
    expect(eventsOf(tenant)).toEqual([
      {
        tenantId: tenant,
        type: 'export.schedule.late',
        cause: `${schedule.id}.2026-10`,
        data: {
          schedule_id: schedule.id,
          period: '2026-10',
          due_at: new Date(START).toISOString(),
          reason: 'access_denied',
        },
      },
    ])
    expect(await bench.manifests(schedule)).toEqual([])
    expect(auditOf(schedule.id)[0]).toMatchObject({
      outcome: 'failed',
      changes: { after: { reason: 'access_denied' } },
    })

    const right = { ...DESTINATION, secret_access_key: SECRET_KEY }
    const destination = storedDestination(MASTER_KEYS, schedule.id, schedule.destination.endpoint, right)
    await bench.change({ ...schedule, destination })
    bench.now += HOUR_MS
    await bench.settle(schedule)
    expect((await bench.manifests(schedule)).map(({ json }) => json.revision)).toEqual([1])
    expect(eventsOf(tenant).map(({ type }) => type)).toEqual(['export.schedule.late', 'export.completed'])

    const kept = [...bench.lines, ...[...bench.audited.values()].map((entry) => JSON.stringify(entry))].join('\n')
    expect(kept).not.toContain(wrong)
    for (const bucket of [bench.schedules, bench.progress, bench.exports.jobs]) {
      for await (const key of await bucket.keys()) expect((await bucket.get(key))?.string()).not.toContain(wrong)
    }
  })

  test.each([
    ['redirected', 307],
    ['bucket_error', 500],
    ['no_such_bucket', 404],
  ] as const)('is %s at a status of %i; a redirect is not followed', async (reason, status) => {
    const tenant = newTenant()
    const elsewhere = await launchBucket()
    const schedule = await bench.schedule(tenant)
    bench.bucket.intercept = ({ url, method }, response) => {
      if (method !== 'PUT') return false
      response.writeHead(status, { location: `https://127.0.0.1:${elsewhere.port}${url}` }).end()
      return true
    }

    await bench.settle(schedule)

    expect((await bench.progressOf(schedule.id))?.pending['2026-10']).toMatchObject({ failure: reason, failures: 1 })
    expect(elsewhere.requests).toEqual([])
  })

  test.each([
    ['residency_blocked', { residencyRegionOf: (): string => 'us-east-1' }, {}],
    ['residency_blocked', { residencyRegionOf: (): string => 'eu-central-1' }, { region: 'eu-west-1' }],
    ['address_not_allowed', {}, { endpoint: 'https://10.0.0.7:443' }],
  ] as const)('%s: nothing is sent', async (reason, changed, destination) => {
    const tenant = newTenant()
    const schedule = await bench.schedule(tenant, { destination })
    const from = bench.bucket.requests.length

    await bench.settle(schedule, bench.depsOf('exporter-1', changed))

    expect((await bench.progressOf(schedule.id))?.pending['2026-10']).toMatchObject({ failure: reason })
    expect(bench.bucket.requests.slice(from)).toEqual([])
  })
})

test('one exporter at a time has the claim of a schedule, and a stale one cannot save', async () => {
  const schedule = await bench.schedule(newTenant())
  const claim = (by: string) => ProgressHold.claim(bench.progress, schedule, by, () => bench.now)

  const first = await claim('exporter-1')
  expect(await claim('exporter-2')).toBeUndefined()
  bench.now += CLAIM_MS - 1
  await first?.save((progress) => progress)
  bench.now += CLAIM_MS - 1
  expect(await claim('exporter-2')).toBeUndefined()
  bench.now += 1
  const second = await claim('exporter-2')

  expect(second?.progress.claim?.by).toBe('exporter-2')
  await expect(first?.save((progress) => progress)).rejects.toThrow(ClaimLost)
  await second?.release()
  expect((await claim('exporter-3'))?.progress.claim?.by).toBe('exporter-3')
})

test('an exporter that has lost its claim writes nothing more', async () => {
  const schedule = await bench.schedule(newTenant())
  const other = bench.depsOf('exporter-2')
  const deps = bench.depsOf('exporter-1', {
    async enqueue(job) {
      // It hangs for so long that another one takes over.
      bench.now += CLAIM_MS + 1
      await runSchedule(schedule.id, other, SIGNAL)
      await bench.depsOf('exporter-1').enqueue(job)
    },
  })

  await runSchedule(schedule.id, deps, SIGNAL)
  await bench.settle(schedule, other)

  expect(await bench.manifests(schedule)).toHaveLength(1)
})

test('the progress of a deleted schedule is deleted', async () => {
  const schedule = await bench.schedule(newTenant())
  await bench.settle(schedule)
  await bench.schedules.delete(schedule.id)

  await runSchedule(schedule.id, bench.depsOf('exporter-1'), SIGNAL)

  expect(await bench.progressOf(schedule.id)).toBeUndefined()
})

test('a secret that is sealed for another schedule does not open', async () => {
  const [one, other] = [await bench.schedule(newTenant()), await bench.schedule(newTenant())]

  expect(secretOf(MASTER_KEYS, one)).toBe(SECRET_KEY)
  expect(() => secretOf(MASTER_KEYS, { ...one, destination: other.destination })).toThrow(/sealed secret|open/)
})

test('the secret of a destination is sealed', async () => {
  const { destination } = await bench.schedule(newTenant(), {
    destination: { secret_access_key: `${SECRET_KEY}-plain` },
  })

  expect(destination.secret).toMatch(/^sealed\./)
  expect(JSON.stringify(destination)).not.toContain('-plain')
})
