import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readTokens, UnreadableQuery, writeTokens } from '../../../internal/sql/sql-tokens.js'
import { drawn } from '../../support/run/rings.js'

const PIECES = [
  "'",
  "''",
  '"',
  '`',
  '\\',
  '\\n',
  "\\'",
  '--',
  '/*',
  '*/',
  '\n',
  ' ',
  'a',
  'SELECT',
  '1',
  '->',
  '.',
  '$',
  '{',
  '}',
  '\0',
  'é',
  '‘',
]

/** The query as one line; undefined if it is refused. */
function written(query: string): string | undefined {
  try {
    return writeTokens(readTokens(query))
  } catch (cause) {
    if (cause instanceof UnreadableQuery) return undefined
    throw cause
  }
}

test('written text is one line without control characters or single backslashes, and is read as the same', () => {
  const texts = fc.array(fc.oneof(fc.constantFrom(...PIECES), fc.string({ unit: 'binary', maxLength: 3 })), {
    maxLength: 14,
  })
  fc.assert(
    fc.property(texts, (pieces) => {
      const line = written(pieces.join(''))
      if (line === undefined) return
      expect(line).not.toMatch(/\p{Cc}/u)
      expect(line.replaceAll('\\\\', '')).not.toContain('\\')
      expect(written(line)).toBe(line)
    }),
    { numRuns: drawn(3_000) },
  )
})

test.each([
  ["SELECT 'it''s', 'a\\'b' -- c\n, 1", "SELECT 'it''s' , 'a''b' , 1"],
  ["SELECT '100\\%', 'a\\\\b'", "SELECT '100\\\\%' , 'a\\\\b'"],
  ["SELECT '.*TO\\s+([^\\s(]+)', '\\/\\=\\`'", "SELECT '.*TO\\\\s+([^\\\\s(]+)' , '/=`'"],
  ['SELECT/* x */`a b`."c`d"', 'SELECT `a b` . "c`d"'],
  ['SELECT a::UInt8, -1.5e3, a<>b', 'SELECT a :: UInt8 , - 1.5e3 , a <> b'],
])('%s', (query, line) => {
  expect(written(query)).toBe(line)
})

test.each([
  "'",
  "'a\nb'",
  "'\\n'",
  "'\\x0A'",
  '`a\\nb`',
  '``',
  '"a\tb"',
  '$$a$$',
  '# a',
  '/* a',
  '1_000',
  '0b1',
  '‘a’',
  'x -> 1',
  '\0',
  '@a',
])('refused: %j', (query) => {
  expect(written(`SELECT ${query}`)).toBeUndefined()
})
