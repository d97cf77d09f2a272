import { expect, test } from 'vitest'
import { launch } from '../support/processes.js'
import { drained, open, temporaryFolder, upTo } from '../support/spool.js'
import { recordOf } from '../support/spool-records.js'

const SCRIPT = 'dist/test/support/spool-process.js'

/** Each process appends numbers of its own, from a multiple of this on. */
const NUMBERS_EACH = 1_000_000

const numbersIn = (lines: readonly string[], word: string): number[] =>
  lines.filter((line) => line.startsWith(`${word} `)).map((line) => Number(line.slice(word.length)))

/** Stores `count` records and dies by SIGKILL in the middle of the next ones; gives the last that was stored. */
async function writeAndDie(folder: string, first: number, count: number): Promise<number> {
  const writer = launch(SCRIPT, { args: ['write', folder, String(first)] })
  await writer.line(new RegExp(`^stored ${first + count - 1}$`))
  await writer.kill('SIGKILL')
  return Math.max(...numbersIn(writer.lines, 'stored'))
}

test('kill -9 during appends to the spool loses and alters no record that was reported stored', async () => {
  const folder = await temporaryFolder()
  for (let round = 0; round < 6; round++) {
    // Three processes die before anybody drains: each recovers what those before it left.
    const lastStored: number[] = []
    for (const writer of upTo(3)) {
      lastStored.push(await writeAndDie(folder, writer * NUMBERS_EACH, 1 + ((round * 53 + writer * 31) % 120)))
    }

    const { spool, incidents } = await open(folder)
    const numbers = await drained(spool) // throws when one is altered

    expect(incidents).toEqual(incidents.filter(({ kind }) => kind === 'torn_tail_cut'))
    expect(numbers).toEqual([...numbers].sort((a, b) => a - b))
    for (const [writer, last] of lastStored.entries()) {
      const first = writer * NUMBERS_EACH
      const run = numbers.filter((number) => Math.floor(number / NUMBERS_EACH) === writer)
      expect(run).toEqual(upTo(run.length, first))
      expect(run.at(-1)).toBeGreaterThanOrEqual(last)
    }
    await spool.close()
  }
})

/** Of records of this size, three are delivered together. */
const LARGE = 400_000
const TOGETHER = 3
const MANY = 80

test('kill -9 during a drain of the spool repeats at most the records in flight', async () => {
  const folder = await temporaryFolder()
  const { spool } = await open(folder, { segmentBytes: 10 * LARGE })
  for (const number of upTo(MANY)) await spool.append([recordOf(number, LARGE)])
  await spool.close()

  const delivered: number[] = []
  let deaths = 0
  while (delivered.at(-1) !== MANY - 1) {
    const drain = launch(SCRIPT, { args: ['drain', folder] })
    const soon = Math.min((delivered.at(-1) ?? 0) + 10, MANY - 1)
    await drain.line(new RegExp(`^delivered ${soon}$`))
    const { signal } = await drain.kill('SIGKILL')
    if (signal === 'SIGKILL') deaths++
    const numbers = numbersIn(drain.lines, 'delivered')
    const next = (delivered.at(-1) ?? -1) + 1
    expect(upTo(TOGETHER + 1, next - TOGETHER)).toContain(numbers[0])
    expect(numbers).toEqual(upTo(numbers.length, numbers[0]))
    delivered.push(...numbers)
  }

  expect(deaths).toBeGreaterThan(1)
  expect([...new Set(delivered)]).toEqual(upTo(MANY))
})
