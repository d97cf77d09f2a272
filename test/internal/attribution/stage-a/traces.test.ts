import { describe, expect, test } from 'vitest'
import { type TraceFact, Traces, traceName } from '../../../../internal/attribution/stage-a/traces.js'

const traces = (options: Partial<ConstructorParameters<typeof Traces>[0]> = {}) =>
  new Traces<string>({ windowMs: 100, tracesMax: 10, openEventsMax: 3, ...options })
const fact = (service: string, stated: Partial<TraceFact> = {}): TraceFact => ({
  service,
  owner: `team-${service}`,
  confidence: 9_000,
  isStated: true,
  ...stated,
})

describe('a trace', () => {
  test('is of the one service that its events were resolved to, as sure as the surest of them', () => {
    const known = traces()
    known.learn('t', fact('search', { confidence: 7_000 }), 0)
    known.learn('t', fact('search'), 1)

    expect(known.correlate('t', 1)).toEqual({
      kind: 'one_service',
      service: 'search',
      owner: 'team-search',
      confidence: 9_000,
      isStated: true,
    })
    expect(known.correlate('another', 1)).toEqual({ kind: 'nothing' })
  })

  test('has no owner when its events do not agree on one', () => {
    const known = traces()
    known.learn('t', fact('search', { owner: 'ada' }), 0)
    known.learn('t', fact('search', { owner: 'bob' }), 0)

    expect(known.correlate('t', 0)).toMatchObject({ service: 'search', owner: undefined })
  })

  test('of several services is contested, until all but one lie outside the window', () => {
    const known = traces()
    known.learn('t', fact('search'), 0)
    known.learn('t', fact('chat'), 50)

    expect(known.correlate('t', 100)).toEqual({ kind: 'contested' })
    expect(known.correlate('t', 101)).toMatchObject({ service: 'chat' })
    expect(known.correlate('t', 151)).toEqual({ kind: 'nothing' })
  })

  test('what a credential stands for counts only where nothing was stated', () => {
    const known = traces()
    known.learn('t', fact('batch', { isStated: false }), 0)
    expect(known.correlate('t', 0)).toMatchObject({ service: 'batch', isStated: false })

    known.learn('t', fact('nightly', { isStated: false }), 0)
    expect(known.correlate('t', 0)).toEqual({ kind: 'contested' })

    known.learn('t', fact('search'), 0)
    expect(known.correlate('t', 0)).toMatchObject({ service: 'search', isStated: true })
  })
})

describe('what is remembered', () => {
  test('is an open event within the window, once, and as many as there may be', () => {
    const known = traces()
    for (const id of ['a', 'b', 'c', 'd']) known.keepOpen('t', id, id, 0)
    known.keepOpen('t', 'a', 'a again', 10)
    known.replaceOpen('t', 'b', 'b again')
    known.replaceOpen('t', 'd', 'never kept')

    expect([...known.openEvents('t', 100)]).toEqual(['a again', 'b again', 'c'])
    expect([...known.openEvents('t', 101)]).toEqual(['a again'])
  })

  test('is so many traces, those that rested longest being forgotten', () => {
    const known = traces({ tracesMax: 2 })
    known.learn('one', fact('search'), 0)
    known.learn('two', fact('search'), 0)
    known.learn('one', fact('search'), 1)
    known.learn('three', fact('search'), 1)

    expect(known.size).toBe(2)
    expect(known.correlate('two', 1)).toEqual({ kind: 'nothing' })
    expect(known.correlate('one', 1)).toMatchObject({ service: 'search' })
  })
})

test('equal trace ids of two tenants are two traces', () => {
  expect(traceName('tnt_one', 't')).not.toBe(traceName('tnt_two', 't'))
})
