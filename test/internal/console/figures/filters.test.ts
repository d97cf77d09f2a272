import { expect, test } from 'vitest'
import { addressOf, linkTo, readAddress } from '../../../../internal/console/figures/address.js'
import {
  askedIn,
  filterParams,
  filtersOf,
  filterWords,
  statedFilter,
  unheldFilters,
  withFilters,
  within,
} from '../../../../internal/console/figures/filters.js'
import { periodOf } from '../../../../internal/console/figures/period.js'
import { FILTER_FIELDS } from '../../../../internal/filters/filter-fields.js'
import { DIMENSIONS as REPORT_FIELDS } from '../../../../internal/filters/report-dimensions.js'

test('filters are read from the address as the API names them, and what is none is left out', () => {
  const params = new URLSearchParams(
    'filter[service][eq]=a,b&filter[cost_usd][gte]=0.05&filter[service][gt]=x' +
      '&filter[toString][eq]=x&filter[tags.team][in]=p&sort=-cost_usd',
  )

  expect(filtersOf(params)).toEqual([
    { field: 'service', operator: 'eq', value: 'a,b' },
    { field: 'cost_usd', operator: 'gte', value: '0.05' },
    { field: 'tags.team', operator: 'in', value: 'p' },
  ])
})

test('other filters replace those of the address, and leave the rest of it', () => {
  const params = new URLSearchParams('filter[service][eq]=a&sort=cost_usd')
  const next = withFilters(params, [{ field: 'owner', operator: 'contains', value: 'team & co' }])

  expect(addressOf('explorer', next)).toBe('/console/explorer?sort=cost_usd&filter[owner][contains]=team+%26+co')
})

test('another page keeps period and zone, and nothing else', () => {
  const { page, params } = readAddress('/console/explorer', '?period=7d&zone=UTC&record=attr_1')

  expect(page).toBe('explorer')
  expect(linkTo('', params)).toBe('/console?period=7d&zone=UTC')
})

test('a filter is stated to the API with a list of values, of which a comma can be part', () => {
  expect(statedFilter({ field: 'service', operator: 'in', value: 'a,b\\,c' }).values).toEqual(['a', 'b,c'])
  expect(statedFilter({ field: 'service', operator: 'eq', value: 'a,b' }).values).toEqual(['a,b'])
  expect(filterWords('served_model', 'in', ['a', 'b'])).toBe('model is one of a, b')
})

test('every filter of the API’s allowlist holds as it is in the address, and any other is named', () => {
  const all = Object.entries(FILTER_FIELDS).flatMap(([field, { operators, example }]) =>
    operators.map((operator) => ({ field, operator, value: example })),
  )
  const params = withFilters(new URLSearchParams('record=attr_1'), all)
  params.append('filter[colour][eq]', 'red')
  params.append('filter[service]', 'search')

  expect(filtersOf(params)).toEqual(all)
  expect(unheldFilters(params)).toEqual(['filter[colour][eq]=red', 'filter[service]=search'])
  expect(unheldFilters(new URLSearchParams('filter[pool][eq]=shared'), REPORT_FIELDS)).toEqual([])
  expect([...withFilters(params, [])]).toEqual([['record', 'attr_1']])
})

test('a report is asked with each of the filters, also with two of one name', () => {
  const stated = ['a', 'b'].map((value) => ({ field: 'service', operator: 'ne', value }) as const)

  expect(filterParams(stated)).toEqual({ 'filter[service][ne]': ['a', 'b'] })
})

test('a period that ends now asks the same while its end moves, and another one or other filters do not', () => {
  const [filters, now] = [[{ field: 'service', operator: 'eq', value: 'a' }] as const, Date.parse('2026-11-23T10:00Z')]
  const asked = (period: string, nowMs: number, zone = 'UTC') => askedIn(periodOf(period, zone, nowMs), filters)

  expect(asked('7d', now + 3_600_000)).toBe(asked('7d', now))
  expect(asked('7d', now, 'Europe/Berlin')).not.toBe(asked('7d', now))
  expect(asked('2026-11-17..2026-11-20', now)).not.toBe(asked('7d', now))
  expect(askedIn(periodOf('7d', 'UTC', now), [])).not.toBe(asked('7d', now))
  expect(within({ fromMs: 0, toMs: 1 }, filters).map(statedFilter)).toEqual([
    { field: 'event_time', operator: 'gte', values: ['1970-01-01T00:00:00.000Z'] },
    { field: 'event_time', operator: 'lt', values: ['1970-01-01T00:00:00.001Z'] },
    { field: 'service', operator: 'eq', values: ['a'] },
  ])
})
