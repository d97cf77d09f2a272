import { describe, expect, test } from 'vitest'
import { SeenEvents } from '../../../../../internal/attribution/actor/seen-events.js'
import { stageA } from '../../../../../internal/attribution/stages/a/stage-a.js'
import { DEFAULT_SETTINGS } from '../../../../../internal/auth/tenant.js'
import { NO_RULES } from '../../../../../internal/directory/mapping/mapping-policy.js'
import { directoryOf } from '../../../../support/directory.js'
import { idOf, NOW_MS } from '../../../../support/invocations.js'
import {
  batchOf,
  event,
  kindsOf,
  noOtherPartitions,
  noTraces,
  nothingUnconfirmed,
  ROW_DEPS,
  STAGE_C_DEPS,
} from '../../../../support/stages.js'

const nothingSeen = () =>
  new SeenEvents({ windowMs: 1e9, exactEventsMax: 64, filterBytesMax: () => 1e6, find: async () => [] })

describe('stage A', () => {
  const open = (seen = nothingSeen(), otherPartitions = noOtherPartitions, unconfirmed = nothingUnconfirmed) =>
    stageA({
      ...ROW_DEPS,
      directory: directoryOf({ services: [{ name: 'search', owner: 'team-search' }] }),
      settingsOf: () => DEFAULT_SETTINGS,
      policyOf: STAGE_C_DEPS.policyOf,
      mappingOf: () => NO_RULES,
      loadSeen: async () => seen,
      otherPartitions,
      unconfirmed,
      loadTraces: async () => noTraces(),
    }).open(2)

  test('stage A resolves events with evidence, hands over the others, and drops duplicates', async () => {
    const { handle } = await open()

    const dispositions = await handle(
      batchOf('a', [
        event(1, 0, { attributedService: 'search' }),
        event(2, 1),
        event(1, 2),
        event(2, 3, { attributedService: 'search' }),
      ]),
    )

    expect(kindsOf(dispositions)).toEqual(['resolved', 'hand_on', 'drop', 'drop'])
    expect(dispositions[0]).toMatchObject({
      row: {
        service: 'search',
        owner: 'team-search',
        stageOrigin: 'stage_a',
        outputState: 'deterministically_resolved',
        degradationState: 'none',
        modelVersion: 'rules-6',
        sourcePartition: 2,
        validFromMs: NOW_MS + 1,
      },
    })
  })

  test('stage A returns the same result for a repeated batch', async () => {
    const { handle } = await open()
    const batch = batchOf('a', [event(1, 0), event(1, 1), event(2, 2, { attributedService: 'search' })])

    expect(await handle(batch)).toEqual(await handle(batch))
  })

  test('stage A drops an event that already has a record, even if its content differs', async () => {
    const seen = nothingSeen()
    seen.remember(idOf(1), { sequence: 1, index: 0 }, NOW_MS)
    const { handle } = await open(seen)

    expect(kindsOf(await handle(batchOf('a', [event(1, 1, { attributedService: 'another' })])))).toEqual(['drop'])
  })

  test('stage A drops an unconfirmed event that another partition has, and asks for no other', async () => {
    const asked: number[] = []
    const { handle } = await open(nothingSeen(), (partition) => ({
      haveFirst: async (events) => {
        asked.push(partition, events.length)
        return events.map(({ id }) => Buffer.from(id).equals(idOf(2)))
      },
      forget: () => undefined,
    }))
    const unconfirmed = (number: number, index: number) => ({ ...event(number, index), isUnconfirmed: true })

    const batch = batchOf('a', [event(1, 0), unconfirmed(2, 1), unconfirmed(3, 2), unconfirmed(1, 3)])

    expect(kindsOf(await handle(batch))).toEqual(['hand_on', 'drop', 'hand_on', 'drop'])
    expect(asked).toEqual([2, 2])
  })

  test('stage A drops a confirmed event that another partition has without confirmation', async () => {
    let hasRead = false
    const { handle } = await open(
      nothingSeen(),
      () => ({ haveFirst: async (events) => events.map(() => hasRead), forget: () => undefined }),
      {
        upToNow: async () => {
          hasRead = true
        },
        mayHave: (id) => Buffer.from(id).equals(idOf(2)),
      },
    )

    expect(kindsOf(await handle(batchOf('a', [event(1, 0), event(2, 1)])))).toEqual(['hand_on', 'drop'])
  })

  test('stage A fails an event whose rule throws, and continues with the rest', async () => {
    const { handle } = await open()
    const stated = { attributedService: 'search' }

    const dispositions = await handle(
      batchOf('a', [event(1, 0, stated), event(2, 1, { ...stated, provider: 'broken' }), event(3, 2, stated)]),
    )

    expect(kindsOf(dispositions)).toEqual(['resolved', 'failed', 'resolved'])
    expect(dispositions[1]).toEqual({ kind: 'failed', reason: 'rule_failed: Error' })
  })
})
