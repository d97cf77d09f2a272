import { describe, expect, test } from 'vitest'
import type { Stage } from '../../../../internal/attribution/actor/stage.js'
import type { Answer, EntryDraft } from '../../../../internal/attribution/changes/answer.js'
import { newJob, type ReattributionJob } from '../../../../internal/attribution/changes/reattribution-job.js'
import { keptConsumption } from '../../../../internal/attribution/changes/recall.js'
import { type Drafts, prepareSlice, type SliceDeps } from '../../../../internal/attribution/changes/slice.js'
import type { ServiceEntry } from '../../../../internal/directory/directory.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { formatQuantity, parseSum } from '../../../../internal/units/quantity.js'
import type { Consumption } from '../../../../internal/valuation/consumption.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

const AT_MS = NOW_MS + 1_000
const RECORD = finishedRow({ id: new Uint8Array(idOf(1)) })
const hex = ({ id }: AttributionRow): string => Buffer.from(id).toString('hex')
/** The only slice of its job. */
const UNTIL = { eventTimeMs: RECORD.eventTimeMs, recordId: hex(RECORD) }

/** Attributes every event to another service. */
const OTHER_SERVICE: Stage = {
  name: 'a',
  next: undefined,
  open: async () => ({
    handle: async ({ validFromMs, invocations }) =>
      invocations.map(() => ({ kind: 'resolved', row: { ...RECORD, service: 'chat', validFromMs } })),
  }),
}

/** The same where the entry that is tried says so: else every event keeps its service. */
const BY_ENTRY = (_rowOf: unknown, { entry }: Drafts): readonly Stage[] => [
  {
    ...OTHER_SERVICE,
    open: async () => ({
      handle: async ({ validFromMs, invocations }) =>
        invocations.map(() => ({ kind: 'resolved', row: { ...RECORD, service: serviceOf(entry), validFromMs } })),
    }),
  },
]
const serviceOf = (entry: EntryDraft | undefined): string =>
  entry === undefined ? 'now' : ((entry.entry as ServiceEntry | null)?.owner ?? 'none')

const BY_OTHER_BOOK: Consumption = {
  ...keptConsumption(RECORD),
  costUsd: parseSum('2.5'),
  costDetails: '{"book_as_of":"2026-12-01"}',
}

/** A job of one record, and an in-memory read model. */
function begin(stated: Pick<ReattributionJob, 'valued' | 'dry_run' | 'answer'> = {}, record = RECORD) {
  const requested = {
    id: 'rea_1',
    tenant_id: RECORD.tenantId,
    from_ms: 0,
    to_ms: NOW_MS + 1,
    model: null,
    actor: 'cli',
    ...stated,
  }
  let job = newJob(requested, NOW_MS)
  const versions = [record]
  const closed: string[] = []
  const changes: string[] = []
  const published: number[] = []
  let isUnavailable = false
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
    selectedPlace: async () => UNTIL,
    selectedRows: async (_selection, _slice, beforeMs) => versions.filter(({ validFromMs }) => validFromMs < beforeMs),
    placeClosedBy: async () => undefined,
    rowsClosedBy: async () => [],
    versionsClosedBy: async () => [],
    rowsValidFrom: async (_slice, atMs) => versions.filter(({ validFromMs }) => validFromMs === atMs),
    stages: stated.answer === undefined ? () => [OTHER_SERVICE] : BY_ENTRY,
    rulesReached: async () => undefined,
    conventionsReached: async () => undefined,
    directoryReached: async () => undefined,
    entriesReached: async () => undefined,
    pricesReached: async () => undefined,
    consumptionOf: () => BY_OTHER_BOOK,
    consumptionWith: () => () => BY_OTHER_BOOK,
    identityNames: () => [],
    hashOf: () => '',
    publishSlice: async (_tenantId, { slice }) => published.push(slice),
    async insert(rows) {
      for (const row of rows) if (!versions.some((known) => isSame(known, row))) versions.push(row)
    },
    async close(rows) {
      if (isUnavailable) throw new Error('the store is unavailable')
      for (const { version, change } of rows) {
        closed.push(`${hex(version)} ${version.validFromMs}`)
        changes.push(change)
      }
    },
    announce: async () => undefined,
  }
  const prepare = (plannedUntil?: ReattributionJob['after'] | null) =>
    prepareSlice({ jobId: job.id, slice: 0 }, AT_MS, plannedUntil, deps)
  return {
    prepare,
    /** Plans the slice, inserts its new versions, and dies before it closes the old ones. */
    async dieBeforeClosing() {
      isUnavailable = true
      await expect((await prepare()).applyEffects('token')).rejects.toThrow('unavailable')
      isUnavailable = false
    },
    cancel() {
      job = { ...job, status: 'cancelled' }
    },
    addRecord: (row: AttributionRow) => void versions.push(row),
    job: () => job,
    costs: () => versions.map(({ costUsd }) => formatQuantity(costUsd)),
    changes: () => changes,
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

  await (await prepare()).applyEffects('token')

  expect(services()).toEqual(['search'])
  expect(published).toEqual([])
  expect(job()).toMatchObject({ status: 'cancelled', next: 0 })
})

