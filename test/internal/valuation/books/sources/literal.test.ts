import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Literal, readLiteral } from '../../../../../internal/valuation/books/sources/literal.js'

const textOf = (value: unknown): unknown => {
  if (typeof value === 'number') return JSON.stringify(value)
  if (Array.isArray(value)) return value.map(textOf)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, textOf(inner)]))
}

test('any JSON is read as JSON.parse reads it, but for numbers, which stay text', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
      const json = JSON.stringify(value)
      expect(readLiteral(json)).toEqual(textOf(JSON.parse(json)))
      expect(readLiteral(JSON.stringify(value, null, 2))).toEqual(textOf(JSON.parse(json)))
    }),
  )
})

test('the literal of a module is read with its own spellings, and what follows it is not', () => {
  const module = 'const E=[{id:"a",\'b-c\':[.5,2e5,],on:!0,off:!1,note:`two\nlines`}];module.exports=E'

  expect(readLiteral(module, module.indexOf('['))).toEqual([
    { id: 'a', 'b-c': ['.5', '2e5'], on: true, off: false, note: 'two\nlines' },
  ])
})

test('behind the one literal of a file there is nothing', () => {
  expect(readLiteral(' {} ')).toEqual({})
  expect(() => readLiteral('{} garbage')).toThrow('more than one literal')
})

test('what would have to be executed or has no end is refused', () => {
  for (const text of [
    '[f()]',
    ['[`$', '{x}`]'].join(''),
    '{a:1',
    '["x',
    '[1 2]',
    '[new Date()]',
    '{1+1:2}',
    'x',
    '[NaN]',
  ]) {
    expect(() => readLiteral(text)).toThrow(SyntaxError)
  }
  expect(() => readLiteral('['.repeat(100_000))).toThrow('too many levels')
})

test('a member named like a property of every object is a member', () => {
  const read = readLiteral('{"__proto__":{"x":1}}') as { readonly [name: string]: Literal }

  expect(Object.keys(read)).toEqual(['__proto__'])
  expect((read as { x?: unknown }).x).toBeUndefined()
})
