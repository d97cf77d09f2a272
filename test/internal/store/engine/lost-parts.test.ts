import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { forgetLostParts, writeTokensThrough } from '../../../../internal/store/engine/lost-parts.js'

const folder = mkdtempSync(join(tmpdir(), 'attribution-parts-'))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A table's folder with parts, those that the engine has set aside, and logs of tokens by their number. */
function makeTable(
  uuid: string,
  parts: readonly string[],
  detached: readonly string[],
  logs: Readonly<Record<string, string>>,
): string {
  const table = join(folder, 'store', uuid.slice(0, 3), uuid)
  for (const name of parts) mkdirSync(join(table, name), { recursive: true })
  for (const name of detached) mkdirSync(join(table, 'detached', name), { recursive: true })
  mkdirSync(join(table, 'deduplication_logs'), { recursive: true })
  for (const [number, text] of Object.entries(logs)) writeFileSync(logOf(table, number), text)
  return table
}
const logOf = (table: string, number: string): string =>
  join(table, 'deduplication_logs', `deduplication_log_${number}.txt`)

test('tokens of parts that cannot be read are dropped in the newest log, those of others stay', () => {
  const table = makeTable(
    'abc-1',
    ['202611_4_4_0', '202611_6_6_0', 'tmp_insert_202611_5_5_0'],
    ['broken-on-start_202611_5_5_0', 'broken-on-start_202611_7_7_0_try1'],
    {
      2: '1\t202611_4_4_0\tfour\n1\t202611_5_5_0\tfive\n',
      10: '1\t202611_6_6_0\tsix\n1\t202611_7_7_0\tseven\n1\t202611_8_8_0\tei',
    },
  )

  const kept = forgetLostParts(folder)

  expect(readFileSync(logOf(table, '2'), 'utf8')).toBe('1\t202611_4_4_0\tfour\n1\t202611_5_5_0\tfive\n')
  expect(readFileSync(logOf(table, '10'), 'utf8')).toBe(
    '1\t202611_6_6_0\tsix\n1\t202611_7_7_0\tseven\n2\t202611_5_5_0\tfive\n2\t202611_7_7_0\tseven\n',
  )
  expect(readdirSync(join(table, 'detached')).sort()).toEqual(kept.map((path) => path.split('/').at(-1)).sort())
  expect(kept).toEqual([expect.stringMatching(/unreadable_\d+_202611_5_5_0$/), expect.stringMatching(/_202611_7_7_0$/)])
  expect(forgetLostParts(folder)).toEqual([])
})

test('a table without logs, parts of other reasons and a folder without tables stay as they are', () => {
  expect(forgetLostParts(join(folder, 'none'))).toEqual([])
  const table = makeTable('abd-1', ['202611_5_5_0'], ['ignored_202611_5_5_0', '202611_1_1_0'], {
    1: '1\t202611_5_5_0\tfive\n',
  })
  const other = makeTable('abe-1', [], ['broken-on-start_all_1_4_1'], {})

  expect(forgetLostParts(folder)).toEqual([expect.stringContaining(join(other, 'detached'))])
  expect(readFileSync(logOf(table, '1'), 'utf8')).toBe('1\t202611_5_5_0\tfive\n')
  expect(readdirSync(join(table, 'detached')).sort()).toEqual(['202611_1_1_0', 'ignored_202611_5_5_0'])
})

test('tokens of parts that are not there are dropped, unless a merged or mutated one has their rows', () => {
  const lines = (name: string) =>
    [4, 5, 6, 7].map((block) => `1\t${name}_${block}_${block}_0\tof ${name} ${block}\n`).join('')
  const table = makeTable('abf-1', ['202611_4_5_1', '202611_7_7_0_9', '202612_1_7_2'], [], {
    1: `${lines('202611')}${lines('202612')}${lines('202613')}2\t202613_4_4_0\tof 202613 4\n`,
  })

  forgetLostParts(folder)

  const dropped = readFileSync(logOf(table, '1'), 'utf8').split('\n').slice(13, -1)
  expect(dropped.map((line) => line.split('\t')[2])).toEqual([
    'of 202611 6',
    'of 202613 5',
    'of 202613 6',
    'of 202613 7',
  ])
  const before = readFileSync(logOf(table, '1'), 'utf8')
  forgetLostParts(folder)
  expect(readFileSync(logOf(table, '1'), 'utf8')).toBe(before)
})

test('logs of tokens and what is made beside them are written through; a file system that cannot is reported', () => {
  const table = makeTable('abg-1', [], [], { 1: '', 2: '' })
  const asked: string[] = []
  const remember = (descriptor: number): boolean => {
    asked.push(readlinkSync(`/proc/self/fd/${descriptor}`))
    return true
  }

  const known = new Set<string>()
  const logs = join(table, 'deduplication_logs')
  expect(writeTokensThrough(folder, remember, known)).toBe(true)
  expect(asked.splice(0).sort()).toEqual([logs, logOf(table, '1'), logOf(table, '2')])
  // One that the engine has begun since.
  writeFileSync(logOf(table, '3'), '')
  expect(writeTokensThrough(folder, remember, known)).toBe(true)
  expect(asked).toEqual([logOf(table, '3')])
  expect(writeTokensThrough(folder, () => false, new Set())).toBe(false)
})