test('a planned slice is completed as the last one if its job is cancelled meanwhile', async () => {
  const { prepare, dieBeforeClosing, cancel, services, closed, published, job } = begin()
  await dieBeforeClosing()
  cancel()

  await (await prepare(UNTIL)).applyEffects('token')

  expect(services()).toEqual(['search', 'chat'])
  expect(closed).toEqual([`${hex(RECORD)} ${RECORD.validFromMs}`])
  expect(published).toEqual([])
  expect(job()).toMatchObject({ status: 'cancelled', next: 1, seen: 1, changed: 1 })
})

test('a cancelled job stays cancelled when the plan of its last slice is applied', async () => {
  const { prepare, cancel, job } = begin()
  cancel()

  await (await prepare(null)).applyEffects('token')

  expect(job().status).toBe('cancelled')
})

test('new versions inserted by an earlier attempt are kept', async () => {
  const { prepare, addRecord, services, closed } = begin()
  addRecord({ ...RECORD, service: 'by an older directory', validFromMs: AT_MS })

  await (await prepare(UNTIL)).applyEffects('token')

  expect(services()).toEqual(['search', 'by an older directory'])
  expect(closed).toEqual([`${hex(RECORD)} ${RECORD.validFromMs}`])
})

test('a record from the same millisecond is not mistaken for a version inserted by an earlier attempt', async () => {
  const { prepare, addRecord, services, closed } = begin()
  addRecord(finishedRow({ id: new Uint8Array(idOf(2)) }, { validFromMs: AT_MS }))

  await (await prepare(UNTIL)).applyEffects('token')

  expect(services()).toEqual(['search', 'search', 'chat'])
  expect(closed).toEqual([`${hex(RECORD)} ${RECORD.validFromMs}`])
})

test('a dry run of a re-attribution counts the changes by owner, and writes nothing', async () => {
  const { prepare, services, closed, published, job } = begin({ dry_run: true })

  await (await prepare()).applyEffects('token')

  expect(services()).toEqual(['search'])
  expect([closed, published]).toEqual([[], [1]])
  expect(job()).toMatchObject({ changed: 1, moves: [{ records: 1, cost_usd: '0' }] })
})

describe('an answer', () => {
  const answer = (before: string | null, after: string): Answer => {
    const entry = (owner: string | null) => (owner === null ? null : { name: 'search', owner })
    return { kind: 'services', key: 'tnt.services.search', before: entry(before), after: entry(after), revision: 1 }
  }

  test('moves what is attributed otherwise without it, and says from whom to whom', async () => {
    const { prepare, services, changes, job } = begin({ answer: answer('another', 'now') })

    await (await prepare()).applyEffects('token')

    expect(services()).toEqual(['search', 'now'])
    expect(changes()).toEqual(['reattribution'])
    expect(job()).toMatchObject({ changed: 1, moves: [{ from_service: 'search', to_service: 'now', records: 1 }] })
  })

  test('leaves what would also have changed without it', async () => {
    const { prepare, services, job } = begin({ answer: { ...answer('now', 'now'), after: null } })

    await (await prepare()).applyEffects('token')

    expect(services()).toEqual(['search'])
    expect(job()).toMatchObject({ seen: 1, changed: 0, moves: [] })
  })

  test('moves what was attributed before the entry was there, although the entry stays what it was', async () => {
    const { prepare, services } = begin({ answer: answer('now', 'now') })

    await (await prepare()).applyEffects('token')

    expect(services()).toEqual(['search', 'now'])
  })

  test('is tried with the entry as it would be, and then writes nothing', async () => {
    const { prepare, services, job } = begin({ answer: answer(null, 'later'), dry_run: true })

    await (await prepare()).applyEffects('token')

    expect(services()).toEqual(['search'])
    expect(job()).toMatchObject({ changed: 1, moves: [{ from_service: 'search', to_service: 'later', records: 1 }] })
  })
})

describe('a revaluation job', () => {
  const OF_A_BOOK = { ...RECORD, costDetails: '{"book_as_of":"2026-09-23"}' }
  const valued = { book: '2026-09-23' }

  test('a revaluation job writes new versions with the same attribution, and reports their changes', async () => {
    const { prepare, costs, services, changes, job } = begin({ valued }, OF_A_BOOK)

    await (await prepare()).applyEffects('token')

    expect(costs()).toEqual(['0', '2.5'])
    expect(services()).toEqual(['search', 'search'])
    expect(changes()).toEqual(['revaluation'])
    expect(job()).toMatchObject({ next: 1, seen: 1, changed: 1, tally: { cost_records: 1, cost_usd: '2.5', left: 0 } })
  })

  test('a revaluation counts versions of a crashed attempt once, and closes those that they replace', async () => {
    const { prepare, dieBeforeClosing, costs, closed, job } = begin({ valued }, OF_A_BOOK)
    await dieBeforeClosing()

    await (await prepare(UNTIL)).applyEffects('token')

    expect(costs()).toEqual(['0', '2.5'])
    expect(closed).toEqual([`${hex(RECORD)} ${RECORD.validFromMs}`])
    expect(job()).toMatchObject({ changed: 1, tally: { cost_records: 1, cost_usd: '2.5' } })
  })

  test('a dry run of a revaluation reports the same changes, goes to the next slice and writes nothing', async () => {
    const { prepare, costs, closed, published, job } = begin({ valued, dry_run: true }, OF_A_BOOK)

    await (await prepare()).applyEffects('token')

    expect(costs()).toEqual(['0'])
    expect([closed, published]).toEqual([[], [1]])
    expect(job()).toMatchObject({ next: 1, changed: 1, tally: { cost_records: 1, cost_usd: '2.5' } })
  })
})
