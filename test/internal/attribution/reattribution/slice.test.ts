import { expect, test } from 'vitest'
import type { Stage } from '../../../../internal/attribution/actor/stage.js'
import type { ReattributionJob } from '../../../../internal/attribution/reattribution/job.js'
import { newJob, prepareSlice, type SliceDeps } from '../../../../internal/attribution/reattribution/slice.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

const AT_MS = NOW_MS + 1_000
const RECORD = finishedRow({ id: new Uint8Array(idOf(1)) })
const hex = ({ id }: AttributionRow): string => Buffer.from(id).toString('hex')
/** The only slice of its job. */
const UNTIL = { eventTimeMs: RECORD.eventTimeMs, recordId: hex(RECORD) }

/** Finds another service for whatever it is given. */
const OTHER_SERVICE: Stage = {
  name: 'a',
  next: undefined,
  open: async () => ({
    handle: async ({ validFromMs, invocations }) =>
      invocations.map(() => ({ kind: 'resolved', row: { ...RECORD, service: 'chat', validFromMs } })),
  }),
}

/** A job of one record, and a read model that holds what is written to it. */
function begin() {
  const asked = { id: 'rea_1', tenant_id: RECORD.tenantId, from_ms: 0, to_ms: NOW_MS + 1, model: null, actor: 'cli' }
  let job = newJob(asked, NOW_MS)
  const versions = [RECORD]
  const closed: string[] = []
  const published: number[] = []
  let isAway = false
  const deps: SliceDeps = {
    jobs: {
      read: async () => job,
      createOnce: async () => job,
      async change(_key, change) {
        job = change(job) ?? job
        return job
      },
      delete: async () => false,
    },
    placeBehind: async () => UNTIL,
    undecidedRows: async (_slice, beforeMs) => versions.filter(({ validFromMs }) => validFromMs < beforeMs),
    tracePeers: async () => [],
    rowsValidFrom: async (_slice, atMs) => versions.filter(({ validFromMs }) => validFromMs === atMs),
    stages: () => [OTHER_SERVICE],
    identityNames: () => [],
    hashOf: () => '',
    publishSlice: async (_tenantId, { slice }) => published.push(slice),
    async insert(rows) {
      for (const row of rows) if (!versions.some((known) => isSame(known, row))) versions.push(row)
    },
    async close(rows) {
      if (isAway) throw new Error('the store is away')
      for (const { version } of rows) closed.push(`${hex(version)} ${version.validFromMs}`)
    },
    announce: async () => undefined,
  }
  const prepare = (plannedUntil?: ReattributionJob['after'] | null) =>
    prepareSlice({ jobId: job.id, slice: 0 }, AT_MS, plannedUntil, deps)
  return {
    prepare,
    /** Plans the slice, and dies when its versions are inserted and not closed. */
    async dieBeforeClosing() {
      isAway = true
      await expect((await prepare()).carryOut('token')).rejects.toThrow('away')
      isAway = false
    },
    cancel() {
      job = { ...job, status: 'cancelled' }
    },
    alsoComes: (row: AttributionRow) => void versions.push(row),
    job: () => job,
    services: () => versions.map(({ service }) => service),
    closed,
    published,
  }
}

const isSame = (one: AttributionRow, other: AttributionRow): boolean =>
  hex(one) === hex(other) && one.validFromMs === other.validFromMs

test('a slice of a job that was cancelled before it was planned does nothing', async () => {
  const { prepare, cancel, services, published, job } = begin()
  cancel()

  await (await prepare()).carryOut('token')

  expect(services()).toEqual(['search'])
  expect(published).toEqual([])
  expect(job()).toMatchObject({ status: 'cancelled', next: 0 })
})

test('a planned slice is carried out to its end though its job was cancelled meanwhile, and is the last', async () => {
  const { prepare, dieBeforeClosing, cancel, services, closed, published, job } = begin()
  await dieBeforeClosing()
  cancel()

  await (await prepare(UNTIL)).carryOut('token')

  expect(services()).toEqual(['search', 'chat'])
  expect(closed).toEqual([`${hex(RECORD)} ${RECORD.validFromMs}`])
  expect(published).toEqual([])
  expect(job()).toMatchObject({ status: 'cancelled', next: 1, seen: 1, changed: 1 })
})

test('a cancelled job does not become done by a plan of its end', async () => {
  const { prepare, cancel, job } = begin()
  cancel()

  await (await prepare(null)).carryOut('token')

  expect(job().status).toBe('cancelled')
})

test('what an earlier attempt has inserted stands', async () => {
  const { prepare, alsoComes, services, closed } = begin()
  alsoComes({ ...RECORD, service: 'by an older directory', validFromMs: AT_MS })

  await (await prepare(UNTIL)).carryOut('token')

  expect(services()).toEqual(['search', 'by an older directory'])
  expect(closed).toEqual([`${hex(RECORD)} ${RECORD.validFromMs}`])
})

test('a record that came in the same millisecond is not taken for what an earlier attempt has inserted', async () => {
  const { prepare, alsoComes, services, closed } = begin()
  alsoComes(finishedRow({ id: new Uint8Array(idOf(2)) }, { validFromMs: AT_MS }))

  await (await prepare(UNTIL)).carryOut('token')

  expect(services()).toEqual(['search', 'search', 'chat'])
  expect(closed).toEqual([`${hex(RECORD)} ${RECORD.validFromMs}`])
})
