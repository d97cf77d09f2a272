import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { csvRows, jsonRows, type Row } from '../../../../internal/local/import/import-rows.js'

async function* chunksOf(text: string, size = text.length || 1): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += size) yield text.slice(at, at + size)
}
async function all(rows: AsyncIterable<Row>): Promise<Row[]> {
  const found: Row[] = []
  for await (const row of rows) found.push(row)
  return found
}
const rowsOf = (text: string, size?: number): Promise<Row[]> => all(csvRows(chunksOf(text, size)))

describe('CSV', () => {
  test('has its columns by the names of the first line', async () => {
    expect(await rowsOf('a,b\r\n1,"two, ""quoted"""\r\n\r\n,""\n"x\ny",z')).toEqual([
      { a: '1', b: 'two, "quoted"' },
      { a: undefined, b: '' },
      { a: 'x\ny', b: 'z' },
    ])
  })

  test.each([
    ['a,b\n1', /line 2 has 1 fields, and the header has 2/],
    ['a,b\n"x\ny",1\n1,2,3', /line 4 has 3 fields/],
    ['a\n"x', /does not end/],
  ])('%j is refused', async (text, message) => {
    await expect(rowsOf(text)).rejects.toThrow(message)
  })

  test('is the same however its text is cut', async () => {
    const field = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', ' ', 'é') })
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(field, field), { minLength: 1 }),
        fc.integer({ min: 1, max: 7 }),
        async (rows, size) => {
          const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`
          const text = ['a,b', ...rows.map(([a, b]) => `${quoted(a)},${quoted(b)}`)].join('\n')
          expect(await rowsOf(text, size)).toEqual(rows.map(([a, b]) => ({ a, b })))
        },
      ),
    )
  })
})

test('JSON lines are objects; a line that is none is named without its text', async () => {
  async function* linesOf(text: string): AsyncGenerator<string> {
    yield* text.split('\n')
  }
  const rows = (text: string) => all(jsonRows(linesOf(text)))
  expect(await rows('{"a":1}\n\n{"b":"x"}')).toEqual([{ a: 1 }, { b: 'x' }])
  await expect(rows('{"a":1}\n{"secret')).rejects.toThrow(/^line 2 is not a JSON object$/)
  await expect(rows('[1]')).rejects.toThrow(/line 1/)
})
