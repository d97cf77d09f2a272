import { expect, test } from 'vitest'
import { findVisible } from '../../../../internal/attribution/records/visible.js'

/**
 * A record that is valid from 1,000 on, read by a watermark that stands at each of these in turn, and then at the last.
 */
async function find(instants: readonly number[], isThere = true) {
  let reads = 0
  let at = 0
  const next = async (): Promise<number> => instants[Math.min(at++, instants.length - 1)] ?? 0
  const found = await findVisible(
    async () => {
      reads++
      return { at: (atMs: number) => (isThere && atMs >= 1_000 ? { valid_from_ms: '1000' } : undefined) }
    },
    { latest: next, renewed: next },
  )
  return { found, reads }
}

test('a record that is already readable is read once, as of the newest instant', async () => {
  const { found, reads } = await find([1_500])

  expect(found).toMatchObject({ record: { valid_from_ms: '1000' }, atMs: 1_500 })
  expect(reads).toBe(1)
})

test('a lookup waits for a record that is stored but not readable yet', async () => {
  const { found, reads } = await find([900, 950, 999, 1_000])

  expect(found).toMatchObject({ record: { valid_from_ms: '1000' }, atMs: 1_000 })
  expect(reads).toBe(2)
})

test('a record that stays unreadable is a 503, and an unknown record is a 404', async () => {
  expect((await find([900])).found).toMatchObject({ code: 'SERVICE_UNAVAILABLE', retryAfterSeconds: 1 })
  expect((await find([900], false)).found).toMatchObject({ code: 'NOT_FOUND' })
})
