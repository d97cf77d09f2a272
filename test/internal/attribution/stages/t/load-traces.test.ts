import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Checkpoint } from '../../../../../internal/attribution/actor/checkpoint.js'
import { withBatch } from '../../../../../internal/attribution/actor/recent-messages.js'
import { loadTraces } from '../../../../../internal/attribution/stages/t/load-traces.js'
import type { PartitionTraces } from '../../../../../internal/attribution/stages/t/partition-traces.js'
import { stageT } from '../../../../../internal/attribution/stages/t/stage-t.js'
import type { StoredEntry } from '../../../../../internal/broker/log.js'
import { NOW_MS } from '../../../../support/invocations.js'
import { drawn } from '../../../../support/run/rings.js'
import { noTraces, ROW_DEPS } from '../../../../support/stages.js'
import {
  type Call,
  DIRECTORY,
  drawnCalls,
  FACTS_DEPS,
  messagesOf,
  runStageT,
} from '../../../../support/traced-calls.js'

const MINUTE_MS = 60_000

/** What a process finds that takes the partition over. */
const takenOver = (entries: readonly StoredEntry[], checkpoint: Checkpoint): Promise<PartitionTraces> =>
  loadTraces(0, checkpoint, {
    ...FACTS_DEPS,
    // Of few messages, so that several portions are read.
    readLog: async ({ from }) => entries.filter(({ sequence }) => sequence >= from).slice(0, 3),
  })

test('after a takeover the trace stage decides as without one, however late the mailbox was worked off', async () => {
  const histories = fc.record({
    calls: drawnCalls,
    cuts: fc.array(fc.boolean(), { minLength: 28, maxLength: 28 }),
    share: fc.double({ min: 0, max: 1, noNaN: true }),
    // From the last message's storage to the first batch, and from message to message.
    lateMinutes: fc.constantFrom(0, 30, 300),
    stepMinutes: fc.array(fc.constantFrom(0, 0, 1, 1, 1, 90), { minLength: 28, maxLength: 28 }),
  })
  await fc.assert(
    fc.asyncProperty(histories, async ({ calls, cuts, share, lateMinutes, stepMinutes }) => {
      const entries = await messagesOf(calls.map((each) => [each]))
      const done = Math.floor(entries.length * share)
      // A batch ends there in both.
      const ends = cuts.map((cut, i) => cut || i === done)
      const [without, afterwards] = [new Map<string, string>(), new Map<string, string>()]
      const timeOf = ({ sequence }: StoredEntry): number => {
        const minutes = stepMinutes.slice(0, sequence).reduce((sum, step) => sum + step, calls.length + lateMinutes)
        return NOW_MS + minutes * MINUTE_MS + sequence
      }

      await runStageT(entries, ends, noTraces(DIRECTORY), without, timeOf)
      const left = await runStageT(entries.slice(0, done), ends, noTraces(DIRECTORY), afterwards, timeOf)
      const traces = await takenOver(entries, left)
      await runStageT(entries.slice(done), ends.slice(done), traces, afterwards, timeOf)

      expect([...afterwards].sort()).toEqual([...without].sort())
    }),
    { numRuns: drawn(150) },
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
/** What the trace says at a minute of a call that happened then. */
const correlated = (traces: PartitionTraces, minute: number, happened = minute) =>
  traces.correlate('tnt_one\none', {
    atMs: NOW_MS + minute * MINUTE_MS,
    eventTimeMs: NOW_MS + happened * MINUTE_MS,
  }).kind

/** The checkpoint after one batch per message, each at that minute. */
function checkpointAt(entries: readonly StoredEntry[], minutes: readonly number[]): Checkpoint {
  const { readAgain } = stageT({ ...ROW_DEPS, ...FACTS_DEPS, loadTraces: async () => noTraces(DIRECTORY) })
  if (readAgain === undefined) throw new Error('nothing is read again')
  let checkpoint: Checkpoint = { done: 0 }
  for (const [i, minute] of minutes.entries()) {
    const batch = { after: i, atMs: NOW_MS + minute * MINUTE_MS, bytes: entries[i]?.data.length ?? 0 }
    checkpoint = { done: i + 1, recent: withBatch(checkpoint.recent ?? [], batch, readAgain) }
  }
  return checkpoint
}

test('a partition that nobody has read yet has no traces', async () => {
  const entries = await messagesOf([[stated(0)]])

  expect(correlated(await takenOver(entries, { done: 0 }), 1)).toBe('none')
})

test('messages of an unfinished batch are left to its repeat', async () => {
  const entries = await messagesOf([[stated(0)], [silent(1)], [stated(2)]])
  const plan = { first: 2, last: 3, atMs: NOW_MS + MINUTE_MS, routing: '' }
  const traces = await takenOver(entries.slice(1), { ...checkpointAt(entries, [0]), plan })

  expect(correlated(traces, 1)).toBe('none')
})

test('what a batch did more than an hour ago is not known, and of late messages what it did within the hour', async () => {
  const entries = await messagesOf([[stated(0, 0)], [stated(1, 1)]])
  const old = await takenOver(entries, checkpointAt(entries.slice(0, 1), [0]))
  const late = await takenOver(entries, checkpointAt(entries, [300, 301]))

  expect(correlated(old, 61, 1)).toBe('none')
  expect([correlated(late, 350, 1), correlated(late, 362, 1)]).toEqual(['one_service', 'none'])
})

test('the messages that are gone from the log are done without', async () => {
  const entries = await messagesOf([[stated(0)], [silent(1)]])
  const checkpoint = checkpointAt(entries, [0, 1])

  expect(correlated(await takenOver(entries.slice(1), checkpoint), 1)).toBe('none')
  expect(correlated(await takenOver([], checkpoint), 1)).toBe('none')
})
