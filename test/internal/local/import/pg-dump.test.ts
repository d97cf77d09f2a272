import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { payloadOfSpendLog, SPEND_LOG_COLUMNS } from '../../../../internal/ingest/adapters/litellm-spend-logs.js'
import type { Row } from '../../../../internal/local/import/import-rows.js'
import { beginsLikeDump, dumpRows } from '../../../../internal/local/import/pg-dump.js'
import { CANARY } from '../../ingest/adapters/litellm-payload.js'

/** Written by pg_dump 15.18 of a table with the columns of LiteLLM's schema. */
const RECORDED = readFileSync(new URL('../../../fixtures/litellm/spend-logs.pg15.sql', import.meta.url))

async function* chunksOf(bytes: Buffer, size = bytes.length || 1): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
async function rowsOf(text: string | Buffer, wanted: readonly string[] = ['a', 'b'], size?: number): Promise<Row[]> {
  const found: Row[] = []
  for await (const row of dumpRows(chunksOf(Buffer.from(text), size), 'LiteLLM_SpendLogs', new Set(wanted)))
    found.push(row)
  return found
}
const dumpOf = (rows: string, header = 'COPY public."LiteLLM_SpendLogs" (a, b) FROM stdin;'): string =>
  `--\n-- PostgreSQL database dump\n--\n\nSET client_encoding = 'UTF8';\n\n${header}\n${rows}\\.\n\nSELECT 1;\n`

test('a dump of pg_dump has its rows by the names of the COPY line, and nothing of what was said', async () => {
  const rows = await rowsOf(RECORDED, [...SPEND_LOG_COLUMNS])

  expect(rows).toHaveLength(2)
  expect(JSON.stringify(rows)).not.toContain(CANARY)
  expect(Object.keys(rows[0] as Row).sort()).toEqual([...SPEND_LOG_COLUMNS].sort())
  expect(payloadOfSpendLog(rows[0] as Row)).toMatchObject({
    id: 'f6ad2c9e-0b3e-4d66-9a54-0a7f7e6d1c22',
    startTime: '2026-11-21 09:50:00.25',
    response_cost: '3.35e-05',
    request_tags: ['feature:autocomplete', 'beta', 'User-Agent: curl/8'],
    metadata: { user_api_key_team_alias: 'Se"ar\\ch\tÜ', usage_object: { cache_read_input_tokens: 40 } },
  })
  expect(rows[1]).toMatchObject({
    model_group: 'back\\slash\ttab\nline',
    user: '\\N',
    end_user: '\\.',
    team_id: undefined,
  })
})

test('it is the same wherever it is cut', async () => {
  const whole = await rowsOf(RECORDED, [...SPEND_LOG_COLUMNS])
  for (let size = 1; size < 300; size += size < 8 ? 1 : 37) {
    expect(await rowsOf(RECORDED, [...SPEND_LOG_COLUMNS], size)).toEqual(whole)
  }
})

describe('the COPY line', () => {
  test.each([
    'COPY public."LiteLLM_SpendLogs" (a, b) FROM stdin;',
    'COPY "LiteLLM_SpendLogs" (a, b) FROM stdin;',
    'COPY "my ""schema""."."LiteLLM_SpendLogs" ("a", "b") FROM stdin;',
    'copy litellm_spendlogs (a,b) from stdin',
  ])('%s', async (header) => {
    expect(await rowsOf(dumpOf('1\t2\n', header))).toEqual([{ a: '1', b: '2' }])
  })

  test('may have columns in any order, more of them, and names with signs', async () => {
    const header = 'COPY x."LiteLLM_SpendLogs" (b, "the (c), ""d""", "a") FROM stdin;'
    expect(await rowsOf(dumpOf('1\t2\t3\n', header), ['a', 'b', 'the (c), "d"'])).toEqual([
      { b: '1', 'the (c), "d"': '2', a: '3' },
    ])
  })

  test('of another table is passed over with its rows, also where they look like the one', async () => {
    const other =
      'COPY public."LiteLLM_SpendLogs2" (a, b) FROM stdin;\n1\t2\nCOPY public."LiteLLM_SpendLogs" (a, b) FROM stdin;\n\\.\n'
    expect(await rowsOf(`${other}${dumpOf('3\t4\n')}`)).toEqual([{ a: '3', b: '4' }])
  })
})

