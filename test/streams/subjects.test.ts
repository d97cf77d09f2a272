import fc from 'fast-check'
import { expect, test } from 'vitest'
import { invocationsSubject, STAGES } from '../../streams/invocations.js'
import { quarantineSubject } from '../../streams/quarantine.js'
import { escapeToken, unescapeToken } from '../../streams/subjects.js'

const userTexts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 256 }),
  fc.string({ unit: fc.constantFrom('.', '*', '>', ' ', '\t', '\n', '\r', '/', '\\', 'a', 'é', '😀'), maxLength: 64 }),
)

test('unescaping what was escaped gives the same text', () => {
  fc.assert(fc.property(userTexts, (text) => unescapeToken(escapeToken(text)) === text))
})

test('an escaped text holds nothing that parts or widens a subject, nor what a KV key refuses', () => {
  fc.assert(
    fc.property(
      userTexts.filter((text) => text !== ''),
      (text) => {
        expect(escapeToken(text)).toMatch(/^[A-Za-z0-9_-]+$/)
      },
    ),
  )
})

test('two texts never share a token', () => {
  fc.assert(
    fc.property(userTexts, userTexts, (one, other) => (escapeToken(one) === escapeToken(other)) === (one === other)),
  )
})

test('a mailbox is named by stage and partition, a quarantine by stage', () => {
  expect(STAGES.map((stage) => invocationsSubject(stage, 12))).toEqual([
    'invocations.a.12',
    'invocations.b.12',
    'invocations.c.12',
  ])
  expect(STAGES.map(quarantineSubject)).toEqual(['quarantine.a', 'quarantine.b', 'quarantine.c'])
})
