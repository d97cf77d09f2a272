import { expect, test } from 'vitest'
import {
  changesOfPrices,
  markOfAnnotation,
  markOfAnomaly,
  markOfCrossing,
} from '../../../../internal/console/figures/marks.js'

const AT = '2026-11-21T09:00:00.000Z'
const atMs = Date.parse(AT)

test('an annotation says of which service it is, once, opens its own link, and has an id for who may change it', () => {
  const note = { id: 'ann_1', at: AT, created_at: AT, created_by: 'key_1', link: null, service: 'checkout' }

  expect(markOfAnnotation({ ...note, text: 'release 4.2' }, true).text).toBe('checkout: release 4.2')
  const release = { ...note, text: 'Checkout 4.2', link: 'https://git.example.com/4.2' }
  const mark = { atMs, kind: 'annotation', text: 'Checkout 4.2', href: 'https://git.example.com/4.2' }
  expect(markOfAnnotation(release, true)).toEqual({ id: 'ann_1', ...mark })
  expect(markOfAnnotation(release, false)).toEqual(mark)
})

test('an anomaly opens the calls of its hour, for a person who may see calls', () => {
  const anomaly = {
    id: 'evt_1',
    detected_at: AT,
    scope: { service: 'checkout', owner: 'payments', provider: 'openai' },
    observed_usd: '412.8',
    expected_usd: '37.25',
    window: { from: AT, to: '2026-11-21T10:00:00.000Z' },
    observed_until: AT,
    score: 9,
  }
  let asked: Readonly<Record<string, string>> = {}

  const mark = markOfAnomaly(anomaly, (filters) => {
    asked = filters
    return '/there'
  })

  expect(mark).toMatchObject({ atMs, kind: 'anomaly', href: '/there' })
  expect(mark.text).toBe('checkout of payments at openai: USD 412.80 in an hour, where USD 37.25 is usual')
  expect(asked).toEqual({
    'filter[service][eq]': 'checkout',
    'filter[owner][eq]': 'payments',
    'filter[provider][eq]': 'openai',
    'filter[event_time][gte]': AT,
    'filter[event_time][lt]': '2026-11-21T10:00:00.000Z',
  })
  expect(markOfAnomaly(anomaly, () => undefined)).not.toHaveProperty('href')
})

test('a crossing names its group; the event of a test marks nothing', () => {
  const event = {
    id: 'evt_1',
    created_at: AT,
    tenant_id: 'tnt_1',
    sequence: 1,
    type: 'budget.threshold.crossed',
  } as const
  const data = { budget_id: 'bdg_1', threshold: 75 as const, period_to_date_usd: 1, ceiling_usd: 2 }
  const group = { dimension: 'owner', value: 'payments' }

  expect(markOfCrossing({ ...event, data }, undefined)).toEqual([
    { atMs, kind: 'budget', text: '75 % of a budget was spent' },
  ])
  expect(markOfCrossing({ ...event, data: { ...data, group } }, '/budgets')).toEqual([
    { atMs, kind: 'budget', text: '75 % of a budget of payments was spent', href: '/budgets' },
  ])
  expect(markOfCrossing({ ...event, data: { ...data, group, test: true } }, undefined)).toEqual([])
})

test('a price book and a negotiated price mark the instant from which calls are valued by them', () => {
  const books = [{ id: 'book_1', as_of: '2026-11-20', effective_from: AT }]

  expect(changesOfPrices(books, [], '/prices')).toEqual([
    { atMs, kind: 'price book', text: 'from here on: the price book of 2026-11-20', href: '/prices' },
  ])
})
