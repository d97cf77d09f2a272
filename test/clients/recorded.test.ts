import { afterAll, expect, test } from 'vitest'
import { knownOf, writeGaps } from '../support/clients/known.js'
import { replayedClients, showsClients } from '../support/clients/page.js'
import { details, table } from '../support/clients/table.js'

/**
 * Recorded clients through the intakes and the price book, beside what the provider billed. Where they differ, the gap
 * is listed in `test/fixtures/clients-known.data.json` with its reason, so that a gap that opens or closes fails here.
 *
 * `ATTRIBUTION_RENEW_FIXTURES=1` writes the list anew (a new gap then needs its reason), and `ATTRIBUTION_CLIENT=name`
 * shows the table, and that client call by call.
 */

const clients = await replayedClients()

if (process.env['ATTRIBUTION_RENEW_FIXTURES'] === '1') {
  writeGaps(new Map(clients.map(({ name, gaps }) => [name, gaps])))
}

afterAll(() => {
  const client = process.env['ATTRIBUTION_CLIENT']
  if (client !== undefined) process.stderr.write(`${table(clients)}\n${details(clients, client)}`)
})

test.each(clients)('the records of $name are its bills, but for what is known', ({ name, gaps }) => {
  expect(gaps).toEqual(knownOf(name).gaps)
  expect(gaps.filter(({ why }) => why === '')).toEqual([])
})

test('the page of clients shows what came of them', () => {
  expect(showsClients(clients), 'deploy/docs/intake/clients.md is written by npm run generate').toBe(true)
})
