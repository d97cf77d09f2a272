import fc from 'fast-check'
import { expect, test } from 'vitest'
import { AnswerScanner, statedIn } from '../../../internal/sdk/answer-scanner.js'

const encoder = new TextEncoder()

/** What is found in a text that arrives in pieces of these lengths, repeated. */
function scanned(text: string, lengths: readonly number[] = [text.length || 1]): unknown[] {
  const found: unknown[] = []
  const scanner = new AnswerScanner((stated) => found.push(stated))
  const bytes = encoder.encode(text)
  for (let at = 0, piece = 0; at < bytes.length; piece++) {
    const end = at + (lengths[piece % lengths.length] as number)
    scanner.push(bytes.slice(at, end))
    at = end
  }
  return found
}

const usage = fc.record({ input_tokens: fc.nat(), details: fc.record({ 'an "odd" \\ name': fc.nat() }) })
/** Whatever an answer may hold besides, with names and texts that look like those which are read. */
const other = fc
  .jsonValue({ maxDepth: 4 })
  .map((value) => ({ said: value, usages: '"usage":{"a":1}', 'us"age': [value] }))
const answer = fc.tuple(other, usage, fc.string(), fc.boolean()).map(([more, stated, id, isHeld]) => {
  const facts = { id, model: 'm\\"}', usage: stated, output: [{ usage: 7, id: 'inner' }] }
  return isHeld ? { type: 'e', id: 'outer', ...more, response: facts } : { ...more, ...facts }
})
const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 8 })

test('an answer in pieces says the same as the whole one when it is parsed', () => {
  fc.assert(
    fc.property(
      fc.array(answer, { minLength: 1, maxLength: 3 }),
      lengths,
      fc.constantFrom(0, 2),
      (all, cuts, indent) => {
        const texts = all.map((each) => JSON.stringify(each, undefined, indent))
        const expected = all.flatMap(statedIn)

        expect(scanned(texts.join('\n'), cuts)).toEqual(expected)
        expect(scanned(JSON.stringify(all, undefined, indent), cuts)).toEqual(expected)
        const events = all.map((each) => `event: message_start\ndata: ${JSON.stringify(each)}\n\n`)
        expect(scanned(`: ping\n\n${events.join('')}data: [DONE]\n\n`, cuts)).toEqual(expected)
      },
    ),
  )
})

test('only an empty list of choices is read, and no value that is longer than such a one', () => {
  const usage = { prompt_tokens: 1 }
  const said = [{ index: 0, delta: { content: 'hello' } }]
  const all = [
    { choices: [], usage },
    { choices: said, usage, id: 'i'.repeat(9_000) },
  ]

  expect(scanned(all.map((each) => JSON.stringify(each)).join('\n'), [3])).toEqual([{ choices: [], usage }, { usage }])
})

test('what is no JSON, or is cut off, says nothing and throws nothing', () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => new AnswerScanner(() => undefined).push(bytes)))
  expect(scanned('{"usage":{"input_tokens":1}')).toEqual([])
})
