import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { costOf, type SentEvent, serialOf } from '../support/faults/calls.js'
import { type Facts, violationsOf } from '../support/faults/checker.js'
import { describeFault, type ScheduleOptions, scheduleOf } from '../support/faults/schedule.js'

/** The parts of the random faults that start no process: the schedule, and the check, which must find what is wrong. */

const OPTIONS: ScheduleOptions = {
  durationMs: 300_000,
  gapMs: [1_000, 5_000],
  lengthMs: [500, 4_000],
  partitions: 4,
}

describe('the schedule', () => {
  test('the same seed gives the same faults, and another one others', () => {
    expect(scheduleOf('one', OPTIONS)).toEqual(scheduleOf('one', OPTIONS))
    expect(scheduleOf('one', OPTIONS)).not.toEqual(scheduleOf('two', OPTIONS))
  })

  test('faults are in order, with pauses within their bounds, and over by the end', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 0, max: 600_000 }), (seed, durationMs) => {
        const faults = scheduleOf(seed, { ...OPTIONS, durationMs })
        const pauses = faults.map(({ atMs }, i) => atMs - (faults[i - 1]?.atMs ?? 0))
        const ends = faults.map((fault) => fault.atMs + ('ms' in fault ? fault.ms : 0))

        expect(pauses.every((ms) => ms >= 1_000 && ms <= 5_000)).toBe(true)
        expect(ends.every((ms) => ms <= durationMs)).toBe(true)
      }),
    )
  })

  test('no kind happens again before every kind has happened', () => {
    fc.assert(
      fc.property(fc.string(), (seed) => {
        const kinds = scheduleOf(seed, OPTIONS).map(({ kind }) => kind)
        const round = kinds.slice(0, 13)

        expect(new Set(round).size).toBe(11)
        expect(round.filter((kind) => kind === 'role killed')).toHaveLength(3)
      }),
    )
  })

  test('a fault is described on one line', () => {
    const fault = { kind: 'brokers parted', between: [0, 2], trouble: 'held', ms: 700, atMs: 12_345 } as const

    expect(describeFault(fault)).toBe('  12.3 s  brokers parted, between 0-2, trouble held, ms 700')
  })
})

test('the serial of an event is read from its cost, and from no other', () => {
  fc.assert(fc.property(fc.integer({ min: 1, max: 999_999 }), (serial) => serialOf(costOf(serial)) === serial))

  expect(serialOf('0.000021')).toBe(0)
  expect(serialOf('0.0000210000001')).toBeUndefined()
  expect(serialOf('1.000021000001')).toBeUndefined()
})

