import { describe, expect, test } from 'vitest'
import { loadPriceBook, loadPriceBookFile, priceBook } from '../../../../internal/valuation/cost/price-book.js'
import { classEstimates, sizeInName } from '../../../../internal/valuation/energy/class-estimates.js'
import { explainFootprint, uncertaintyInWords } from '../../../../internal/valuation/energy/explain-footprint.js'
import { footprint, loadFootprintTables } from '../../../../internal/valuation/energy/footprint.js'
import { call } from '../../../support/attribution-events.js'
import { checkedClasses, showsEnergyTables } from '../../../support/energy-page.js'

const tables = loadFootprintTables()
const book = loadPriceBook()
const classes = classEstimates(tables.models, book)
const of = (provider: string, requestedModel: string, stated: object = {}) =>
  footprint(call({ provider, requestedModel, ...stated }), tables, { classes })
const rowOf = (provider: string, model: string): string => {
  const { details, energyBasis } = of(provider, model)
  return `${energyBasis} ${details.model?.row ?? details.energy_reason}`
}

/** A book with more models, as a newer one would have them. */
function withModels(...rows: { provider: string; model: string; mode?: string; input?: string; output?: string }[]) {
  const file = loadPriceBookFile()
  return classEstimates(tables.models, priceBook({ ...file, models: [...file.models, ...rows] }, 'book_newer'))
}

test.each([
  ['xai', 'grok-4', 'class_estimate class large'],
  ['xai', 'grok-4-fast-reasoning', 'class_estimate class small'],
  ['bedrock', 'us.amazon.nova-pro-v1:0', 'class_estimate class medium'],
  ['perplexity', 'sonar-reasoning-pro', 'class_estimate class large'],
  ['deepseek', 'deepseek-chat', 'class_estimate class small of deepseek'],
  ['deepseek', 'deepseek-reasoner', 'class_estimate class small of deepseek'],
  ['openai', 'o3', 'class_estimate class large of openai'],
  ['anthropic', 'claude-3-5-sonnet-20241022', 'class_estimate class large of anthropic'],
  ['bedrock', 'anthropic.claude-3-opus-20240229-v1:0', 'class_estimate class frontier of anthropic'],
  ['vertex_ai', 'claude-3-5-haiku', 'class_estimate class medium of anthropic'],
  ['gemini', 'gemini-1.5-pro', 'class_estimate class medium of gemini'],
  ['groq', 'deepseek-r1-distill-llama-70b', 'class_estimate size 70B'],
  ['groq', 'mixtral-8x7b-32768', 'class_estimate size 8x7B'],
])('%s %s is a %s', (provider, model, expected) => {
  expect(rowOf(provider, model)).toBe(expected)
})

test.each([
  ['a model that the table knows is modelled', 'openai', 'gpt-4o', 'modelled openai/gpt-4o'],
  ['a model without a price is unknown', 'openai', 'gpt-99', 'unknown unknown_model'],
  ['speech is unknown', 'bedrock', 'amazon.nova-sonic-v1:0', 'unknown not_text_output'],
  ['speech as it is spoken is unknown', 'gemini', 'gemini-3.8-live', 'unknown not_text_output'],
  ['a size in a name alone is no class', 'in-house', 'our-13b', 'unknown unknown_model'],
  ["a model of another provider's price list is unknown", 'openai', 'grok-4', 'unknown unknown_model'],
  ['a model without a valid price is unknown', 'gemini', 'gemini-exp-1114', 'unknown unknown_model'],
  ['speech is not text', 'openai', 'gpt-4o-mini-tts', 'unknown not_text_output'],
])('%s', (_, provider, model, expected) => {
  expect(rowOf(provider, model)).toBe(expected)
})

test('every model that the book prices as text generation has energy, modelled or by class', () => {
  const unknown = book.textPrices().flatMap(({ provider, model }) => {
    const found = tables.models.find(provider, model)
    if (found.kind === 'model') return []
    return found.reason === 'unknown_model' && classes.find(provider, model) ? [] : [found.reason]
  })

  expect(book.textPrices().length).toBeGreaterThan(1500)
  expect(new Set(unknown)).toEqual(new Set(['not_text_output']))
})

