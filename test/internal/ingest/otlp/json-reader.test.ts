import fc from 'fast-check'
import { expect, test } from 'vitest'
import { JsonReader } from '../../../../internal/ingest/otlp/json-reader.js'
import { MalformedRequest } from '../../../../internal/ingest/otlp/malformed.js'
import { drawn } from '../../../support/run/rings.js'

const refusal = (text: string): string | undefined => {
  const json = new JsonReader(Buffer.from(text))
  try {
    json.skip()
    if (json.blanks() < json.bytes.length) return 'more follows'
  } catch (cause) {
    if (cause instanceof MalformedRequest) return cause.message.replace('The body is not valid JSON: ', '')
    throw cause
  }
  return undefined
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

test('what is skipped is as valid as JSON.parse finds it', () => {
  const mutated = fc
    .tuple(fc.json({ maxDepth: 4 }), fc.nat(), fc.constantFrom('', ...'{}[]",:\\0e.-+ u\u0001\n'))
    .map(([text, at, insert]) => {
      const offset = at % (text.length + 1)
      return text.slice(0, offset) + insert + text.slice(offset + (at % 2))
    })
  fc.assert(
    fc.property(fc.oneof(fc.json(), mutated), (text) => {
      expect(refusal(text) === undefined).toBe(isJson(text))
    }),
    { numRuns: drawn(1_000) },
  )
})

test.each([
  ['{"a":1', 'at byte 6, the text ends too early.'],
  ['{"a":1}}', 'more follows'],
  ['{"a" 1}', 'at byte 5, a colon is missing.'],
  ['[1 2]', 'at byte 3, a comma or closing bracket is missing.'],
  ['{a:1}', 'at byte 1, a string is expected.'],
  ['[01]', 'at byte 1, a value is expected.'],
  ['[nul]', 'at byte 1, a value is unknown.'],
  ['["\\x"]', 'at byte 3, a string has an invalid escape.'],
  ['["\t"]', 'at byte 2, a string has a control character.'],
  [`${'['.repeat(65)}${']'.repeat(65)}`, 'at byte 64, it is nested more than 64 deep.'],
])('%s is refused', (text, message) => {
  expect(refusal(text)).toBe(message)
})

test('ten million brackets cost no memory', () => {
  const bytes = Buffer.alloc(10_000_000, '[')
  const before = process.memoryUsage().heapUsed

  expect(() => new JsonReader(bytes).skip()).toThrow('it is nested more than 64 deep')
  expect(process.memoryUsage().heapUsed - before).toBeLessThan(1_000_000)
})

const unicodeEscape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`

test('a text is read up to the length of what it stands for, however it is escaped', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 30 }), (text) => {
      const length = Buffer.byteLength(text)
      const escaped = text.split('').map(unicodeEscape).join('')

      for (const bytes of [JSON.stringify(text), `"${escaped}"`].map((json) => Buffer.from(json))) {
        expect(new JsonReader(bytes).text(length)).toBe(text)
        expect(new JsonReader(bytes).text(length - 1)).toBeUndefined()
      }
    }),
  )
})

test.each([
  ['12', 12],
  ['"12"', 12],
  ['-1.5e3', -1500],
  ['true', true],
  ['"NaN"', undefined],
  ['"twelve"', undefined],
  ['{"a":1}', undefined],
])('the number in %s is %s', (text, value) => {
  const json = new JsonReader(Buffer.from(`${text} `))

  expect(json.scalarValue()).toBe(value)
  expect(json.at).toBe(text.length)
})
