import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { formatQuantity } from '../../../../internal/units/quantity.js'
import {
  boundForm,
  CONSTANTS,
  evaluate,
  gpusFor,
  type Linear,
  meanForm,
  type Parameters,
  rounded,
} from '../../../../internal/valuation/energy/closed-form.js'

const gpt4o: Parameters = {
  activeB: ['44', '132'],
  totalB: ['440', '440'],
  tokensPerSecond: '41',
  firstTokenS: '0.65',
  pue: ['1.2', '1.2'],
  gramsPerKwh: '384.4',
}

test('the closed form gives the published figures for 250 tokens of gpt-4o in the USA', () => {
  const [low, high] = [boundForm(gpt4o, 0), boundForm(gpt4o, 1)]
  const show = (form: Linear | undefined): string =>
    form === undefined ? '' : formatQuantity(rounded(evaluate(form, 250, undefined)))

  expect(gpusFor('440')).toBe(16)
  expect(show(low.seconds)).toBe('6.74756097561')
  expect([show(low.energy(false)), show(high.energy(false))]).toEqual(['0.399145276188', '0.639665702088'])
  expect([show(low.usage(false)), show(high.usage(false))]).toEqual(['0.153431444167', '0.245887495883'])
  expect([show(low.embodied(false)), show(high.embodied(false))]).toEqual(['0.017571773374', '0.017571773374'])
  expect(formatQuantity(meanForm(gpt4o).energyWh(250, undefined))).toBe('0.519405489138')
  expect(meanForm(gpt4o).carbonGco2e(250, undefined)).toBe(217231243399000000n)
})

test('the number of GPUs is the smallest power of two that holds the weights', () => {
  expect(['0.1', '33.3', '33.4', '66', '67', '440', '2000'].map(gpusFor)).toEqual([1, 1, 2, 2, 4, 16, 64])
})

test('the closed form without a grid factor gives energy but no carbon', () => {
  const form = meanForm({ ...gpt4o, gramsPerKwh: undefined })

  expect(form.energyWh(250, undefined)).toBe(meanForm(gpt4o).energyWh(250, undefined))
  expect(form.carbonGco2e(250, undefined)).toBeUndefined()
})

test('a latency can only lower the modelled energy, and more tokens can only raise it', () => {
  const forms = [gpt4o, { ...gpt4o, tokensPerSecond: undefined, firstTokenS: undefined }].map(meanForm)
  fc.assert(
    fc.property(
      fc.constantFrom(...forms),
      fc.integer({ min: 1, max: 100_000 }),
      fc.nat({ max: 10_000_000 }),
      (form, tokens, latencyMs) => {
        const modelled = form.energyWh(tokens, undefined)
        const stated = form.energyWh(tokens, latencyMs)
        return stated <= modelled && form.energyWh(tokens + 1, latencyMs) >= stated
      },
    ),
  )
})

test('the constants of the closed form equal those of the built-in table', () => {
  const file = JSON.parse(readFileSync('internal/valuation/energy/energy.data.json', 'utf8'))
  const of = (name: string): string => file.constants[name].value

  expect(CONSTANTS).toEqual({
    gpuWhPerTokenPerBillion: of('gpu_energy_alpha_b64'),
    gpuWhPerToken: of('gpu_energy_gamma'),
    secondsPerTokenPerBillion: of('latency_alpha'),
    secondsPerToken: of('latency_base_b64'),
    batchRequests: of('batch_size'),
    weightBits: of('quantization_bits'),
    memoryOverhead: of('memory_overhead'),
    gpuMemoryGb: of('gpu_memory'),
    gpusPerServer: of('server_gpus'),
    serverW: String(Number(of('server_power')) * 1000),
    gpuEmbodiedKg: of('gpu_embodied_gwp'),
    serverEmbodiedKg: of('server_embodied_gwp'),
    hardwareLifeS: of('hardware_lifespan'),
  })
})
