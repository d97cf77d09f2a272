import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../../internal/auth/authenticate.js'
import { budgetsCache, rateLimitsOf } from '../../../../internal/auth/rate-limits.js'
import type { Exchange } from '../../../../internal/http/exchange.js'
import { type PageRequest, pageOfAll, readPage } from '../../../../internal/http/resource/collection.js'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import { NOW_MS } from '../../../support/invocations.js'

const deps = { cursors: createCursorCodec(new Uint8Array(32).fill(1)), clock: () => NOW_MS }
const rates = rateLimitsOf({ ingest: 1, read: 1, report: 1, control: 1, token: 1 })
const caller = (tenantId: string): Caller => ({
  tenantId,
  principal: 'key_one',
  scopes: new Set(),
  ingestionLayers: undefined,
  budgets: budgetsCache(rates)(tenantId, 'key_one'),
})

const ask = (query: string, { tenantId = 'tnt_one', name = '/things' } = {}) =>
  readPage({ query } as Exchange, caller(tenantId), name, deps, ['state', 'kind'])

function asked(query: string): PageRequest<'state' | 'kind'> {
  const read = ask(query)
  if (!read.ok) throw new Error(read.problem.detail)
  return read.request
}
const codeOf = (...question: Parameters<typeof ask>): string => {
  const read = ask(...question)
  return read.ok ? 'ok' : read.problem.code
}

interface Thing {
  readonly id: string
  readonly createdAt: string
}
const keyOf = ({ createdAt, id }: Thing): readonly string[] => [createdAt, id]
const things = (count: number): Thing[] =>
  Array.from({ length: count }, (_, i) => ({ id: `key_${i}`, createdAt: `2026-11-0${1 + (i % 3)}` }))

describe('a collection request', () => {
  test('without parameters asks for the first page of 50', () => {
    expect(asked('')).toMatchObject({ limit: 50, after: undefined, snapshotMs: NOW_MS, filters: {} })
  })

  test('carries its filters', () => {
    expect(asked('state=active&limit=3')).toMatchObject({ limit: 3, filters: { state: 'active' } })
  })

  test.each(['limit=0', 'limit=201', 'limit=x', 'limit=1&limit=2', 'offset=1', 'state=a&state=b'])(
    'with %s gets a 400',
    (query) => {
      expect(codeOf(query)).toBe('INVALID_FILTER')
    },
  )

  test('continues with its own cursor only', () => {
    const cursor = asked('state=active').cursorAfter(['2026-11-01', 'key_1'])

    expect(asked(`state=active&cursor=${cursor}`)).toMatchObject({ after: ['2026-11-01', 'key_1'] })
    expect(asked(`cursor=${cursor}&state=active&limit=7`)).toMatchObject({ limit: 7 })
    for (const other of ['', 'state=gone&', 'state=active&kind=x&', 'kind=active&'])
      expect(codeOf(`${other}cursor=${cursor}`)).toBe('INVALID_CURSOR')
    expect(codeOf(`state=active&cursor=${cursor}`, { name: '/other' })).toBe('INVALID_CURSOR')
    expect(codeOf(`state=active&cursor=${cursor}`, { tenantId: 'tnt_two' })).toBe('TENANT_MISMATCH')
    expect(codeOf('cursor=x')).toBe('INVALID_CURSOR')
  })
})

describe('pages of records in memory', () => {
  /** Follows the cursors to the end. @param between changes the records after each page */
  function walk(
    records: Thing[],
    limit: number,
    order: 'ascending' | 'descending',
    between: (page: number) => void = () => undefined,
  ) {
    const seen: Thing[] = []
    let query = `limit=${limit}`
    for (let page = 1; ; page++) {
      const { data, page: envelope } = pageOfAll(asked(query), records, keyOf, order, (thing) => thing)
      seen.push(...data)
      expect(envelope.has_more).toBe(envelope.next_cursor !== undefined)
      if (envelope.next_cursor === undefined) return seen
      query = `limit=${limit}&cursor=${envelope.next_cursor}`
      between(page)
    }
  }

  test('contain each record once, in order, at any page size', () => {
    const sizes = fc.nat({ max: 40 })
    fc.assert(
      fc.property(sizes, fc.integer({ min: 1, max: 12 }), fc.boolean(), (count, limit, isDescending) => {
        const records = things(count)
        const sorted = records.map(keyOf).map(String).sort()

        const seen = walk(records, limit, isDescending ? 'descending' : 'ascending')
          .map(keyOf)
          .map(String)

        expect(seen).toEqual(isDescending ? sorted.toReversed() : sorted)
      }),
    )
  })

  test('contain each unchanged record once while others are added and deleted', () => {
    const records = things(20)
    const stays = records.slice(10)

    const seen = walk(records, 3, 'descending', (page) => {
      records.push({ id: `key_new${page}`, createdAt: '2026-11-02' })
      records.splice(0, 1)
    })

    for (const thing of stays) expect(seen.filter(({ id }) => id === thing.id)).toHaveLength(1)
  })
})
