import fc from 'fast-check'
import { expect, test } from 'vitest'
import { FULL, InFlight, type Outcome, type Ticket, WAITS } from '../../../../internal/ingest/keys/in-flight.js'
import { drawn } from '../../../support/run/rings.js'
import { fingerprintOf, keyOf } from './keys.js'

const overdue = (): void => {
  throw new Error('nothing was asked for')
}

/** A table with the outcomes that its callers received, in order. */
function inFlight(options: { keysMax?: number; waitingMax?: number } = {}) {
  const table = new InFlight<string>({ keysMax: 8, waitingMax: 100, clock: () => 0, ...options })
  const outcomes: [string, Outcome<string>][] = []
  const begin = (key: number, body: number, name = ''): Ticket =>
    table.begin(keyOf(key), fingerprintOf(body), { onOutcome: (outcome) => outcomes.push([name, outcome]), overdue })
  return { table, outcomes, begin }
}

test('the first request of each key proceeds, and again once it is settled', () => {
  const { table, outcomes, begin } = inFlight()

  const one = begin(1, 1)
  const two = begin(2, 1)
  table.settle(one, true, 'done')
  const again = begin(1, 1)

  expect(new Set([one, two, again]).size).toBe(3)
  expect(Math.min(one, two, again)).toBeGreaterThanOrEqual(0)
  expect(table.keys).toBe(2)
  expect(outcomes).toEqual([])
})

test('when the first is admitted, equal ones get a replay and others a conflict, in their order', () => {
  const { table, outcomes, begin } = inFlight()
  const first = begin(1, 1)

  const waiting = [begin(1, 1, 'b'), begin(1, 2, 'c'), begin(1, 1, 'd'), begin(1, 3, 'e')]
  expect([waiting, outcomes]).toEqual([[WAITS, WAITS, WAITS, WAITS], []])
  table.settle(first, true, '202')

  expect(outcomes).toEqual([
    ['b', { kind: 'replay', answer: '202' }],
    ['c', { kind: 'conflict' }],
    ['d', { kind: 'replay', answer: '202' }],
    ['e', { kind: 'conflict' }],
  ])
  expect([table.keys, table.waiting]).toEqual([0, 0])
})

test('when the first is not admitted, equal ones are refused too and the first of the others takes its place', () => {
  const { table, outcomes, begin } = inFlight()
  const first = begin(1, 1)
  for (const [body, name] of [
    [1, 'b'],
    [2, 'c'],
    [3, 'd'],
    [2, 'e'],
    [1, 'f'],
  ] as const) {
    begin(1, body, name)
  }

  table.settle(first, false, '503')

  expect(outcomes.slice(0, 2)).toEqual([
    ['b', { kind: 'refused', answer: '503' }],
    ['f', { kind: 'refused', answer: '503' }],
  ])
  const [name, outcome] = outcomes[2] ?? []
  expect([name, outcome?.kind, outcomes.length]).toEqual(['c', 'proceed', 3])
  if (outcome?.kind !== 'proceed') throw new Error('c does not proceed')

  expect(begin(1, 2, 'g')).toBe(WAITS)
  table.settle(outcome.ticket, true, '202')
  expect(outcomes.slice(3)).toEqual([
    ['d', { kind: 'conflict' }],
    ['e', { kind: 'replay', answer: '202' }],
    ['g', { kind: 'replay', answer: '202' }],
  ])
  expect([table.keys, table.waiting]).toEqual([0, 0])
})

test('a ticket is settled once', () => {
  const { table, begin } = inFlight({ keysMax: 1 })
  const first = begin(1, 1)
  begin(1, 2)
  table.settle(first, false, '') // the second request has the key now

  expect(() => table.settle(first, true, '')).toThrow(RangeError)
  expect(table.keys).toBe(1)
})

test('keys and waiting requests are bounded, and what was refused for that is forgotten', () => {
  const { table, outcomes, begin } = inFlight({ keysMax: 2, waitingMax: 2 })
  const first = begin(1, 1)
  begin(2, 1)

  expect(begin(3, 1)).toBe(FULL)
  expect([begin(1, 1, 'a'), begin(2, 1, 'b'), begin(1, 1, 'c')]).toEqual([WAITS, WAITS, FULL])
  table.settle(first, true, '')

  expect(outcomes.map(([name]) => name)).toEqual(['a'])
  expect(begin(3, 1)).toBeGreaterThanOrEqual(0)
  expect(begin(2, 2, 'd')).toBe(WAITS)
})

