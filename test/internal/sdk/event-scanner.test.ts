import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Answer } from '../../../internal/sdk/answer.js'
import { AnswerScanner } from '../../../internal/sdk/answer-scanner.js'
import { EventScanner, statesNothing } from '../../../internal/sdk/event-scanner.js'
import { STATED_USAGES } from '../../support/stated-usages.js'

const encoder = new TextEncoder()

/** What an answer says by the chunks of its stream, and how often that was looked at. */
function read(Scanner: typeof AnswerScanner | typeof EventScanner, chunks: readonly string[]) {
  const answer = new Answer()
  let count = 0
  const scanner = new Scanner((stated) => {
    count++
    answer.add(stated)
  })
  for (const chunk of chunks) scanner.push(encoder.encode(chunk))
  return { facts: answer.facts(), outcome: answer.outcome, count }
}

/** All events of a stream name one id and model. */
const event = (data: object) => {
  const text = JSON.stringify(data).replaceAll(/"(id|model)":"[^"]+"/g, '"$1":"c"')
  return `event: x\ndata: ${text}\n\n`
}
const said = fc
  .oneof(fc.string(), fc.constantFrom('"usage":{"prompt_tokens":9}}\n\n', 'error"', '{', '\n\ndata: {"usage":'))
  .map((content) => ({ id: 'c', model: 'm', choices: [{ delta: { content } }], usage: null }))
// Nothing begins an answer behind the end of one, as `message-start` does.
const ends = fc.constantFrom<object>(
  ...STATED_USAGES.flatMap(({ parts }) => parts).filter((part) => !('type' in part && part.type === 'message-start')),
  { type: 'message_stop' },
  { type: 'error', error: { type: 'overloaded_error' } },
  { type: 'response.failed', response: { id: 'c', usage: null, error: { code: 'server_error' } } },
)

test('a stream says the same as if all of it were scanned, however it is cut', () => {
  const streams = fc.tuple(fc.array(said, { maxLength: 6 }), fc.array(ends, { maxLength: 2 }))
  fc.assert(
    fc.property(streams, fc.integer({ min: 1, max: 200 }), ([parts, last], length) => {
      const events = [{ id: 'c', model: 'm', usage: null }, ...parts, ...last].map(event)
      const whole = events.join('')
      const pieces = Array.from({ length: Math.ceil(whole.length / length) }, (_, at) =>
        whole.slice(at * length, (at + 1) * length),
      )
      const { facts, outcome } = read(AnswerScanner, events)

      expect(read(EventScanner, events)).toMatchObject({ facts, outcome })
      expect(read(EventScanner, pieces)).toMatchObject({ facts, outcome })
    }),
  )
})

test('once an answer is known, parts that say nothing about it are not looked at', () => {
  const first = event({ id: '', model: '', choices: [] })
  const part = event({ id: 'c', model: 'm', choices: [{ delta: { content: 'a word' } }], usage: null })
  const last = event({ id: 'c', choices: [], usage: { prompt_tokens: 3 } })

  expect(read(EventScanner, [first, part, part, part, last]).count).toBe(3)
})

test('names are found wherever they are, and so is each usage that is null', () => {
  const words = ['"usage":{', '"usageMetadata":', '"error":', '"message_stop"', '"meta":', '"amazon-invocationMetrics"']
  const texts = fc.array(fc.stringMatching(/^[x{}":,]{0,20}$/), { minLength: 1, maxLength: 4 })
  const nulls = fc.constantFrom('"usage":null', '"usage": null')
  fc.assert(
    fc.property(texts, nulls, fc.constantFrom(...words), (parts, nothing, word) => {
      const isNothing = (text: string) => {
        const found: string[] = []
        const bytes = encoder.encode(text)
        const all = statesNothing(bytes, (_, from, to) => found.push(text.slice(from, to)))
        expect([found, statesNothing(bytes)]).toEqual([parts.slice(1).map(() => nothing), all])
        return all
      }
      expect(isNothing(parts.join(nothing))).toBe(true)
      expect(isNothing(`${parts.join(nothing)}${word}x`)).toBe(false)
      expect(isNothing(`x${word}${parts.join(nothing)}`)).toBe(false)
    }),
  )
})
