import { expect, test } from 'vitest'
import {
  type Correction,
  correctionMessages,
  decodeCorrections,
  isCorrection,
} from '../../../../internal/attribution/actor/corrections.js'
import { encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { GROUP_BYTES_MAX } from '../../../../streams/invocations.js'
import { idOf } from '../../../support/invocations.js'
import { CORRELATED } from '../../../support/rows.js'

const correction = (number: number, service = 'search'): Correction => ({
  tenantId: 'tnt_one',
  id: Buffer.from(idOf(number)),
  cause: 'a0.7',
  verdict: { ...CORRELATED, service },
})

test('corrections are decoded as they were encoded, and their messages are not mistaken for events', () => {
  const sent = Array.from({ length: 1_201 }, (_, i) => correction(i))
  const messages = correctionMessages('a0.9', sent)

  expect(messages.every(({ id }) => isCorrection(id))).toBe(true)
  expect(messages.flatMap(({ data }) => decodeCorrections(data))).toEqual(sent)
})

test('however much the verdicts say, each message is small enough for every broker', () => {
  const sent = Array.from({ length: 500 }, (_, i) => correction(i, `${'’'.repeat(1_000)}${i}`))
  const messages = correctionMessages('a0.9', sent)

  expect(messages.length).toBeGreaterThan(1)
  expect(Math.max(...messages.map(({ data }) => data.length))).toBeLessThanOrEqual(GROUP_BYTES_MAX)
  expect(messages.flatMap(({ data }) => decodeCorrections(data))).toEqual(sent)
})

test('equal corrections of a batch have equal message ids; different corrections have different ids', () => {
  const idsOf = (source: string, service?: string) =>
    correctionMessages(source, [correction(1, service)]).map(({ id }) => id)

  expect(idsOf('a0.9')).toEqual(idsOf('a0.9'))
  expect(idsOf('a0.9', 'chat')).not.toEqual(idsOf('a0.9'))
  expect(idsOf('b0.9')).not.toEqual(idsOf('a0.9'))
})

test.each([
  ['invalid JSON', Buffer.from('{')],
  ['events', encodeGroup([])],
  ['a correction without its event', Buffer.from('{"corrections":[{"t":"tnt_one","v":{"service":"x"},"c":"a"}]}')],
])('decoding corrections rejects %s', (_, data) => {
  expect(() => decodeCorrections(data)).toThrow()
})
