import { expect, test } from 'vitest'
import { compare, unbilled } from '../support/clients/ledger.js'
import { recordings } from '../support/clients/recording.js'
import { replay } from '../support/clients/replay.js'
import { details, type Row, table } from '../support/clients/table.js'

/** Recorded clients through the readers and the price book, beside what the provider billed. */

const rows: Row[] = []
for (const recording of recordings().values()) {
  const replayed = await replay(recording)
  const { leftOut } = replayed
  rows.push({ recording, compared: compare(recording, replayed), unbilled: unbilled(replayed), leftOut })
}

test('the records of every recorded client stand beside its bills', () => {
  const wanted = process.env['ATTRIBUTION_CLIENT']
  process.stderr.write(`${table(rows)}\n${wanted === undefined ? '' : details(rows, wanted)}`)
  expect(rows.length).toBeGreaterThan(50)
})
