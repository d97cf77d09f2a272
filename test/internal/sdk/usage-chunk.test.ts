import fc from 'fast-check'
import { expect, test } from 'vitest'
import { UsageChunkFilter } from '../../../internal/sdk/usage-chunk.js'

const encoder = new TextEncoder()

function passed(text: string, length: number): string {
  const filter = new UsageChunkFilter(() => undefined)
  const decoder = new TextDecoder()
  const bytes = encoder.encode(text)
  let all = ''
  for (let at = 0; at < bytes.length; at += length) {
    all += decoder.decode(filter.passed(bytes.slice(at, at + length)), { stream: true })
  }
  return all + decoder.decode(filter.passed(undefined))
}

const event = (data: object) => `data: ${JSON.stringify(data)}\n\n`
const said = (content: string) => ({ id: 'c', choices: [{ index: 0, delta: { content } }] })

test('the caller sees the events that would have come unasked, however they are cut', () => {
  const texts = fc.array(fc.oneof(fc.string(), fc.constant('error","usage":null}\n\n')), { maxLength: 5 })
  fc.assert(
    fc.property(
      texts,
      fc.integer({ min: 1, max: 60 }),
      fc.constantFrom('\n\n', '\r\n\r\n'),
      fc.constantFrom(',"usage":null', ' , "usage": null'),
      (contents, length, end, nothing) => {
        const as = (events: readonly object[]) => events.map((each) => event(each).replace('\n\n', end)).join('')
        const unasked = as(contents.map(said))
        const asked = unasked.replaceAll(`}${end}`, `${nothing}}${end}`)
        const done = `data: [DONE]${end}`
        const usage = as([{ id: 'c', choices: [], usage: { prompt_tokens: 3 } }])

        const text = passed(`${asked}${usage}${done}`, length)
        expect(text.replaceAll(/ +}\r?\n/g, (blanks) => blanks.trimStart())).toBe(`${unasked}${done}`)
        expect(text).toHaveLength(asked.length + done.length)
      },
    ),
  )
})

test('usage beside what was said stays, as does what follows the last event', () => {
  const text = `${event({ ...said('x'), usage: { prompt_tokens: 3 } })}${event({ usage: null })}data: {"cut`

  expect(passed(text, 7)).toBe(text)
})

test('an event without end is held up to a megabyte only', () => {
  const filter = new UsageChunkFilter(() => undefined)
  const long = new Uint8Array(600_000).fill(0x61)

  expect(filter.passed(long)).toBeUndefined()
  expect(filter.passed(long)).toHaveLength(1_200_000)
})