test('escapes, NULL, empty text and line ends of Windows', async () => {
  const rows = 'a\\\\\\tb\\n\\x41\\101\t\\N\n\t\\\\N\n\\\nx\t\\q\n'
  expect(await rowsOf(dumpOf(rows))).toEqual([
    { a: 'a\\\tb\nAA', b: undefined },
    { a: '', b: '\\N' },
    { a: '\nx', b: 'q' },
  ])
  expect(await rowsOf(dumpOf('1\t2\n\t\n').replaceAll('\n', '\r\n'))).toEqual([
    { a: '1', b: '2' },
    { a: '', b: '' },
  ])
})

test('what COPY writes is what is read, however it is cut', async () => {
  const sign = fc.constantFrom('a', '\\', '\t', '\n', '\r', '\b', '.', 'N', ',', '"', 'é', '🙂')
  const field = fc.option(fc.string({ unit: sign }), { nil: undefined })
  const written = (text: string | undefined): string =>
    text === undefined
      ? '\\N'
      : text.replace(
          /[\\\t\n\r\b]/g,
          (found) => ({ '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r', '\b': '\\b' })[found] as string,
        )
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(field, field)), fc.integer({ min: 1, max: 9 }), async (rows, size) => {
      const text = rows.map((row) => `${row.map(written).join('\t')}\n`).join('')
      expect(await rowsOf(dumpOf(text), ['a', 'b'], size)).toEqual(rows.map(([a, b]) => ({ a, b })))
    }),
  )
})

describe('is refused, without a word of its text:', () => {
  const secret = `${CANARY}\t1\n`
  test.each([
    [
      'no block',
      '-- PostgreSQL database dump\nINSERT INTO x VALUES (1);\n',
      /no COPY block of "LiteLLM_SpendLogs".*--inserts/,
    ],
    ['a block that is cut off', dumpOf(secret).slice(0, -20), /cut off: it ends on line \d+, within the rows/],
    [
      'a row that is cut off',
      dumpOf(`1\t2\n${secret}`).split('canary')[0] as string,
      /ends on line 9, within the rows/,
    ],
    ['too few fields', dumpOf(`1\t2\n${secret}\n`), /^line 10 has 1 fields, and the COPY line has 2 columns$/],
    ['too many fields', dumpOf(`1\t2\t${secret}`), /^line 8 has 4 fields, and the COPY line has 2 columns$/],
    [
      'CSV within a dump',
      dumpOf(secret, 'COPY "LiteLLM_SpendLogs" (a) FROM stdin WITH (FORMAT csv);'),
      /line 7 has options/,
    ],
    ['another encoding', dumpOf(secret).replace('UTF8', 'LATIN1'), /in LATIN1: dump again with --encoding=UTF8/],
    ['the custom format', 'PGDMP\u0001', /pg_restore -f/],
    ['a compressed file', Buffer.from([0x1f, 0x8b, 8]), /unpack it first/],
  ])('%s', async (_, text, message) => {
    const refused = await rowsOf(text).catch((error: Error) => error.message)
    expect(refused).toMatch(message)
    expect(refused).not.toContain(CANARY)
  })
})

test('a message of any length passes, for none of it is kept; what is kept of a row has a limit', async () => {
  const megabyte = Buffer.alloc(1_048_576, 'x')
  async function* chunks(count: number): AsyncGenerator<Buffer> {
    yield Buffer.from('COPY "LiteLLM_SpendLogs" (a, messages, b) FROM stdin;\n1\t')
    for (let i = 0; i < count; i++) yield Buffer.from(megabyte)
    yield Buffer.from('\t2\n\\.\n')
  }
  const read = async (count: number, wanted: readonly string[]): Promise<Row[]> => {
    const rows: Row[] = []
    for await (const row of dumpRows(chunks(count), 'LiteLLM_SpendLogs', new Set(wanted))) rows.push(row)
    return rows
  }

  expect(await read(96, ['a', 'b'])).toEqual([{ a: '1', b: '2' }])
  await expect(read(17, ['a', 'messages'])).rejects.toThrow(/^line 2 is too long$/)
})

test('a dump is known by how it begins', () => {
  expect(beginsLikeDump(RECORDED)).toBe(true)
  expect(beginsLikeDump(Buffer.from('PGDMP\x01'))).toBe(true)
  expect(beginsLikeDump(Buffer.from('request_id,call_type'))).toBe(false)
})