describe('a model that a newer book prices', () => {
  test('is of the class of what it charges per million output tokens', () => {
    const classOf = {
      '0.4': 'class small',
      '1': 'class small',
      '1.01': 'class medium',
      '5': 'class medium',
      '20': 'class large',
      '20.5': 'class frontier',
      '900': 'class frontier',
    }
    const named = (output: string) => ({ provider: 'xai', model: `grok-9-at-${output}` })
    const estimates = withModels(
      ...Object.keys(classOf).map((output) => ({ ...named(output), mode: 'chat', input: '0.1', output })),
    )

    for (const [output, row] of Object.entries(classOf)) {
      expect(estimates.find('xai', named(output).model)?.row, output).toBe(row)
    }
  })

  test('has the typical size of what its vendor charges as much for', () => {
    const estimates = withModels({ provider: 'anthropic', model: 'claude-verse-9', input: '3', output: '15' })
    const sonnet = tables.models.find('anthropic', 'claude-sonnet-4-5')
    const found = estimates.find('anthropic', 'claude-verse-9')

    expect(found?.modelClass).toMatchObject({
      by: 'price',
      name: 'large',
      vendor: 'anthropic',
      price_book: 'book_newer',
    })
    expect(sonnet.kind === 'model' && found?.modelClass?.typical_total_b).toBe(
      sonnet.kind === 'model' && sonnet.model.totalB[0],
    )
  })

  test('has its class also where the book lists it in one region only', () => {
    const file = loadPriceBookFile()
    const row = { provider: 'azure', model: 'grok-9', mode: 'chat', region: 'eu', input: '3', output: '15' }
    const estimates = classEstimates(tables.models, priceBook({ ...file, models: [...file.models, row] }, 'book_eu'))

    expect(estimates.find('azure', 'grok-9')?.row).toBe('class large')
    expect(estimates.find('azure', 'azure/eu/grok-9')?.row).toBe('class large')
  })

  test('has no class where it is none of text', () => {
    const rows = [
      { provider: 'xai', model: 'grok-9-see', mode: 'embedding', input: '1', output: '0' },
      { provider: 'xai', model: 'grok-9-draw', mode: 'image', input: '1', output: '40' },
      { provider: 'xai', model: 'grok-9-hear', mode: 'transcription', input: '1', output: '10' },
    ]
    const estimates = withModels(...rows)

    for (const { provider, model } of rows) expect(estimates.find(provider, model), model).toBeUndefined()
  })
})

test('a model that others serve has the typical size of its vendor, at the price of its host', () => {
  expect(rowOf('openrouter', 'deepseek/deepseek-chat')).toMatch(/^class_estimate class (small|medium) of deepseek$/)
})

test('the variant that is served for nothing is as large as the one with a price', () => {
  expect(rowOf('openrouter', 'x-ai/grok-4:free')).toBe(rowOf('openrouter', 'x-ai/grok-4'))
})

test('a class estimate has a wide range, low confidence, the factor of its zone, and says so in words', () => {
  const event = { outputTokens: 1000, inputTokens: 100, region: 'eu-north-1' }
  const { details, energyBasis, carbonBasis, energyWh } = of('xai', 'grok-4', event)
  const { energy, carbonParts, carbonGco2e } = explainFootprint(details, event)

  expect([energyBasis, carbonBasis, details.confidence]).toEqual(['class_estimate', 'class_estimate', 0.25])
  expect(details.grid).toMatchObject({ zone: 'SWE' })
  expect(energy?.mean).toBe(energyWh)
  expect((energy?.max ?? 0n) > 10n * (energy?.min ?? 0n)).toBe(true)
  expect((energy?.min ?? 0n) < energyWh && energyWh < (energy?.max ?? 0n)).toBe(true)
  expect((carbonParts?.usage ?? 0n) + (carbonParts?.embodied ?? 0n)).toBe(carbonGco2e)
  expect(uncertaintyInWords(details)).toMatch(/^not modelled, .* price class large .* \d+ known models/)
})

test('measured energy of a model of unknown size stays measured, and its carbon modelled', () => {
  const { energyBasis, carbonBasis } = of('xai', 'grok-4', { energyWh: '1' })
  expect([energyBasis, carbonBasis]).toEqual(['measured', 'modelled'])
})

test.each([
  ['qwen2.5-72b-instruct', '72B', ['7.2', '72'], ['72', '72'], '72'],
  ['qwen2p5-0p5b-instruct', '0.5B', ['0.05', '0.5'], ['0.5', '0.5'], '0.5'],
  ['qwen3-vl-235b-a22b-instruct', '235B', ['22', '22'], ['235', '235'], '22'],
  ['qwen3-coder-480b-instruct', '480B', ['48', '480'], ['480', '480'], '48'],
  ['WizardLM-2-8x22B', '8x22B', ['22', '176'], ['140.8', '176'], '44'],
  ['together-ai-21.1b-41b', '21.1-41B', ['2.11', '41'], ['21.1', '41'], '31.05'],
])('%s states a size of %s', (name, size, active, total, typical) => {
  expect(sizeInName(name)).toMatchObject({ name: size, activeB: active, totalB: total, typicalActiveB: typical })
})

test.each(['grok-4', 'llama-4-scout-17b-128e-instruct-maas', 'claude-3-5-sonnet', 'gemma-3n-e4b-it', 'o3', 'v2b2'])(
  '%s states no size',
  (name) => {
    expect(sizeInName(name)).toBeUndefined()
  },
)

test('of the sizes that the table knows of four vendors, each hidden in turn, most are within the range', () => {
  const { models, within, middleFactor } = checkedClasses()

  expect(models).toBeGreaterThan(30)
  expect(within / models).toBeGreaterThan(0.85)
  expect(middleFactor).toBeLessThan(3)
})

test('the guide shows the figures of the present tables: npm run generate writes them', () => {
  expect(showsEnergyTables()).toBe(true)
})
