import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { neutralisedSql } from '../../../../../internal/store/queries/exports/focus-rows.js'
import { neutralised } from '../../../../../internal/text/csv.js'
import { type Database, openDatabase } from '../../../../support/database.js'
import { FORMULAS, formulaLike } from '../../../text/formula-like.js'

let store: Database
beforeAll(async () => {
  store = await openDatabase()
})

test('files neutralise what the other CSVs do: the engine reads the pattern as JavaScript does', async () => {
  const texts = [...FORMULAS, ...fc.sample(formulaLike, 2_000), null]

  const result = await store.client.query({
    query: `SELECT ${neutralisedSql('one')} AS cell FROM (SELECT arrayJoin({texts:Array(Nullable(String))}) AS one)`,
    query_params: { texts },
    format: 'JSONEachRow',
  })
  const cells = (await result.json<{ cell: string | null }>()).map(({ cell }) => cell)

  expect(cells).toEqual(texts.map((text) => (text === null ? null : neutralised(text))))
})
