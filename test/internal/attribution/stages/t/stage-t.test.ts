import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideBatch } from '../../../../../internal/attribution/stages/t/decide.js'
import { stageT } from '../../../../../internal/attribution/stages/t/stage-t.js'
import { idOf, NOW_MS } from '../../../../support/invocations.js'
import { drawn } from '../../../../support/run/rings.js'
import { batchOf, event, kindsOf, noTraces, ROW_DEPS } from '../../../../support/stages.js'
import {
  type Call,
  DIRECTORY,
  drawnCalls,
  eventOf,
  FACTS_DEPS,
  HANDED_ON,
  hexOf,
  messagesOf,
  runStageT,
  shownAs,
} from '../../../../support/traced-calls.js'

test('whatever the order and the batches of calls and facts, each call ends as if all had come at once', async () => {
  const histories = drawnCalls.chain((calls) =>
    fc.record({
      calls: fc.constant(calls),
      // Of stage A: in which partition each call is, in which order they come, and where batches end.
      partitions: fc.array(fc.nat(2), { minLength: calls.length, maxLength: calls.length }),
      order: fc.shuffledSubarray(calls, { minLength: calls.length, maxLength: calls.length }),
      cutsOfA: fc.array(fc.boolean(), { minLength: 14, maxLength: 14 }),
      // Of the trace stage: which of the messages comes when, and where batches end.
      turns: fc.array(fc.nat(1_000), { minLength: 28, maxLength: 28 }),
      cutsOfT: fc.array(fc.boolean(), { minLength: 28, maxLength: 28 }),
    }),
  )
  await fc.assert(
    fc.asyncProperty(histories, async ({ calls, partitions, order, cutsOfA, turns, cutsOfT }) => {
      const batches: Call[][] = []
      for (const partition of [0, 1, 2]) {
        batches.push([])
        for (const [i, each] of order.filter(({ number }) => partitions[number] === partition).entries()) {
          if (cutsOfA[i] === true) batches.push([])
          batches.at(-1)?.push(each)
        }
      }
      const made = await messagesOf(batches.filter(({ length }) => length > 0))
      const entries = made
        .map((entry, i) => ({ entry, turn: turns[i] ?? 0 }))
        .sort((one, other) => one.turn - other.turn)
        .map(({ entry }, i) => ({ ...entry, storedAt: new Date(NOW_MS + i * 1_000).toISOString() }))
      const told = new Map<string, string>()

      await runStageT(entries, cutsOfT, noTraces(DIRECTORY), told)

      const events = calls.map(eventOf)
      for (const [{ id }, { resolution }] of decideBatch(events, noTraces(DIRECTORY), NOW_MS, FACTS_DEPS)) {
        const shown = told.get(hexOf(id))
        // Stage A resolved the others by themselves, and no trace changes them.
        if (shown === undefined) expect(resolution?.evidenceBasis).not.toBe('trace_correlated')
        else expect(shown).toBe(resolution === undefined ? HANDED_ON : shownAs(resolution))
      }
    }),
    { numRuns: drawn(300) },
  )
})

