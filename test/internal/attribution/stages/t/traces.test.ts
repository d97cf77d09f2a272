import { describe, expect, test } from 'vitest'
import { type TraceFact, Traces, traceName } from '../../../../../internal/attribution/stages/t/traces.js'

const traces = (options: Partial<ConstructorParameters<typeof Traces>[0]> = {}) =>
  new Traces<string>({ windowMs: 100, tracesMax: 10, openEventsMax: 3, openEventsOfAllMax: 10, ...options })
const fact = (service: string, stated: Partial<TraceFact> = {}): TraceFact => ({
  service,
  owner: `team-${service}`,
  confidence: 9_000,
  strength: 4,
  ...stated,
})

/** An event that arrives when it happens. */
const at = (atMs: number) => ({ atMs, eventTimeMs: atMs })

describe('a trace', () => {
  test('a trace has the one service of its events, with the highest confidence among them', () => {
    const known = traces()
    known.learn('t', fact('search', { confidence: 7_000 }), at(0))
    known.learn('t', fact('search'), at(1))

    expect(known.correlate('t', at(1))).toEqual({
      kind: 'one_service',
      service: 'search',
      owner: 'team-search',
      confidence: 9_000,
      strength: 4,
    })
    expect(known.correlate('another', at(1))).toEqual({ kind: 'none' })
  })

  test('a trace has no owner if its events have different owners', () => {
    const known = traces()
    known.learn('t', fact('search', { owner: 'ada' }), at(0))
    known.learn('t', fact('search', { owner: 'bob' }), at(0))

    expect(known.correlate('t', at(0))).toMatchObject({ service: 'search', owner: undefined })
  })

  test('a trace with several services is contested until all but one have left the window', () => {
    const known = traces()
    known.learn('t', fact('search'), at(0))
    known.learn('t', fact('chat'), at(50))

    expect(known.correlate('t', at(100))).toEqual({ kind: 'contested', services: ['chat', 'search'] })
    expect(known.correlate('t', at(101))).toMatchObject({ service: 'chat' })
    expect(known.correlate('t', at(151))).toEqual({ kind: 'none' })
  })

  test('events that arrive together but happened far apart say nothing about each other', () => {
    const known = traces({ windowMs: 100_000 })
    known.learn('t', fact('search'), { atMs: 0, eventTimeMs: -1_000_000 })
    known.learn('t', fact('chat'), at(0))

    expect(known.correlate('t', { atMs: 0, eventTimeMs: -1_100_000 })).toMatchObject({ service: 'search' })
    expect(known.correlate('t', { atMs: 0, eventTimeMs: -1_100_001 })).toEqual({ kind: 'none' })
    expect(known.correlate('t', at(0))).toMatchObject({ service: 'chat' })
  })

  test('an event reaches as far as those between, in whatever order they come', () => {
    for (const times of [
      [0, 90_000, 180_000],
      [0, 180_000, 90_000],
    ]) {
      const known = traces({ windowMs: 100_000 })
      for (const eventTimeMs of times) known.learn('t', fact('search'), { atMs: 0, eventTimeMs })

      for (const eventTimeMs of [-100_000, 90_000, 280_000]) {
        expect(known.correlate('t', { atMs: 0, eventTimeMs })).toMatchObject({ service: 'search', confidence: 9_000 })
      }
      expect(known.correlate('t', { atMs: 0, eventTimeMs: 280_001 })).toEqual({ kind: 'none' })
    }
  })

  test('a credential’s default service counts only if no event of the trace states a service', () => {
    const known = traces()
    known.learn('t', fact('batch', { strength: 1 }), at(0))
    expect(known.correlate('t', at(0))).toMatchObject({ service: 'batch', strength: 1 })

    known.learn('t', fact('nightly', { strength: 1 }), at(0))
    expect(known.correlate('t', at(0))).toEqual({ kind: 'contested', services: ['batch', 'nightly'] })

    known.learn('t', fact('search'), at(0))
    expect(known.correlate('t', at(0))).toMatchObject({ service: 'search', strength: 4 })
  })
})

describe('memory limits of traces', () => {
  test('each open event is kept once, within the window and up to the limit per trace', () => {
    const known = traces()
    for (const id of ['a', 'b', 'c', 'd']) known.keepOpen('t', id, id, at(0))
    known.keepOpen('t', 'a', 'a again', at(10))
    known.replaceOpen('t', 'b', 'b again')
    known.replaceOpen('t', 'd', 'never kept')

    expect([...known.openEvents('t', 100)]).toEqual([
      ['a', 'a again', 0],
      ['b', 'b again', 0],
      ['c', 'c', 0],
    ])
    expect([...known.openEvents('t', 101)]).toEqual([['a', 'a again', 0]])
  })

  test('beyond the maximum number of traces, the traces idle for longest are evicted', () => {
    const known = traces({ tracesMax: 2 })
    known.learn('one', fact('search'), at(0))
    known.learn('two', fact('search'), at(0))
    known.learn('one', fact('search'), at(1))
    known.learn('three', fact('search'), at(1))

    expect(known.size).toBe(2)
    expect(known.correlate('two', at(1))).toEqual({ kind: 'none' })
    expect(known.correlate('one', at(1))).toMatchObject({ service: 'search' })
  })

  test('beyond the maximum number of open events, the traces idle for longest are evicted', () => {
    const known = traces({ openEventsOfAllMax: 3 })
    for (const trace of ['one', 'two', 'three']) known.keepOpen(trace, 'a', trace, at(0))
    known.keepOpen('one', 'a', 'again', at(1))
    known.keepOpen('one', 'b', 'another', at(1))
    known.learn('one', fact('search'), at(1))

    expect(known.size).toBe(2)
    expect([...known.openEvents('two', 1)]).toEqual([])
    expect([...known.openEvents('one', 1)].map(([id]) => id)).toEqual(['a', 'b'])
  })

  test('a trace idle for longer than the window is evicted', () => {
    const known = traces()
    for (const trace of ['one', 'two', 'three']) known.learn(trace, fact('search'), at(0))
    known.keepOpen('two', 'a', 'a', at(50))
    known.learn('four', fact('search'), at(101))

    expect(known.size).toBe(2)
    expect([...known.openEvents('two', 101)]).toEqual([['a', 'a', 0]])
  })

  test('a full trace accepts a new service when its earlier services have left the window', () => {
    const known = traces()
    for (let i = 0; i < 20; i++) known.learn('t', fact(`service-${i}`), at(0))
    known.learn('t', fact('search'), at(101))

    expect(known.correlate('t', at(101))).toMatchObject({ kind: 'one_service', service: 'search' })
  })
})

test('equal trace ids of two tenants are different traces', () => {
  expect(traceName('tnt_one', 't')).not.toBe(traceName('tnt_two', 't'))
})
