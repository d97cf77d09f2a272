import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { posterior } from '../../../bench/eval/ceiling.js'
import { permuteLabels, plant } from '../../../bench/eval/plant.js'
import { COMPANY, SHADOW, WITHHOLDINGS } from '../../../bench/eval/planted-company.js'
import { readTrace } from '../../../internal/local/replay/trace.js'

const ROWS = readTrace(fileURLToPath(new URL('../../../bench/data/azure-llm-2023.csv', import.meta.url)))

test.each(WITHHOLDINGS)('the ceiling comes true as often as it says, labels missing $name', (withholding) => {
  const world = plant(ROWS, withholding, 'ceiling')
  const withheld = world.events.filter(({ isLabelled }) => !isLabelled)

  const bins = Array.from({ length: 10 }, () => ({ n: 0, said: 0, right: 0 }))
  for (const event of withheld) {
    const probabilities = posterior(world, event)
    expect(probabilities.reduce((sum, p) => sum + p, 0)).toBeCloseTo(1, 9)
    for (const [place, p] of probabilities.entries()) {
      const bin = bins[Math.min(9, Math.floor(p * 10))] as (typeof bins)[number]
      bin.n++
      bin.said += p
      bin.right += Number(COMPANY[place]?.name === event.service)
    }
  }

  for (const { n, said, right } of bins) {
    // Five standard errors of a share of at most 0.5.
    expect(Math.abs(right - said) / n).toBeLessThan((5 * 0.5) / Math.sqrt(n))
  }
})

test('the same seed plants the same world, another one another', () => {
  const [withholding] = WITHHOLDINGS as [(typeof WITHHOLDINGS)[number]]
  const rows = ROWS.slice(0, 500)

  expect(plant(rows, withholding, '1')).toEqual(plant(rows, withholding, '1'))
  expect(plant(rows, withholding, '2')).not.toEqual(plant(rows, withholding, '1'))
})

test('permuted labels are the same labels on other events; what carries none stays as it is', () => {
  const [withholding] = WITHHOLDINGS as [(typeof WITHHOLDINGS)[number]]
  const world = plant(ROWS.slice(0, 2_000), withholding, '1')

  const permuted = permuteLabels(world, '1')

  const labels = ({ events }: typeof world): string[] =>
    events.filter(({ isLabelled }) => isLabelled).map(({ service }) => service)
  expect(labels(permuted)).not.toEqual(labels(world))
  expect(labels(permuted).sort()).toEqual(labels(world).sort())
  expect(labels(world)).not.toContain(SHADOW)
  expect(permuted.events.filter(({ isLabelled }) => !isLabelled)).toEqual(
    world.events.filter(({ isLabelled }) => !isLabelled),
  )
})
