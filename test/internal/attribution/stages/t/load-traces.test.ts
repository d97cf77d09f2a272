import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Checkpoint } from '../../../../../internal/attribution/actor/checkpoint.js'
import { loadTraces } from '../../../../../internal/attribution/stages/t/load-traces.js'
import type { PartitionTraces } from '../../../../../internal/attribution/stages/t/partition-traces.js'
import type { StoredEntry } from '../../../../../internal/broker/log.js'
import { NOW_MS } from '../../../../support/invocations.js'
import { noTraces } from '../../../../support/stages.js'
import {
  type Call,
  DIRECTORY,
  drawnCalls,
  FACTS_DEPS,
  messagesOf,
  runStageT,
} from '../../../../support/traced-calls.js'

const HOUR_MS = 3_600_000

/** What a process finds that takes the partition over once its mailbox is worked off up to `done`. */
const takenOver = (
  entries: readonly StoredEntry[],
  checkpoint: Checkpoint | undefined,
  nowMs = NOW_MS + 30 * 60_000,
): Promise<PartitionTraces> =>
  loadTraces(0, {
    ...FACTS_DEPS,
    partitions: 1,
    clock: () => nowMs,
    checkpoints: {
      get: async (key: string) => (key === 't.0' && checkpoint ? { operation: 'PUT', json: () => checkpoint } : null),
    } as unknown as Parameters<typeof loadTraces>[1]['checkpoints'],
    firstSequenceSince: async (sinceMs) =>
      entries.find(({ storedAt }) => Date.parse(storedAt) >= sinceMs)?.sequence ?? Number.MAX_SAFE_INTEGER,
    // Of few messages, so that several portions are read.
    readLog: async ({ from }) => entries.filter(({ sequence }) => sequence >= from).slice(0, 3),
  })

test('after a takeover the trace stage decides as without one', async () => {
  const drawn = fc.record({
    calls: drawnCalls,
    cuts: fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  await fc.assert(
    fc.asyncProperty(drawn, async ({ calls, cuts, share }) => {
      const entries = await messagesOf(calls.map((each) => [each]))
      const done = Math.floor(entries.length * share)
      // A batch ends there in both.
      const ends = cuts.map((cut, i) => cut || i === done)
      const [without, afterwards] = [new Map<string, string>(), new Map<string, string>()]

      await runStageT(entries, ends, noTraces(DIRECTORY), without)
      await runStageT(entries.slice(0, done), ends, noTraces(DIRECTORY), afterwards)
      const traces = await takenOver(entries, { done })
      await runStageT(entries.slice(done), ends.slice(done), traces, afterwards)

      expect([...afterwards].sort()).toEqual([...without].sort())
    }),
    { numRuns: 150 },
  )
})

const stated = (number: number, minute = number): Call => ({
  number,
  principal: 'key_one',
  invocation: { traceId: 'one', attributedService: 'search' },
  minute,
})
const silent = (number: number, minute = number): Call => ({
  number,
  principal: 'key_one',
  invocation: { traceId: 'one' },
  minute,
})
const correlated = (traces: PartitionTraces, minute: number) =>
  traces.correlate('tnt_one\none', { atMs: NOW_MS + minute * 60_000, eventTimeMs: NOW_MS + minute * 60_000 }).kind

test('a partition that nobody has read yet has no traces', async () => {
  const entries = await messagesOf([[stated(0)]])

  expect(correlated(await takenOver(entries, undefined), 1)).toBe('none')
})

test('messages of an unfinished batch are left to its repeat, and count as of its time', async () => {
  const entries = await messagesOf([[stated(0)], [silent(1)]])
  const plan = { first: 1, last: 2, atMs: NOW_MS + 60_000, routing: '' }

  expect(correlated(await takenOver(entries, { done: 0, plan }), 1)).toBe('none')
  expect(correlated(await takenOver(entries, { done: 1, plan }, NOW_MS + 5 * HOUR_MS), 1)).toBe('one_service')
})

test('what came more than an hour ago is not read', async () => {
  const entries = await messagesOf([[stated(0, 0)], [stated(1, 90)]])
  const old = await takenOver(entries.slice(0, 1), { done: 1 }, NOW_MS + HOUR_MS + 1)
  const young = await takenOver(entries, { done: 2 }, NOW_MS + 100 * 60_000)

  expect([correlated(old, 60), correlated(young, 100)]).toEqual(['none', 'one_service'])
})
