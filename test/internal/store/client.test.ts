import { expect, test } from 'vitest'
import { openDatabase } from '../../support/database.js'

test('each query is answered from the records, not from what the engine remembers of other queries', async () => {
  const { client } = await openDatabase()
  const asked = await client.query({
    query: `SELECT name, value FROM system.settings WHERE name IN ('use_query_condition_cache', 'async_insert')
            ORDER BY name`,
    format: 'JSONCompactEachRow',
  })

  expect(await asked.json()).toEqual([
    ['async_insert', '0'],
    ['use_query_condition_cache', '0'],
  ])
})