describe('the check', () => {
  const event = (serial: number, tenant: number, stated: Partial<SentEvent> = {}): SentEvent => ({
    ...{ serial, tenant, eventId: `event-${serial}`, costUsd: costOf(serial), told: new Set([`inv_${serial}`]) },
    ...{ isUnclear: false, history: [], ...stated },
  })
  const record = (serial: number) => ({
    id: `attr_${serial}`,
    invocation_id: `inv_${serial}`,
    cost_usd: costOf(serial),
  })
  /** Two tenants: the first has events 1 and 2, the second event 3. */
  const sound: Facts = {
    events: [event(1, 0), event(2, 0), event(3, 1)],
    unexpected: [],
    shown: [
      {
        tenantId: 'tnt_a',
        records: [record(1), record(2)],
        report: { count: 2, costUsd: '0.000042000003' },
        exported: { count: 2, costUsd: '0.000042000003' },
      },
      {
        tenantId: 'tnt_b',
        records: [record(3)],
        report: { count: 1, costUsd: '0.000021000003' },
        exported: { count: 1, costUsd: '0.000021000003' },
      },
    ],
    walks: [{ tenant: 0, costs: [costOf(1), costOf(2)], before: new Set([costOf(1)]) }],
    webhooks: {
      tenants: [0],
      delivered: [1, 2, 2].map((serial) => ({ tenant: 0, tenantId: 'tnt_a', costUsd: costOf(serial) })),
    },
    poisons: { sent: 1, quarantined: 1 },
  }
  const [first, second] = sound.shown as [Facts['shown'][number], Facts['shown'][number]]
  const found = (changed: Partial<Facts>) => violationsOf({ ...sound, ...changed })
  const withEvents = (events: readonly SentEvent[]) => found({ events })

  test('finds nothing where all holds, also with an unclear event that has a record or none', () => {
    expect(found({})).toEqual([])
    expect(withEvents([event(1, 0), event(2, 0, { told: new Set(), isUnclear: true }), event(3, 1)])).toEqual([])
    expect(
      withEvents([
        ...sound.events,
        event(4, 1, { told: new Set(), isUnclear: true }),
        event(5, 1, { told: new Set() }),
      ]),
    ).toEqual([])
  })

  test('finds an accepted event without a record', () => {
    expect(withEvents([...sound.events, event(4, 1)])).toEqual([
      expect.stringMatching(/^a 202 and no record: event event-4/),
    ])
  })

  test('finds two records of one event', () => {
    const again = { ...record(3), id: 'attr_9', invocation_id: 'inv_9' }
    const total = { count: 2, costUsd: '0.000042000006' }

    expect(
      found({ shown: [first, { ...second, records: [record(3), again], report: total, exported: total }] }),
    ).toEqual([expect.stringMatching(/^2 records \(inv_3,inv_9\): event event-3/)])
  })

  test('finds a record of an event that was refused for sure, and one of no event', () => {
    expect(withEvents([event(1, 0), event(2, 0), event(3, 1, { told: new Set() })])).toEqual([
      expect.stringMatching(/^a record and no 202 \(inv_3\)/),
    ])
    expect(found({ events: sound.events.slice(0, 2) })).toEqual([expect.stringMatching(/^a record of no event/)])
  })

  test('finds a record with another id than the answers gave, and answers that differ', () => {
    expect(withEvents([event(1, 0), event(2, 0), event(3, 1, { told: new Set(['inv_8']) })])).toEqual([
      expect.stringMatching(/^record of another id \(inv_3\)/),
    ])
    expect(withEvents([event(1, 0), event(2, 0), event(3, 1, { told: new Set(['inv_3', 'inv_8']) })])).toEqual([
      expect.stringMatching(/^several invocation ids/),
    ])
  })

  test('finds a record of one tenant that another one is shown, in its list, in a walk and at its endpoint', () => {
    const walk = { tenant: 1, costs: [costOf(1)], before: new Set<string>() }
    const delivered = [...sound.webhooks.delivered, { tenant: 0, tenantId: 'tnt_b', costUsd: costOf(3) }]

    expect(found({ events: [event(1, 0), event(2, 0), event(3, 0, { told: new Set(), isUnclear: true })] })).toEqual([
      expect.stringMatching(/^tenant 1 has a record of another: event event-3/),
    ])
    expect(found({ walks: [walk] })).toEqual([`walk 0 of tenant 1 shows ${costOf(1)} of another`])
    expect(found({ webhooks: { tenants: [0], delivered } })).toEqual([
      `the endpoint of tenant 0 got ${costOf(3)} of tnt_b`,
    ])
  })

  test('finds totals that differ in the last digit or by one call', () => {
    const report = { count: 1, costUsd: '0.000021000004' }
    const exported = { count: 2, costUsd: '0.000021000003' }

    expect(found({ shown: [first, { ...second, report }] })).toEqual([
      'tnt_b: the report has 1 calls, 0.000021000004 USD; the records 1, 0.000021000003',
    ])
    expect(found({ shown: [first, { ...second, exported }] })).toHaveLength(1)
  })

  test('finds a record twice in a walk, and one that was shown before and is missing', () => {
    const [twice, missing] = [[costOf(1), costOf(2), costOf(1)], [costOf(2)]]

    expect(found({ walks: [{ tenant: 0, costs: twice, before: new Set() }] })).toEqual([
      `walk 0 shows records twice: ${costOf(1)}`,
    ])
    expect(found({ walks: [{ tenant: 0, costs: missing, before: new Set([costOf(1)]) }] })).toEqual([
      `walk 0 lacks 1 earlier records: ${costOf(1)}`,
    ])
  })

  test('finds a webhook that never came, and an undecodable message that is not in quarantine', () => {
    const delivered = sound.webhooks.delivered.slice(0, 1)

    expect(found({ webhooks: { tenants: [0], delivered } })).toEqual([
      expect.stringMatching(/^no webhook of 0.000021000002: event event-2/),
    ])
    expect(found({ poisons: { sent: 2, quarantined: 1 } })).toEqual([
      '2 undecodable messages in the log, 1 in quarantine',
    ])
  })
})
