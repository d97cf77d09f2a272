import { afterAll, beforeAll, expect, test } from 'vitest'
import { neutralised } from '../../../../../internal/store/queries/exports/focus-rows.js'
import { launchStore, type RunningStore, stopStore } from '../../../../support/store.js'

let store: RunningStore
beforeAll(async () => {
  store = await launchStore()
})
afterAll(() => stopStore(store))

/** What a reader does to get the text back. */
const back = (cell: string | null): string | null =>
  cell !== null && /^'+[=+\-@\t\r]/.test(cell) ? cell.slice(1) : cell

test('a text that a spreadsheet would read as a formula gets an apostrophe, which can be removed again', async () => {
  const texts = ['=1+1', '+1', '-1', '@x', '\tx', '\rx', "'=1", "''@", "'x", 'gpt-4o', '', null, 'a=b', '\\-', ':', '1']

  const result = await store.client.query({
    query: `SELECT ${neutralised('one')} AS cell FROM (SELECT arrayJoin({texts:Array(Nullable(String))}) AS one)`,
    query_params: { texts },
    format: 'JSONEachRow',
  })
  const cells = (await result.json<{ cell: string | null }>()).map(({ cell }) => cell)

  const changed = texts.map((text) => (text !== null && /^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text))
  expect(cells).toEqual(changed)
  expect(cells.map(back)).toEqual(texts)
})
