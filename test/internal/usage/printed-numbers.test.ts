import fc from 'fast-check'
import { expect, test } from 'vitest'
import { numbersOf } from '../../../internal/usage/printed-numbers.js'

const read = (text: string, isEscaped = false) => {
  const bytes = Buffer.from(text)
  return numbersOf(bytes, 0, bytes.length, isEscaped)
}

test.each([
  ['JSON', '{"a": 1, "b": {"c": 2.5e1, "text": "no {\\"x\\": 3}"}, "d": [{"e": 4}, 5], "f": null}'],
  ['a Python dictionary', "{'a': 1, 'b': {'c': 25.0, 'text': 'no {\"x\": 3}'}, 'd': [{'e': 4}, 5], 'f': None}"],
  ['a Python object', "Usage(a=1, b=Details(c=25, text='it\\'s, (x=3)'), d=[Item(e=4), 5], f=None)"],
])('the numbers of %s', (_, text) => {
  expect(read(text)).toEqual({ a: 1, b: { c: 25 }, d: [{ e: 4 }] })
  expect(read(JSON.stringify(text).slice(1, -1), true)).toEqual(read(text))
})

test('a text that says what is counted is a word', () => {
  expect(read('{"modality":"AUDIO","ttl":"1h","type":"message","tokenCount":3}')).toEqual({
    modality: 'AUDIO',
    ttl: '1h',
    tokenCount: 3,
  })
})

test.each(['', '  ', 'secret', '"secret"', '[1]', '12', '{', '{"a":1', '{"a" 1}', '{"__proto__": 1}'])(
  '%j has what came first',
  (text) => {
    const tree = read(text)
    expect(Object.keys(tree ?? {}).filter((key) => key !== 'a')).toEqual([])
  },
)

test('no text of any object is ever read', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 12 }), fc.string(), (json, text) => {
      for (const each of [json, text]) {
        const tree = read(each)
        expect(JSON.stringify(tree ?? {}).replace(/"[\w.+-]{1,64}":/g, '')).not.toMatch(
          /"(?!AUDIO|IMAGE|TEXT|VIDEO|DOCUMENT|5m|1h)/,
        )
        expect(read(JSON.stringify(each).slice(1, -1), true)).toEqual(tree)
      }
    }),
  )
})
