import fc from 'fast-check'
import { expect, test } from 'vitest'
import { SAME_CALL_MS } from '../../../../internal/attribution/sightings/seen-by.js'
import {
  CLOSED_MAX,
  MergeCapacity,
  type SharedCall,
  sameCallFinder,
  windowsAround,
} from '../../../../internal/attribution/sightings/seen-twice.js'
import type { SeenTwiceQuestion, SharedId } from '../../../../internal/store/queries/records/seen-twice.js'
import type { AttributionRow } from '../../../../internal/store/tables/attributions.js'
import { idOf, NOW_MS } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

const hexOf = (number: number): string => Buffer.from(idOf(number)).toString('hex')
const rowOf = (number: number, stated: Partial<AttributionRow> = {}): AttributionRow => ({
  ...finishedRow({ id: idOf(number) }),
  ...stated,
})
const sharedId = (number: number): SharedId => ({ id: hexOf(number), eventTimeMs: NOW_MS })

/** What is asked and compared for inserted rows, where the store finds these groups. */
async function looked(
  rows: readonly AttributionRow[],
  {
    groups = [],
    isWanted = true,
    isFull = false,
  }: { groups?: SharedId[][]; isWanted?: boolean; isFull?: boolean } = {},
) {
  const questions: SeenTwiceQuestion[] = []
  const compared: SharedCall[] = []
  const look = sameCallFinder({
    isWanted: () => isWanted,
    capacity: { refresh: async () => undefined, has: () => !isFull },
    find: async (question) => {
      questions.push(question)
      return groups
    },
    compare: async (calls) => void compared.push(...calls),
  })
  await look(rows)
  return { questions, compared }
}

test('rows without an id of their call ask nothing', async () => {
  const rows = [rowOf(1), rowOf(2, { traceId: 'trace' }), rowOf(3, { operationId: 'op', attempt: 2 })]

  expect((await looked(rows)).questions).toEqual([])
})

test('each tenant is asked for once per batch, whatever ids its rows have', async () => {
  const rows = [
    rowOf(1, { responseId: 'r', traceId: 't', spanId: 's' }),
    rowOf(2, { requestId: 'q' }),
    rowOf(3, { responseId: 'r', tenantId: 'tnt_two' }),
  ]

  expect((await looked(rows)).questions.map(({ tenantId }) => tenantId)).toEqual(['tnt_one', 'tnt_two'])
})

test('events of a backfill are looked up around their own times, some windows at a time', async () => {
  const rows = Array.from({ length: 40 }, (_, i) =>
    rowOf(i, { responseId: 'r', eventTimeMs: NOW_MS + i * 3 * SAME_CALL_MS }),
  )

  const { questions } = await looked(rows)

  expect(questions.map(({ windows }) => windows.length)).toEqual([16, 16, 8])
  expect(questions.flatMap(({ windows }) => windows)).toEqual(windowsAround(rows))
})

test('a tenant that has switched it off, or has no capacity for it, asks nothing', async () => {
  const rows = [rowOf(1, { responseId: 'r' })]

  expect((await looked(rows, { isWanted: false })).questions).toEqual([])
  expect((await looked(rows, { isFull: true })).questions).toEqual([])
})

test('records that have several things in common are compared once', async () => {
  const groups = [[sharedId(3), sharedId(1)], [sharedId(1), sharedId(3)], [sharedId(1)]]

  const { compared } = await looked([rowOf(1, { responseId: 'r' })], { groups })

  expect(compared).toMatchObject([{ tenantId: 'tnt_one', members: [hexOf(1), hexOf(3)], fromMs: NOW_MS, toMs: NOW_MS }])
})

test('the same records are the same comparison, in whatever order they are found', async () => {
  const idsOf = async (...members: SharedId[]) =>
    (await looked([rowOf(1, { responseId: 'r' })], { groups: [members] })).compared.map(({ id }) => id)

  expect(await idsOf(sharedId(1), sharedId(2))).toEqual(await idsOf(sharedId(2), sharedId(1)))
  expect(await idsOf(sharedId(1), sharedId(2))).not.toEqual(await idsOf(sharedId(1), sharedId(2), sharedId(3)))
})

test('windows hold every time at which a call may have been seen, and overlap nowhere', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100 * SAME_CALL_MS }), { minLength: 1, maxLength: 60 }), (times) => {
      const windows = windowsAround(times.map((eventTimeMs) => ({ eventTimeMs })))

      for (const ms of times.flatMap((each) => [each - SAME_CALL_MS, each, each + SAME_CALL_MS])) {
        expect(windows.filter(({ fromMs, toMs }) => fromMs <= ms && ms <= toMs)).toHaveLength(1)
      }
      for (const [i, { fromMs }] of windows.entries()) {
        const before = windows[i - 1]
        if (before !== undefined) expect(fromMs).toBeGreaterThan(before.toMs)
      }
    }),
  )
})

test('the capacity for merges is read once per minute, and its end is logged once', async () => {
  let [nowMs, lookups] = [0, 0]
  const full = new Set<string>()
  const warnings: unknown[] = []
  const capacity = new MergeCapacity({
    fullTenants: async () => {
      lookups++
      return new Set(full)
    },
    clock: () => nowMs,
    log: { warn: (fields: unknown) => void warnings.push(fields) } as never,
  })

  await capacity.refresh()
  full.add('tnt_one')
  await capacity.refresh()
  expect([lookups, capacity.has('tnt_one')]).toEqual([1, true])
  for (let minute = 1; minute <= 3; minute++) {
    nowMs = minute * 60_000
    await capacity.refresh()
  }
  expect([lookups, capacity.has('tnt_one'), capacity.has('tnt_two')]).toEqual([4, false, true])
  expect(warnings).toEqual([{ tenantId: 'tnt_one', closed: CLOSED_MAX }])
})
