import { describe, expect, test } from 'vitest'
import { type TraceFact, Traces, traceName } from '../../../../../internal/attribution/stages/a/traces.js'

const traces = (options: Partial<ConstructorParameters<typeof Traces>[0]> = {}) =>
  new Traces<string>({ windowMs: 100, tracesMax: 10, openEventsMax: 3, openEventsOfAllMax: 10, ...options })
const fact = (service: string, stated: Partial<TraceFact> = {}): TraceFact => ({
  service,
  owner: `team-${service}`,
  confidence: 9_000,
  strength: 4,
  ...stated,
})

describe('a trace', () => {
  test('a trace has the one service of its events, with the highest confidence among them', () => {
    const known = traces()
    known.learn('t', fact('search', { confidence: 7_000 }), 0)
    known.learn('t', fact('search'), 1)

    expect(known.correlate('t', 1)).toEqual({
      kind: 'one_service',
      service: 'search',
      owner: 'team-search',
      confidence: 9_000,
      strength: 4,
    })
    expect(known.correlate('another', 1)).toEqual({ kind: 'none' })
  })

  test('a trace has no owner if its events have different owners', () => {
    const known = traces()
    known.learn('t', fact('search', { owner: 'ada' }), 0)
    known.learn('t', fact('search', { owner: 'bob' }), 0)

    expect(known.correlate('t', 0)).toMatchObject({ service: 'search', owner: undefined })
  })

  test('a trace with several services is contested until all but one have left the window', () => {
    const known = traces()
    known.learn('t', fact('search'), 0)
    known.learn('t', fact('chat'), 50)

    expect(known.correlate('t', 100)).toEqual({ kind: 'contested' })
    expect(known.correlate('t', 101)).toMatchObject({ service: 'chat' })
    expect(known.correlate('t', 151)).toEqual({ kind: 'none' })
  })

  test('a credential’s default service counts only if no event of the trace states a service', () => {
    const known = traces()
    known.learn('t', fact('batch', { strength: 1 }), 0)
    expect(known.correlate('t', 0)).toMatchObject({ service: 'batch', strength: 1 })

    known.learn('t', fact('nightly', { strength: 1 }), 0)
    expect(known.correlate('t', 0)).toEqual({ kind: 'contested' })

    known.learn('t', fact('search'), 0)
    expect(known.correlate('t', 0)).toMatchObject({ service: 'search', strength: 4 })
  })
})

describe('memory limits of traces', () => {
  test('each open event is kept once, within the window and up to the limit per trace', () => {
    const known = traces()
    for (const id of ['a', 'b', 'c', 'd']) known.keepOpen('t', id, id, 0)
    known.keepOpen('t', 'a', 'a again', 10)
    known.replaceOpen('t', 'b', 'b again')
    known.replaceOpen('t', 'd', 'never kept')

    expect([...known.openEvents('t', 100)]).toEqual([
      ['a', 'a again'],
      ['b', 'b again'],
      ['c', 'c'],
    ])
    expect([...known.openEvents('t', 101)]).toEqual([['a', 'a again']])
  })

  test('beyond the maximum number of traces, the traces idle for longest are evicted', () => {
    const known = traces({ tracesMax: 2 })
    known.learn('one', fact('search'), 0)
    known.learn('two', fact('search'), 0)
    known.learn('one', fact('search'), 1)
    known.learn('three', fact('search'), 1)

    expect(known.size).toBe(2)
    expect(known.correlate('two', 1)).toEqual({ kind: 'none' })
    expect(known.correlate('one', 1)).toMatchObject({ service: 'search' })
  })

  test('beyond the maximum number of open events, the traces idle for longest are evicted', () => {
    const known = traces({ openEventsOfAllMax: 3 })
    for (const trace of ['one', 'two', 'three']) known.keepOpen(trace, 'a', trace, 0)
    known.keepOpen('one', 'a', 'again', 1)
    known.keepOpen('one', 'b', 'another', 1)
    known.learn('one', fact('search'), 1)

    expect(known.size).toBe(2)
    expect([...known.openEvents('two', 1)]).toEqual([])
    expect([...known.openEvents('one', 1)].map(([id]) => id)).toEqual(['a', 'b'])
  })

  test('a trace idle for longer than the window is evicted', () => {
    const known = traces()
    for (const trace of ['one', 'two', 'three']) known.learn(trace, fact('search'), 0)
    known.keepOpen('two', 'a', 'a', 50)
    known.learn('four', fact('search'), 101)

    expect(known.size).toBe(2)
    expect([...known.openEvents('two', 101)]).toEqual([['a', 'a']])
  })

  test('a full trace accepts a new service when its earlier services have left the window', () => {
    const known = traces()
    for (let i = 0; i < 20; i++) known.learn('t', fact(`service-${i}`), 0)
    known.learn('t', fact('search'), 101)

    expect(known.correlate('t', 101)).toMatchObject({ kind: 'one_service', service: 'search' })
  })
})

test('equal trace ids of two tenants are different traces', () => {
  expect(traceName('tnt_one', 't')).not.toBe(traceName('tnt_two', 't'))
})
