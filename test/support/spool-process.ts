/**
 * A process for the tests to kill: `write <folder> <first number>` appends records without end, eight at a time, and
 * prints each number once it is stored; `drain <folder>` prints each number it delivers; `hold <folder>` only opens.
 * Run it compiled: node dist/test/support/spool-process.js
 */
import { writeSync } from 'node:fs'
import { openSpool, type Spool } from '../../internal/ingest/spool/spool.js'
import { numberOf, recordOf } from './spool-records.js'

const [mode, folder = '', first = '0'] = process.argv.slice(2)
/** Written before the next record starts, so that the printed count is a lower bound. */
const print = (line: string): unknown => writeSync(1, `${line}\n`)

const opened = await openSpool({ folder, bytesMax: 1024 ** 3, segmentBytes: 20_000, onIncident: () => undefined })
if (opened.kind !== 'opened') throw new Error(`the spool is ${opened.kind}`)
const { spool } = opened
print('open')

if (mode === 'write') await write(spool, Number(first))
else if (mode === 'drain') await drain(spool)
else setInterval(() => undefined, 60_000)

async function write(spool: Spool, from: number): Promise<void> {
  let next = from
  const one = async (): Promise<void> => {
    for (;;) {
      const number = next++
      const { kind } = await spool.append([recordOf(number, (number * 7919) % 3_000)])
      if (kind === 'stored') print(`stored ${number}`)
    }
  }
  await Promise.all(Array.from({ length: 8 }, one))
}

async function drain(spool: Spool): Promise<void> {
  await spool.drain(async (records) => {
    for (const record of records) print(`delivered ${numberOf(record)}`)
    return records.length
  })
}
