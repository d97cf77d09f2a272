import { expect, test } from 'vitest'
import { Tail } from '../../../internal/local/tail.js'

const record = (id: string, materialized_at: string) => ({ id, materialized_at })
type Stored = ReturnType<typeof record>

/** The API over these records: pages of two. */
function apiOf(stored: Stored[]) {
  const asked: string[] = []
  return {
    asked,
    async get(path: string) {
      asked.push(path)
      const query = new URLSearchParams(path.split('?')[1])
      const since = query.get('filter[materialized_at][gte]') ?? ''
      const from = Number(query.get('cursor') ?? 0)
      const found = stored.filter((one) => one.materialized_at >= since).sort((a, b) => (key(a) < key(b) ? -1 : 1))
      const isMore = found.length > from + 2
      const page = isMore ? { next_cursor: String(from + 2) } : {}
      return { status: 200, body: JSON.stringify({ data: found.slice(from, from + 2), page }) }
    },
  }
}
const key = ({ materialized_at, id }: Stored): string => `${materialized_at} ${id}`

test('shows each record once, in order, also many of one instant and such that come later', async () => {
  const stored = ['a', 'b', 'c', 'd', 'e'].map((id) => record(id, '2026-11-21T09:30:00.500Z'))
  const tail = new Tail(apiOf(stored), '2026-11-21T09:30:00.000Z', '')
  const shown: string[] = []
  const drain = async (): Promise<void> => {
    for (let some = await tail.next(); some.length > 0; some = await tail.next())
      shown.push(...some.map(({ id }) => id))
  }

  await drain()
  expect(shown).toEqual(['a', 'b', 'c', 'd', 'e'])
  stored.push(record('0', '2026-11-21T09:30:00.500Z'), record('f', '2026-11-21T09:30:01.000Z'))
  await drain()
  expect(shown.slice(5)).toEqual(['0', 'f'])
  await drain()
  expect(shown).toHaveLength(7)
})

test('asks with the filter, and names the answer that is none', async () => {
  const api = apiOf([])
  await new Tail(api, '2026-11-21T09:30:00.000Z', '&filter[service][eq]=x').next()
  expect(api.asked[0]).toContain('&filter[service][eq]=x')

  const refused = { get: async () => ({ status: 403, body: '{"detail":"needs a scope"}' }) }
  await expect(new Tail(refused, '', '').next()).rejects.toThrow('403: needs a scope')
})
