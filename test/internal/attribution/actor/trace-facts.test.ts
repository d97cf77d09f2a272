import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isCorrection } from '../../../../internal/attribution/actor/corrections.js'
import {
  decodeTraceFacts,
  isTraceFacts,
  type LearnedFact,
  traceFactMessages,
} from '../../../../internal/attribution/actor/trace-facts.js'
import { GROUP_BYTES_MAX } from '../../../../streams/invocations.js'
import { NOW_MS } from '../../../support/invocations.js'

const FACT: LearnedFact = {
  tenantId: 'tnt_one',
  traceId: 'trace "1"',
  service: 'such’ \n',
  owner: undefined,
  confidence: 9_000,
  strength: 5,
  fromMs: NOW_MS - 5,
  toMs: NOW_MS,
}

test('facts come back as they were told, however many they are, and in their order', () => {
  const drawn = fc.record({
    tenantId: fc.string(),
    traceId: fc.string(),
    service: fc.string(),
    owner: fc.option(fc.string(), { nil: undefined }),
    confidence: fc.nat(10_000),
    strength: fc.nat(5),
    fromMs: fc.nat(),
    toMs: fc.nat(),
  })
  fc.assert(
    fc.property(fc.array(drawn, { maxLength: 30 }), fc.constantFrom(1, 200), (some, times) => {
      const facts = Array.from({ length: times }, () => some).flat()
      const messages = traceFactMessages('a3.17', facts)

      expect(messages.flatMap(({ data }) => decodeTraceFacts(data))).toEqual(facts)
    }),
    { numRuns: 50 },
  )
  expect(traceFactMessages('a3.17', [])).toEqual([])
})

test('however long the names are, each message is small enough for every broker', () => {
  const name = '"\\'.repeat(128)
  const facts = Array.from({ length: 2_000 }, (_, i): LearnedFact => {
    return { ...FACT, traceId: `${name}${i}`, service: name, owner: name, fromMs: FACT.fromMs + i }
  })

  const messages = traceFactMessages('a3.17', facts)

  expect(messages.length).toBeGreaterThan(2)
  expect(Math.max(...messages.map(({ data }) => data.length))).toBeLessThanOrEqual(GROUP_BYTES_MAX)
  expect(messages.flatMap(({ data }) => decodeTraceFacts(data))).toEqual(facts)
})

test('a message is named by its batch and its content, as a repeat of the batch names it', () => {
  const ids = (source: string, ...facts: LearnedFact[]) => traceFactMessages(source, facts).map(({ id }) => id)

  expect(ids('a3.17', FACT)).toEqual(ids('a3.17', { ...FACT }))
  expect(ids('a3.17', FACT)).not.toEqual(ids('a3.17', { ...FACT, service: 'other' }))
  expect(ids('a3.17', FACT)).not.toEqual(ids('a3.18', FACT))
  const [id = ''] = ids('a3.17', FACT)
  expect([isTraceFacts(id), isCorrection(id), isTraceFacts('correct.a3.17.00'), isTraceFacts('hand.a0.1.0')]).toEqual([
    true,
    false,
    false,
    false,
  ])
})

test.each([
  ['no JSON', 'x'],
  ['an array', '[]'],
  ['a text that is none', JSON.stringify({ facts: [['tnt_one', 'trace', 1, null, 1, 1, 1, 1]] })],
  ['a number that is none', JSON.stringify({ facts: [['tnt_one', 'trace', 'search', null, 1, 1, '1', 1]] })],
  ['a fact that is cut off', JSON.stringify({ facts: [['tnt_one', 'trace', 'search', null, 1, 1, 1]] })],
])('bytes that are no facts are poison: %s', (_, text) => {
  expect(() => decodeTraceFacts(Buffer.from(text))).toThrow()
})
