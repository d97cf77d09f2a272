import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeApi } from '../../cmd/gateway/description.js'
import { API_TYPES } from '../../deploy/setup/api-types.mjs'
import { ROOT } from '../../deploy/setup/setup.mjs'
import { typesOf } from '../../internal/http/openapi/schema-types.js'
import { membersTable, showsTables, stepUpTable } from '../support/contract/access-tables.js'
import { BASELINE_NAMES, compareWithBaseline } from '../support/contract/baselines.js'
import { readDescription } from '../support/contract/described.js'

/** What `npm run generate` writes from the API description, and the tests only compare. */

const description = await describeApi()
const described = readDescription(JSON.parse(JSON.stringify(description)))

test('the types of the client library are those of the description', () => {
  const written = readFileSync(join(ROOT, API_TYPES), 'utf8')

  expect(written, `${API_TYPES} is written by npm run generate, and by each build`).toBe(
    typesOf(description.components.schemas),
  )
})

test.each(BASELINE_NAMES)('what the baseline %s freezes is unchanged, and additions are recorded', (name) => {
  expect(compareWithBaseline(name, described)).toEqual([])
})

test('the tables of changes that need a recent sign-in, and of members of bodies, are those of the description', () => {
  const table = stepUpTable(described)

  expect(showsTables(described), 'deploy/docs/access.md is written by npm run generate').toBe(true)
  for (const change of [
    'PATCH /api/v1/settings',
    'POST /api/v1/webhooks',
    'DELETE /api/v1/webhooks/{id}',
    'POST /api/v1/prices',
  ])
    expect(table).toContain(`\`${change}\``)
})

test.each(['updateSettings', 'createClient', 'updateClient'])(
  'each member of the body of %s says what it means',
  (id) => {
    const rows = membersTable(described, id).split('\n').slice(2)

    expect(rows.length).toBeGreaterThan(5)
    expect(rows.filter((row) => /\|\s*\|$/.test(row))).toEqual([])
  },
)
