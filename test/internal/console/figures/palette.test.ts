import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Findable, found, namedEntries, placeOfId } from '../../../../internal/console/figures/palette.js'

const entry = (title: string, kind = 'service'): Findable => ({ title, kind })
const titles = (entries: readonly Findable[]) => entries.map(({ title }) => title)

test('a whole title is found before one that begins so, a word within one, and letters within a word', () => {
  const all = ['recheckout', 'pay-checkout', 'Checkout-v2', 'checkout', 'search'].map((title) => entry(title))

  expect(titles(found(all, 'CHECKOUT', 9))).toEqual(['checkout', 'Checkout-v2', 'pay-checkout', 'recheckout'])
  expect(titles(found(all, 'checkout', 2))).toEqual(['checkout', 'Checkout-v2'])
})

test('every word must be there: in the title, or as what it is', () => {
  const all = [entry('Budgets', 'page'), entry('Add a budget', 'action'), entry('budget-bot', 'service')]

  expect(titles(found(all, 'budget', 9))).toEqual(['Budgets', 'budget-bot', 'Add a budget'])
  expect(titles(found(all, 'budget act', 9))).toEqual(['Add a budget'])
  expect(found(all, 'budget nobody', 9)).toEqual([])
})

test('without a text, all are there in their order, up to the bound', () => {
  const all = [entry('b'), entry('a'), entry('c')]

  expect(found(all, '  ', 2)).toEqual(all.slice(0, 2))
})

test('what is found has every word of the text, and is bounded', () => {
  const entries = fc.array(fc.record({ title: fc.string({ maxLength: 8 }), kind: fc.constantFrom('page', 'action') }))
  fc.assert(
    fc.property(entries, fc.string({ maxLength: 6 }), fc.nat({ max: 5 }), (all, text, max) => {
      const some = found(all, text, max)
      const words = text.toLowerCase().split(/\s+/)
      const has = ({ title, kind }: Findable) =>
        words.every((word) => title.toLowerCase().includes(word) || kind.includes(word))

      expect(some.length).toBe(Math.min(max, all.filter(has).length))
      expect(some.every(has)).toBe(true)
    }),
  )
})

const PARAMS = new URLSearchParams('period=7d')
const shown = (entries: readonly Findable[]) => entries.map(({ title, kind }) => [title, kind])
const inDirectory = (title: string, kind: string) => ({ title, kind, does: '/directory' })

test('a service that has calls and is in the directory is listed once, where its costs are', () => {
  const calls = [
    { ...entry('checkout'), dimension: 'service' },
    { ...entry('search', 'owner'), dimension: 'owner' },
  ]
  const listed = [
    inDirectory('Checkout', 'service in the directory'),
    inDirectory('search', 'service in the directory'),
    inDirectory('checkout', 'person in the directory'),
  ]

  const entries = namedEntries(calls, listed, PARAMS)

  expect(shown(entries)).toEqual([
    ['checkout', 'service'],
    ['search', 'owner'],
    ['search', 'service in the directory'],
    ['checkout', 'person in the directory'],
  ])
  expect(entries[0]?.does).toBe('/console?period=7d&filter[service][eq]=checkout')
})

test('calls that no service takes are nobody’s, as on every page', () => {
  expect(shown(namedEntries([{ ...entry('unallocated'), dimension: 'service' }], [], PARAMS))).toEqual([
    ['nobody', 'service'],
  ])
})

const BITS = '7v3k9q2m4x8n5c1r6t0w3y9zb0'

test.each([
  [`attr_${BITS}`, 'explorer', { record: `attr_${BITS}` }],
  [` inv_${BITS}\n`, 'explorer', { record: `attr_${BITS}` }],
  [`bdg_${BITS}`, 'budgets', { budget: `bdg_${BITS}` }],
  [`usr_${BITS}`, 'access', { list: 'people', open: `usr_${BITS}` }],
  ['0af7651916cd43dd8448eb211c80319c', 'explorer', { 'filter[trace_id][eq]': '0af7651916cd43dd8448eb211c80319c' }],
])('the id %s leads to the page %s', (id, page, params) => {
  expect(placeOfId(id)).toMatchObject({ page, params })
})

test.each(['', 'checkout', 'attr_short', `xyz_${BITS}`, `toString_${BITS}`])('%j is no id', (text) => {
  expect(placeOfId(text)).toBeUndefined()
})
