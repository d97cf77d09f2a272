import { describe, expect, test } from 'vitest'
import { SeenEvents } from '../../../../../internal/attribution/actor/seen-events.js'
import { tracePartition } from '../../../../../internal/attribution/actor/trace-partition.js'
import { stageA } from '../../../../../internal/attribution/stages/a/stage-a.js'
import { DEFAULT_SETTINGS } from '../../../../../internal/auth/tenant.js'
import { NO_RULES } from '../../../../../internal/directory/mapping/mapping-policy.js'
import { directoryOf } from '../../../../support/directory.js'
import { NOW_MS } from '../../../../support/invocations.js'
import { batchOf, event, kindsOf, ROW_DEPS, STAGE_C_DEPS } from '../../../../support/stages.js'

const nothingSeen = () =>
  new SeenEvents({ windowMs: 1e9, exactEventsMax: 64, filterBytesMax: () => 1e6, find: async () => [] })

const PARTITION = 2
const PARTITIONS = 4
/** An event of the partition. */
const own: typeof event = (number, ...rest) => event(number * PARTITIONS + PARTITION, ...rest)

describe('stage A', () => {
  const open = (seen = nothingSeen()) => stage(seen).open(PARTITION)
  const stage = (seen = nothingSeen()) =>
    stageA({
      ...ROW_DEPS,
      partitions: PARTITIONS,
      directory: directoryOf({
        services: [{ name: 'search', owner: 'team-search' }],
        principals: [{ id: 'key_default', service: 'search' }],
      }),
      settingsOf: () => DEFAULT_SETTINGS,
      policyOf: STAGE_C_DEPS.policyOf,
      mappingOf: () => NO_RULES,
      loadSeen: async () => seen,
    })

  test('stage A resolves events with evidence, hands over the others, and drops duplicates', async () => {
    const { handle } = await open()

    const dispositions = await handle(
      batchOf('a', [
        own(1, 0, { attributedService: 'search' }),
        own(2, 1),
        own(1, 2),
        own(2, 3, { attributedService: 'search' }),
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
        modelVersion: 'rules-7',
        sourcePartition: PARTITION,
        validFromMs: NOW_MS + 1,
      },
    })
  })

  test('stage A returns the same result for a repeated batch', async () => {
    const { handle } = await open()
    const batch = batchOf('a', [own(1, 0), own(1, 1), own(2, 2, { attributedService: 'search' })])

    expect(await handle(batch)).toEqual(await handle(batch))
  })

  test('stage A drops an event that already has a record, even if its content differs', async () => {
    const seen = nothingSeen()
    seen.remember(own(1, 0).id, { sequence: 1, index: 0 }, NOW_MS)
    const { handle } = await open(seen)

    expect(kindsOf(await handle(batchOf('a', [own(1, 1, { attributedService: 'another' })])))).toEqual(['drop'])
  })

  test('a call of a trace that does not name its service goes to the actor of the trace, any other stays', async () => {
    const { mailboxOf } = stage()
    const traced = own(1, 0, { traceId: 'trace-1' })

    expect(mailboxOf?.(traced, PARTITION)).toEqual({
      stage: 't',
      partition: tracePartition(traced.tenantId, 'trace-1', PARTITIONS),
    })
    expect(mailboxOf?.(own(2, 1), PARTITION)).toBeUndefined()
  })

  test('an event of another partition goes there undecided, each time, and its key is recorded there', async () => {
    const { mailboxOf, recordsKeyOf } = stage()
    const { handle, factsOf } = await open()
    const stated = { traceId: 'trace-1', attributedService: 'search' }
    const foreign = event(1, 0, stated)
    const batch = batchOf('a', [foreign, own(1, 1, stated), event(1, 2, stated), own(1, 3), event(3, 4)])

    expect(kindsOf(await handle(batch))).toEqual(['hand_on', 'resolved', 'hand_on', 'drop', 'hand_on'])
    expect(factsOf?.(batch)).toHaveLength(1)
    expect(mailboxOf?.(foreign, PARTITION)).toEqual({ stage: 'a', partition: 1 })
    expect([foreign, own(1, 0)].map((each) => recordsKeyOf?.(each, PARTITION))).toEqual([false, true])
  })

  test('stage A resolves a call of a trace that names its service, and tells the trace, once per service', async () => {
    const { handle, factsOf } = await open()
    const traceId = 'trace-1'
    const stated = { traceId, attributedService: 'search' }
    const batch = batchOf('a', [
      own(1, 0, { ...stated, eventTimeMs: NOW_MS }),
      own(2, 1, { ...stated, eventTimeMs: NOW_MS + 5 }),
      own(3, 2, { traceId, attributedService: 'other', eventTimeMs: NOW_MS }),
      own(4, 3, { traceId }),
      { ...event(5, 4, { traceId }), principal: 'key_default' },
      own(6, 5, { attributedService: 'search' }),
    ])

    const dispositions = await handle(batch)

    expect(kindsOf(dispositions)).toEqual(['resolved', 'resolved', 'resolved', 'hand_on', 'hand_on', 'resolved'])
    expect(factsOf?.(batch)).toMatchObject([
      { traceId, service: 'search', owner: 'team-search', fromMs: NOW_MS, toMs: NOW_MS + 5 },
      { traceId, service: 'other', fromMs: NOW_MS, toMs: NOW_MS },
    ])
  })

  test('a repeat tells its trace nothing', async () => {
    const { handle, factsOf } = await open()
    const batch = batchOf('a', [own(1, 0), own(1, 1, { traceId: 'trace-1', attributedService: 'search' })])

    await handle(batch)

    expect(factsOf?.(batch)).toEqual([])
  })

  test('stage A fails an event whose rule throws, and continues with the rest', async () => {
    const { handle } = await open()
    const stated = { attributedService: 'search' }

    const dispositions = await handle(
      batchOf('a', [own(1, 0, stated), own(2, 1, { ...stated, provider: 'broken' }), own(3, 2, stated)]),
    )

    expect(kindsOf(dispositions)).toEqual(['resolved', 'failed', 'resolved'])
    expect(dispositions[1]).toEqual({ kind: 'failed', reason: 'rule_failed: Error' })
  })
})
