import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { CsvReader, csvField, neutralised, restored } from '../../../internal/text/csv.js'
import { FORMULAS, formulaLike } from './formula-like.js'

/** Signs by which formulas begin, once a spreadsheet has made the usual form of them. */
const SIGNS = new Set('=+-@')
/** What a spreadsheet does not show. */
const isBlank = (sign: string): boolean => sign.trim() === '' || /[\p{Z}\p{Cc}\p{Cf}]/u.test(sign)

describe('a text in a CSV', () => {
  test.each(FORMULAS)('that is a formula begins with an apostrophe: %j', (text) => {
    expect(neutralised(text)).toBe(`'${text}`)
  })

  test.each(["'x", 'gpt-4o', '', 'a=b', '\\-', ':', '1', ' x', 'é=1', "' x"])('that is none stays: %j', (text) => {
    expect(neutralised(text)).toBe(text)
  })

  test('never begins with the sign of a formula, whatever form it has and whatever stands before it', () => {
    fc.assert(
      fc.property(formulaLike, (text) => {
        const first = [...neutralised(text)].find((sign) => !isBlank(sign)) ?? ''
        expect(SIGNS.has(first.normalize('NFKC'))).toBe(false)
        expect(neutralised(text)).not.toMatch(/^[\t\r\n]/)
      }),
    )
  })

  test('is restored, also after it was written and read', () => {
    fc.assert(
      fc.property(formulaLike, (text) => {
        expect(restored(neutralised(text))).toBe(text)
        const reader = new CsvReader()
        const line = `x,${csvField(neutralised(text))}\n`
        const [record] = [...reader.read(line), ...reader.end()]
        expect(restored(record?.fields[1] ?? '')).toBe(text)
      }),
    )
  })
})