test('ten thousand waiting requests that each fail at once are settled one after the other, without recursion', () => {
  const table = new InFlight<number>({ keysMax: 1, waitingMax: 10_000, clock: () => 0 })
  const order: number[] = []
  const first = table.begin(keyOf(1), fingerprintOf(0), { onOutcome: () => undefined, overdue })
  for (let i = 1; i <= 10_000; i++) {
    table.begin(keyOf(1), fingerprintOf(i), {
      onOutcome(outcome) {
        order.push(i)
        if (outcome.kind === 'proceed') table.settle(outcome.ticket, false, i)
      },
      overdue,
    })
  }

  table.settle(first, false, 0)

  expect(order).toEqual(Array.from({ length: 10_000 }, (_, i) => i + 1))
  expect([table.keys, table.waiting]).toEqual([0, 0])
})

test('a callback that throws does not leave the others waiting', () => {
  const { table, outcomes, begin } = inFlight()
  const first = begin(1, 1)
  table.begin(keyOf(1), fingerprintOf(1), {
    onOutcome() {
      throw new Error('gone')
    },
    overdue,
  })
  begin(1, 1, 'b')

  expect(() => table.settle(first, true, '202')).toThrow('gone')

  expect(outcomes).toEqual([['b', { kind: 'replay', answer: '202' }]])
  expect(begin(1, 1)).toBeGreaterThanOrEqual(0)
})

test('in any order of events, one request proceeds per key, each gets one outcome, one body is admitted', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('begin' as const), key: fc.nat(3), body: fc.nat(2) }),
    fc.record({ kind: fc.constant('settle' as const), which: fc.nat(3), isAdmitted: fc.boolean() }),
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      const table = new InFlight<string>({ keysMax: 3, waitingMax: 10, clock: () => 0 })
      const proceeding = new Map<number, { ticket: Ticket; body: number }>()
      const waiting: { id: number; key: number; body: number }[] = []
      const admitted = new Map<number, number>()
      let ids = 0

      for (const event of steps) {
        if (event.kind === 'begin') {
          const { key, body } = event
          if (admitted.has(key)) continue // the index would have answered
          const entry = { id: ids++, key, body }
          const onOutcome = (outcome: Outcome<string>): void => {
            const at = waiting.indexOf(entry)
            if (at === -1) throw new Error('called twice')
            // First in, first out among those of its key that get the same outcome.
            waiting.splice(at, 1)
            if (outcome.kind === 'proceed') {
              if (proceeding.has(key)) throw new Error('two proceed')
              if (waiting.some((other) => other.key === key && other.id < entry.id)) throw new Error('out of turn')
              proceeding.set(key, { ticket: outcome.ticket, body })
            } else if (outcome.kind === 'replay' && admitted.get(key) !== body) throw new Error('false replay')
            else if (outcome.kind === 'conflict' && admitted.get(key) === body) throw new Error('false conflict')
            else if (outcome.kind === 'refused' && outcome.answer !== `${key} ${body}`) throw new Error('not its own')
          }
          const answer = table.begin(keyOf(key), fingerprintOf(body), { onOutcome, overdue })
          const isFull = proceeding.has(key) ? waiting.length >= 10 : proceeding.size >= 3
          if (isFull !== (answer === FULL)) throw new Error('wrong bound')
          if (answer === WAITS) waiting.push(entry)
          if (answer >= 0) proceeding.set(key, { ticket: answer, body })
        } else {
          const entries = [...proceeding]
          const [key, settled] = entries[event.which % Math.max(1, entries.length)] ?? []
          if (key === undefined || settled === undefined) continue
          proceeding.delete(key)
          if (event.isAdmitted) admitted.set(key, settled.body)
          table.settle(settled.ticket, event.isAdmitted, `${key} ${settled.body}`)
        }
        if (table.keys !== proceeding.size || table.waiting !== waiting.length) throw new Error('wrong count')
      }
      for (const { key } of waiting) if (!proceeding.has(key)) throw new Error('waits for nothing')
    }),
    { numRuns: drawn(500) },
  )
})

test('notifyOverdue notifies holder and waiting requests of an overdue key once, and changes nothing else', () => {
  let nowMs = 0
  const table = new InFlight<string>({ keysMax: 8, waitingMax: 8, clock: () => nowMs })
  const outcomes: string[] = []
  const begin = (key: number, body: number, name: string): Ticket =>
    table.begin(keyOf(key), fingerprintOf(body), {
      onOutcome: ({ kind }) => outcomes.push(`${name} ${kind}`),
      overdue: () => outcomes.push(`${name} overdue`),
    })
  const first = begin(1, 1, 'first')
  begin(1, 1, 'equal')
  nowMs = 900
  const young = begin(2, 1, 'young')
  begin(1, 2, 'late')

  table.notifyOverdue(1_000)
  expect(outcomes).toEqual([])
  nowMs = 1_000
  table.notifyOverdue(1_000)
  table.notifyOverdue(1_000)
  expect(outcomes.splice(0)).toEqual(['first overdue', 'equal overdue', 'late overdue'])

  table.settle(first, false, 'gone')
  table.settle(young, true, '202')
  expect(outcomes).toEqual(['equal refused', 'late proceed'])
})
