import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { isUuid } from '../../../../internal/ids/ids.js'
import { FIXED_EVENT_IDS, readTrace, uuidV5 } from '../../../../internal/local/replay/trace.js'

const folder = mkdtempSync(join(tmpdir(), 'attribution-trace-'))
afterAll(() => rmSync(folder, { recursive: true }))

const HEADER = 'row_id,timestamp,kind,input_tokens,output_tokens'
function readLines(...lines: readonly string[]) {
  const file = join(folder, 'trace.csv')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return readTrace(file)
}

describe('the trace in the repository', () => {
  const rows = readTrace(fileURLToPath(new URL('../../../../bench/data/azure-llm-2023.csv', import.meta.url)))

  test('the recorded trace has 28,185 rows with 40,421,844 input and 4,334,561 output tokens', () => {
    expect(rows).toHaveLength(28_185)
    expect(rows.reduce((sum, { inputTokens }) => sum + inputTokens, 0)).toBe(40_421_844)
    expect(rows.reduce((sum, { outputTokens }) => sum + outputTokens, 0)).toBe(4_334_561)
  })

  test('the recorded trace has unique ids and ascending times', () => {
    expect(new Set(rows.map(({ rowId }) => rowId)).size).toBe(rows.length)
    for (const [i, { arrivedAtMs }] of rows.entries())
      expect(arrivedAtMs).toBeGreaterThanOrEqual(rows[i - 1]?.arrivedAtMs ?? 0)
  })

  test('the recorded trace has two kinds of traffic', () => {
    expect(new Set(rows.map(({ kind }) => kind))).toEqual(new Set(['conv', 'code']))
  })
})

describe('a trace file', () => {
  test('a trace file is read row by row', () => {
    expect(readLines(HEADER, 'conv-1,2023-11-16T18:15:46.6805900Z,conv,374,44')).toEqual([
      {
        rowId: 'conv-1',
        arrivedAtMs: Date.UTC(2023, 10, 16, 18, 15, 46, 680),
        kind: 'conv',
        inputTokens: 374,
        outputTokens: 44,
      },
    ])
  })

  test('a trace file may have a header only', () => {
    expect(readLines(HEADER)).toEqual([])
  })

  test('a trace file with other columns is rejected', () => {
    expect(() => readLines('TIMESTAMP,ContextTokens,GeneratedTokens', 'x')).toThrow('its first line must be row_id,')
    expect(() => readLines('')).toThrow('its first line must be row_id,')
  })

  test.each([
    'conv-1',
    'conv-1,yesterday,conv,1,1',
    'conv-1,2023-11-16T18:15:46Z,conv,1',
    'conv-1,2023-11-16T18:15:46Z,conv,,1',
    'conv-1,2023-11-16T18:15:46Z,conv,1,x',
    'conv-1,2023-11-16T18:15:46Z,conv,1.5,1',
    'conv-1,2023-11-16T18:15:46Z,conv,-1,1',
    'conv-1,2023-11-16T18:15:46Z,conv,1e2,1',
    '',
  ])('a trace file with the row "%s" is rejected with its line number', (row) => {
    expect(() => readLines(HEADER, 'conv-0,2023-11-16T18:15:46Z,conv,1,1', row, 'end')).toThrow(
      /, line 3, is not a row of a trace/,
    )
  })
})

describe('UUIDv5', () => {
  test('the UUIDv5 of a trace row equals the published one', () => {
    expect(uuidV5(FIXED_EVENT_IDS, 'conv-00001')).toBe('1e97cac7-9f49-58d8-9757-dd783ae5ff8a')
  })

  test('the UUIDv5 of www.example.com in the DNS namespace equals that of RFC 9562, A.4', () => {
    expect(uuidV5('6ba7b810-9dad-11d1-80b4-00c04fd430c8', 'www.example.com')).toBe(
      '2ed6657d-e927-568b-95e1-2665a8aea6a2',
    )
  })

  test('a UUIDv5 has version 5 and variant 10, and differs for another name or namespace', () => {
    fc.assert(
      fc.property(fc.uuid(), fc.uuid(), fc.string(), fc.string(), (one, other, name, otherName) => {
        const id = uuidV5(one, name)

        expect(isUuid(id)).toBe(true)
        expect(id[14]).toBe('5')
        expect('89ab').toContain(id[19])
        expect(uuidV5(other, name) === id).toBe(other === one)
        expect(uuidV5(one, otherName) === id).toBe(otherName === name)
      }),
    )
  })
})
