import fc from 'fast-check'
import { expect, test } from 'vitest'
import { foldedApart, namesOf, type Stack, stackOf } from '../../../../internal/console/figures/stack.js'
import type { UsageRow } from '../../../../internal/console/figures/usage.js'
import { formatQuantity, parseSum, sum } from '../../../../internal/units/quantity.js'

const DAY = 24 * 60 * 60 * 1000
const at = (day: number): string => new Date(day * DAY).toISOString()
const row = (from: string, cost: string, more: Partial<UsageRow> = {}): UsageRow => ({
  from,
  to: from,
  folded: false,
  people: 9,
  unattributed: false,
  cost_usd: cost,
  energy_wh: '0',
  carbon_gco2e: '0',
  calls: 1,
  input_tokens: 0,
  output_tokens: 0,
  cached_input_tokens: 0,
  cache_write_tokens: 0,
  reasoning_tokens: 0,
  unpriced_calls: 0,
  cost_share: null,
  cost_usd_per_call: null,
  cost_usd_per_1k_tokens: null,
  lower_bounds: [],
  confidence: null,
  cost_usd_by_band: { chargeback_ready: cost, provisional: '0', estimated: '0' },
  cost_usd_by_trust: { eligible: cost, held_back: '0', provisional: '0', estimated: '0', unattributed: '0' },
  unattributed_calls: 0,
  unattributed_cost_usd: '0',
  reasons: {},
  ...more,
})
const added = (amounts: readonly string[]): string => formatQuantity(sum(amounts.map((text) => parseSum<'USD'>(text))))

const DAYS = [0, DAY, 2 * DAY]
const stacked = (asked: Partial<Parameters<typeof stackOf>[0]>) => {
  const question = {
    intervals: [],
    cells: [],
    isCut: false,
    startsMs: DAYS,
    toMs: 3 * DAY,
    dimension: 'service',
    order: ['search'],
    measure: 'cost_usd' as const,
    ...asked,
  }
  return { question, stack: stackOf(question) }
}
const kindsOf = ({ series }: Stack) => series.map(({ kind, total }) => [kind, total])
const partsOf = ({ bars }: Stack) => bars.map(({ total, parts }) => [total, ...parts])

test('parts of a bar add up to its total, bars to the total of the chart, days without calls are empty bars', () => {
  const { stack } = stacked({
    intervals: [row(at(0), '10.000000000000000003'), row(at(2), '4')],
    cells: [
      row(at(0), '6', { service: 'search' }),
      row(at(0), '2.000000000000000003', { service: 'other-one' }),
      row(at(0), '2', { service: 'unallocated', unattributed: true }),
      row(at(2), '3', { service: 'search' }),
      row(at(2), '1', { folded: true, service: null }),
    ],
  })

  expect(kindsOf(stack)).toEqual([
    ['named', '9'],
    ['nobody', '2'],
    ['rest', '2.000000000000000003'],
    ['folded', '1'],
  ])
  expect(partsOf(stack)).toEqual([
    ['10.000000000000000003', '6', '2', '2.000000000000000003', '0'],
    ['0', '0', '0', '0', '0'],
    ['4', '3', undefined, undefined, '1'],
  ])
  expect(stack.total).toBe('14.000000000000000003')
})

test('a name without a row on a day with small groups is not 0 there: it may be one of them', () => {
  const { stack } = stacked({
    intervals: [row(at(0), '6'), row(at(1), '2', { people: null })],
    cells: [row(at(0), '6', { service: 'search' }), row(at(1), '2', { folded: true, service: null })],
  })

  expect(partsOf(stack)).toEqual([
    ['6', '6', '0'],
    ['2', undefined, '2'],
    ['0', '0', '0'],
  ])
})

test('intervals that are folded are in the total and in no bar, which says so; their cells are not shown either', () => {
  const { stack } = stacked({
    intervals: [row(at(0), '1'), { ...row(at(0), '2', { folded: true }), to: at(3) }],
    cells: [
      row(at(0), '1', { service: 'search' }),
      // This day joined the folded row, since it cost least.
      row(at(1), '1', { service: 'search' }),
      { ...row(at(0), '1', { folded: true, service: null }), to: at(3) },
    ],
  })

  expect([stack.together, stack.total]).toEqual(['2', '3'])
  expect(partsOf(stack)).toEqual([
    ['1', '1'],
    ['0', '0'],
    ['0', '0'],
  ])
  expect(stack.bars.map(({ isHidden }) => isHidden)).toEqual([false, true, true])
})

