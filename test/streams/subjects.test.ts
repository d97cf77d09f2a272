import fc from 'fast-check'
import { expect, test } from 'vitest'
import { invocationsSubject, STAGES } from '../../streams/invocations.js'
import { quarantineSubject } from '../../streams/quarantine.js'
import { escapeToken, unescapeToken } from '../../streams/subjects.js'

const userTexts = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 256 }),
  fc.string({ unit: fc.constantFrom('.', '*', '>', ' ', '\t', '\n', '\r', '/', '\\', 'a', 'é', '😀'), maxLength: 64 }),
)

test('unescaping an escaped subject token gives the original text', () => {
  fc.assert(fc.property(userTexts, (text) => unescapeToken(escapeToken(text)) === text))
})

test('an escaped subject token has no separators, no wildcards, and only characters that a KV key allows', () => {
  fc.assert(
    fc.property(
      userTexts.filter((text) => text !== ''),
      (text) => {
        expect(escapeToken(text)).toMatch(/^[A-Za-z0-9_-]+$/)
      },
    ),
  )
})

test('two texts never have the same subject token', () => {
  fc.assert(
    fc.property(userTexts, userTexts, (one, other) => (escapeToken(one) === escapeToken(other)) === (one === other)),
  )
})

test('a mailbox subject names the stage and partition, a quarantine subject the reader', () => {
  expect(STAGES.map((stage) => invocationsSubject(stage, 12))).toEqual([
    'invocations.l.12',
    'invocations.a.12',
    'invocations.t.12',
    'invocations.b.12',
    'invocations.c.12',
  ])
  const readers = ['a', 't', 'b', 'c'] as const
  expect(readers.map(quarantineSubject)).toEqual(['quarantine.a', 'quarantine.t', 'quarantine.b', 'quarantine.c'])
})
