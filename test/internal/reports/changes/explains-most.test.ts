import { expect, test } from 'vitest'
import type { Cell } from '../../../../internal/reports/changes/decompose.js'
import { type Side, sumOfSides } from '../../../../internal/reports/changes/effects.js'
import { explainsMost } from '../../../../internal/reports/changes/explains-most.js'

const side = (cost: number): Side => ({ cost: BigInt(cost), calls: 1n, tokens: 1n, unpricedCalls: 0n })
/** By service and model. */
const cell = (service: string, model: string, before: number, now: number): Cell<readonly string[]> => ({
  row: [service, model],
  before: side(before),
  now: side(now),
})
function explained(cells: readonly Cell<readonly string[]>[]) {
  const whole = {
    before: sumOfSides(cells.map(({ before }) => before)),
    now: sumOfSides(cells.map(({ now }) => now)),
  }
  return explainsMost(whole, cells, (row) => row)
}

test('a model that is dearer everywhere is named by itself', () => {
  const cells = ['chat', 'search', 'mail'].flatMap((service) => [
    cell(service, 'dear', 10, 30),
    cell(service, 'steady', 10, 10),
  ])

  expect(explained(cells)).toEqual({ dimensions: [1], labels: ['dear'] })
})

test('a service that grew with all of its models is named by itself', () => {
  const cells = ['m', 'n'].flatMap((model) => [cell('grown', model, 10, 30), cell('steady', model, 10, 10)])

  expect(explained(cells)).toEqual({ dimensions: [0], labels: ['grown'] })
})

test('one model of one service is named by both', () => {
  const cells = [
    cell('chat', 'm', 10, 40),
    cell('chat', 'n', 10, 10),
    cell('mail', 'm', 10, 10),
    cell('mail', 'n', 9, 9),
  ]

  expect(explained(cells)).toEqual({ dimensions: [0, 1], labels: ['chat', 'm'] })
})

test('of a cost that fell, what fell most is named', () => {
  expect(explained([cell('chat', 'm', 10, 1), cell('mail', 'm', 10, 12)])).toEqual({
    dimensions: [0],
    labels: ['chat'],
  })
})

test.each([
  ['all grow alike', [cell('chat', 'm', 10, 20), cell('mail', 'n', 30, 60)]],
  ['there was no cost before', [cell('chat', 'm', 0, 20), cell('mail', 'n', 0, 10)]],
  ['it costs as much as before', [cell('chat', 'm', 10, 20), cell('mail', 'n', 20, 10)]],
  ['there is nothing', []],
])('nothing is named where %s', (_, cells) => {
  expect(explained(cells)).toBeUndefined()
})