describe('stage T', () => {
  const traceId = 'one'
  const open = () => stageT({ ...ROW_DEPS, ...FACTS_DEPS, loadTraces: async () => noTraces(DIRECTORY) }).open(2)
  const fact = {
    tenantId: 'tnt_one',
    traceId,
    service: 'search',
    owner: 'team-search',
    confidence: 9_000,
    strength: 5,
    fromMs: NOW_MS,
    toMs: NOW_MS,
  }

  test('a call that its trace resolves has its record there, any other goes on', async () => {
    const { handle } = await open()

    const dispositions = await handle(
      batchOf('t', [event(1, 0, { traceId }), event(2, 1, { traceId: 'other' })], [fact]),
    )

    expect(kindsOf(dispositions)).toEqual(['resolved', 'hand_on'])
    expect(dispositions[0]).toMatchObject({
      row: { service: 'search', owner: 'team-search', evidenceBasis: 'trace_correlated', stageOrigin: 'stage_a' },
    })
  })

  test('a call of a trace with several services goes on with their names', async () => {
    const { handle } = await open()
    const facts = [fact, { ...fact, service: 'chat' }]

    expect(await handle(batchOf('t', [event(1, 0, { traceId })], facts))).toEqual([
      { kind: 'hand_on', traceServices: ['chat', 'search'] },
    ])
  })

  test('a fact that comes after the call corrects it, until the batch has been applied', async () => {
    const { handle, correctionsOf, onApplied } = await open()
    const first = batchOf('t', [event(1, 0, { traceId })])
    await handle(first)
    await onApplied?.(first)
    const later = batchOf('t', [], [fact])

    for (let attempt = 0; attempt < 2; attempt++) {
      await handle(later)
      expect(correctionsOf?.(later)).toMatchObject([{ verdict: { service: 'search', stageOrigin: 'stage_a' } }])
    }
    await onApplied?.(later)
    await handle(batchOf('t', [], [fact]))
    expect(correctionsOf?.(later)).toEqual([])
  })

  describe('an event whose rule throws', () => {
    /** Throws when it is asked about `broken`, once that is so. */
    function breakable() {
      let isBroken = true
      const directory = Object.create(DIRECTORY, {
        identity: {
          value: (tenantId: string, name: string) => {
            if (name === 'broken') throw new Error('no such entry')
            return DIRECTORY.identity(tenantId, name)
          },
        },
        service: {
          value: (tenantId: string, name: string, atMs: number) => {
            if (isBroken && name === 'broken') throw new Error('no such entry')
            return DIRECTORY.service(tenantId, name, atMs)
          },
        },
      }) as typeof DIRECTORY
      const deps = { ...ROW_DEPS, ...FACTS_DEPS, directory }
      return {
        open: () => stageT({ ...deps, loadTraces: async () => noTraces(directory) }).open(2),
        setBroken(is: boolean): void {
          isBroken = is
        },
      }
    }

    test('costs only itself, whether by its own facts or by its trace', async () => {
      const { handle } = await breakable().open()
      const events = [
        event(1, 0, { traceId, attributedIdentity: 'broken' }),
        event(2, 1, { traceId }),
        event(3, 2, { traceId: 'other' }),
      ]

      const dispositions = await handle(batchOf('t', events, [fact, { ...fact, traceId: 'other', service: 'broken' }]))

      expect(kindsOf(dispositions)).toEqual(['failed', 'resolved', 'failed'])
    })

    test('is not corrected, and the others of its trace are', async () => {
      const stage = breakable()
      const { handle, correctionsOf, onApplied } = await stage.open()
      const first = batchOf('t', [event(1, 0, { traceId }), event(2, 1, { traceId: 'other' })])
      await handle(first)
      await onApplied?.(first)

      const second = batchOf(
        't',
        [],
        [
          { ...fact, service: 'broken' },
          { ...fact, traceId: 'other' },
        ],
      )
      await handle(second)

      expect(correctionsOf?.(second)).toMatchObject([{ id: idOf(2), verdict: { service: 'search' } }])
      await onApplied?.(second)
      stage.setBroken(false)
      await handle(batchOf('t', [], [fact]))
      expect(correctionsOf?.(second)).toEqual([])
    })
  })

  test('a fact of another tenant, or of a call hours away, tells nothing', async () => {
    const { handle } = await open()
    const away = { ...fact, fromMs: NOW_MS - 9_000_000, toMs: NOW_MS - 7_200_001 }
    const facts = [{ ...fact, tenantId: 'tnt_two' }, away]

    expect(kindsOf(await handle(batchOf('t', [event(1, 0, { traceId, eventTimeMs: NOW_MS })], facts)))).toEqual([
      'hand_on',
    ])
  })
})
