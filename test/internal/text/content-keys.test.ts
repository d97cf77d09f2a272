import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isContentKey, screenContent } from '../../../internal/text/content-keys.js'

const KNOWN = new Set(['a', 'b', 'c', 'd'])
const OTHERS = new Set(['b', 'x'])

test('fields are recognised by their schema, regardless of earlier events', () => {
  const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'x', 'y', 'constructor'), { maxLength: 6 })
  const events = fc.array(fc.tuple(keys, fc.constantFrom(KNOWN, OTHERS)), { minLength: 1, maxLength: 8 })

  fc.assert(
    fc.property(events, (all) => {
      for (const [names, known] of all) {
        const event = Object.fromEntries(names.map((name) => [name, 1]))
        const { unknownFields, members } = screenContent(event, known)
        expect([members, unknownFields]).toEqual([names.length, names.filter((name) => !known.has(name)).length])
      }
    }),
  )
})

test('the shortest text of an event is as long as JSON.stringify makes it', () => {
  const counts = fc.oneof(
    fc.integer({ min: 0, max: 2_000_000 }),
    fc.constantFrom(999, 1_001, 9_999, 10_001, 99_999, 100_001, 999_999, 1_000_001),
  )
  const values = fc.oneof(counts, fc.boolean(), fc.stringMatching(/^[a-z ]*$/))

  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), values), (event) => {
      const { textLengthMin } = screenContent(event, KNOWN)
      const empty = Object.keys(event).length === 0
      if (!empty && !Number.isNaN(textLengthMin)) expect(textLengthMin).toBe(JSON.stringify(event).length)
    }),
  )
})

test('a name of content is known in whatever case its words are written and by whatever signs they are joined', () => {
  const names = fc.constantFrom(
    'prompt',
    'question',
    'user message',
    'chat history',
    'system instruction',
    'completion',
  )
  const sign = fc.constantFrom('', '_', '-', '.', ' ', ':', '/', '#', ' : ')
  fc.assert(
    fc.property(names, sign, sign, sign, fc.boolean(), (name, before, between, after, isUpper) => {
      const key = `${before}${name.split(' ').join(between)}${after}`
      expect(isContentKey(isUpper ? key.toUpperCase() : key), key).toBe(true)
    }),
  )
  for (const key of ['prompt_name', 'questionnaire', 'message_id', 'user', 'feature', '', ':']) {
    expect(isContentKey(key), key).toBe(false)
  }
})