test('others below zero are a part of their own: a sum with those above it would hide both', () => {
  const { stack } = stacked({
    intervals: [row(at(0), '2')],
    cells: [row(at(0), '7', { service: 'one' }), row(at(0), '-5', { service: 'other' })],
  })

  expect(kindsOf(stack)).toEqual([
    ['rest', '7'],
    ['rest', '-5'],
  ])
})

test('a service may have the name of what every object has', () => {
  const { stack } = stacked({
    intervals: [row(at(0), '4')],
    cells: [row(at(0), '4', { service: 'constructor' })],
    order: ['constructor'],
  })

  expect(kindsOf(stack)).toEqual([['named', '4']])
})

test('calls that state nothing are a name of their own: the empty one', () => {
  const cells = [row(at(0), '4', { service: null })]

  expect(namesOf(cells, 'service')).toEqual([''])
  expect(kindsOf(stacked({ intervals: cells, cells, order: [''] }).stack)).toEqual([['named', '4']])
})

test('what is left of a total is folded elsewhere, or among the cells that were not loaded', () => {
  const asked = { intervals: [row(at(0), '5')], cells: [row(at(0), '4', { service: 'search' })] }

  expect(kindsOf(stacked(asked).stack)).toEqual([
    ['named', '4'],
    ['folded', '1'],
  ])
  expect(kindsOf(stacked({ ...asked, isCut: true }).stack)).toEqual([
    ['named', '4'],
    ['rest', '1'],
  ])
})

test('a chart says which names of the table are among its small groups', () => {
  const { stack, question } = stacked({
    intervals: [row(at(0), '6'), row(at(1), '2')],
    cells: [row(at(0), '6', { service: 'search' }), row(at(1), '2', { folded: true, service: null })],
  })
  const table = [row(at(0), '7.5', { service: 'search' }), row(at(0), '0.5', { folded: true, service: null })]

  expect(foldedApart(stack, table, question)).toEqual({ chart: '2', table: '0.5', names: ['search'] })
  expect(foldedApart(stack, table, { ...question, isCut: true })).toBeUndefined()
  expect(foldedApart(stack, [row(at(0), '2', { folded: true })], question)).toBeUndefined()
})

const amounts = fc.integer({ min: -1_000, max: 100_000 }).map((steps) => (steps / 100).toFixed(2))
const someCells = fc.array(
  fc.record({ day: fc.nat(2), label: fc.constantFrom('a', 'b', 'c', 'nobody', 'small'), cost: amounts }),
  { maxLength: 20 },
)

test('whatever folds, parts add up to bars, bars to the total, and no part of the rest has both signs', () => {
  fc.assert(
    fc.property(someCells, fc.array(fc.nat(2)), fc.boolean(), (drawn, foldedDays, isCut) => {
      const cells = drawn.map(({ day, label, cost }) =>
        row(at(day), cost, {
          service: label,
          ...(label === 'small' && { folded: true, service: null }),
          ...(label === 'nobody' && { unattributed: true }),
        }),
      )
      const days = [0, 1, 2].filter((day) => drawn.some((cell) => cell.day === day))
      const totalOf = (day: number): string => added(drawn.filter((cell) => cell.day === day).map(({ cost }) => cost))
      const hidden = days.filter((day) => foldedDays.includes(day))
      const { stack } = stacked({
        intervals: [
          ...days.filter((day) => !hidden.includes(day)).map((day) => row(at(day), totalOf(day))),
          ...(hidden.length === 0 ? [] : [{ ...row(at(0), added(hidden.map(totalOf)), { folded: true }), to: at(3) }]),
        ],
        cells: isCut ? cells.slice(0, 3) : cells,
        isCut,
        order: ['a', 'b'],
      })

      for (const { total, parts } of stack.bars) expect(added(parts.map((part) => part ?? '0'))).toBe(total)
      expect(added([...stack.bars.map(({ total }) => total), stack.together])).toBe(stack.total)
      expect(stack.total).toBe(added(drawn.map(({ cost }) => cost)))
      stack.series.forEach(({ kind, total }, series) => {
        expect(added(stack.bars.map(({ parts }) => parts[series] ?? '0'))).toBe(total)
        const signs = new Set(stack.bars.map(({ parts }) => Math.sign(Number(parts[series] ?? 0))))
        if (kind === 'rest' && !isCut) expect(signs.has(1) && signs.has(-1)).toBe(false)
      })
    }),
  )
})
