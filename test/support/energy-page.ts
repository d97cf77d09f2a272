/**
 * The tables of `deploy/docs/energy.md` that are generated: our figures beside published ones, class estimates of
 * known models, and how good they are.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { formatQuantity, type Quantity, type Unit } from '../../internal/units/quantity.js'
import { loadPriceBook } from '../../internal/valuation/cost/price-book.js'
import { classEstimates } from '../../internal/valuation/energy/class-estimates.js'
import type { EnergyModel, EnergyModelLookup, EnergyModels } from '../../internal/valuation/energy/energy-models.js'
import { type Banded, explainFootprint } from '../../internal/valuation/energy/explain-footprint.js'
import { footprint, loadFootprintTables } from '../../internal/valuation/energy/footprint.js'
import { call } from './attribution-events.js'

const PAGE = fileURLToPath(new URL('../../deploy/docs/energy.md', import.meta.url))
const tables = loadFootprintTables()
const book = loadPriceBook()

interface Compared {
  readonly who: string
  readonly published: string
  readonly provider: string
  readonly model: string
  readonly outputTokens: number
  readonly region?: string
}

/** Published figures with the nearest call of ours; where they differ in scope the page says in words. */
const COMPARED: readonly Compared[] = [
  {
    who: 'Google, median text prompt of Gemini Apps, May 2025',
    published: '0.24 Wh, 0.03 g (market-based)',
    provider: 'gemini',
    model: 'gemini-2.5-flash',
    outputTokens: 250,
  },
  {
    who: 'OpenAI, "average query" of ChatGPT, June 2025',
    published: '0.34 Wh',
    provider: 'openai',
    model: 'gpt-4o',
    outputTokens: 300,
  },
  {
    who: 'Mistral, life cycle of Large 2, answer of Le Chat, July 2025',
    published: '1.14 g',
    provider: 'mistral',
    model: 'mistral-large-2411',
    outputTokens: 400,
  },
  {
    who: 'the same, on the average grid of the world',
    published: '1.14 g',
    provider: 'mistral',
    model: 'mistral-large-2411',
    outputTokens: 400,
    region: 'WOR',
  },
  {
    who: 'Epoch AI (independent), GPT-4o, 500 tokens, February 2025',
    published: '0.3 Wh',
    provider: 'openai',
    model: 'gpt-4o',
    outputTokens: 500,
  },
  {
    who: 'ML.ENERGY (measured, GPUs only), Llama 3.1 70B, 352 tokens',
    published: '0.078 Wh',
    provider: 'huggingface',
    model: 'meta-llama/Llama-3.1-70B-Instruct',
    outputTokens: 352,
  },
]

/** Models of unknown size, with 1,000 output tokens. */
const ESTIMATED = [
  ['xai', 'grok-4'],
  ['xai', 'grok-4-fast'],
  ['bedrock', 'us.amazon.nova-pro-v1:0'],
  ['perplexity', 'sonar'],
  ['deepseek', 'deepseek-chat'],
  ['openai', 'o3'],
  ['anthropic', 'claude-3-5-sonnet-20241022'],
  ['anthropic', 'claude-3-opus-20240229'],
  ['groq', 'deepseek-r1-distill-llama-70b'],
] as const

function energyPage(page: string): string {
  const replaced = (text: string, name: string, block: string): string =>
    text.replace(
      new RegExp(`(<!-- ${name}: generated -->\\n)[\\s\\S]*(<!-- /${name} -->)`),
      (_, from: string, to: string) => `${from}\n${block}\n\n${to}`,
    )
  return replaced(
    replaced(replaced(page, 'published', comparedTable()), 'estimates', estimatesTable()),
    'check',
    checkInWords(),
  )
}

/** Whether the page shows them. The formatter pads cells and breaks lines. */
export function showsEnergyTables(): boolean {
  const page = readFileSync(PAGE, 'utf8')
  return unpadded(page) === unpadded(energyPage(page))
}

export function writeEnergyPage(): void {
  writeFileSync(PAGE, energyPage(readFileSync(PAGE, 'utf8')))
}

const unpadded = (text: string): string => text.replace(/\s+/g, ' ').replace(/-{3,}/g, '---')

function comparedTable(): string {
  const rows = COMPARED.map(({ who, published, provider, model, outputTokens, region }) => {
    const { energy, carbon } = shown(provider, model, outputTokens, region)
    return `| ${who} | ${published} | \`${model}\`, ${outputTokens} tokens | ${energy} Wh | ${carbon} g |`
  })
  return [
    '| published by | figure | nearest call of ours | energy (range) | carbon (range) |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}

function estimatesTable(): string {
  const rows = ESTIMATED.map(([provider, model]) => {
    const { energy, details } = shown(provider, model, 1000)
    const { name, by, vendor, output_usd_per_million: usd } = details.model?.class ?? {}
    const of = by === 'price' ? `${name}: USD ${usd} per million output tokens` : `size in the name: ${name}`
    return `| \`${provider}\` \`${model}\` | ${of} | ${vendor ?? (by === 'price' ? 'all vendors' : '')} | ${energy} Wh |`
  })
  return [
    '| model | class | typical model of | energy of 1,000 output tokens (range) |',
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n')
}

function shown(provider: string, requestedModel: string, outputTokens: number, region?: string) {
  const event = call({
    provider,
    requestedModel,
    outputTokens,
    inputTokens: outputTokens,
    ...(region !== undefined && { region }),
    eventTimeMs: Date.UTC(2026, 10, 29),
  })
  const { details } = footprint(event, tables, { classes: classEstimates(tables.models, book) })
  const { energy, carbon } = explainFootprint(details, event)
  return { details, energy: banded(energy), carbon: banded(carbon) }
}

function banded<U extends Unit>(band: Banded<U> | undefined): string {
  if (band === undefined) throw new Error('a call of the page has no figure')
  const text = (value: Quantity<U>): string => String(Number(Number(formatQuantity(value)).toPrecision(2)))
  return `${text(band.mean)} (${text(band.min)} to ${text(band.max)})`
}

function checkInWords(): string {
  const { models, within, middleFactor } = checkedClasses()
  return (
    `Check: each of the ${models} sizes that the table knows of OpenAI, Anthropic, Google and Mistral was hidden in\n` +
    `turn and estimated by its price class. ${within} lie within the range, and for half of them the typical size is\n` +
    `within a factor of ${middleFactor.toFixed(1)} of the table's.`
  )
}

/** Hides every size that the table knows of four vendors in turn and estimates it by its class. */
export function checkedClasses() {
  const lookups = new Map<string, EnergyModelLookup>()
  const known = new Map<string, { provider: string; model: string; truth: EnergyModel }>()
  for (const { provider, model } of book.textPrices()) {
    const lookup = tables.models.find(provider, model)
    lookups.set(`${provider}\n${model}`, lookup)
    if (lookup.kind === 'none' || lookup.model.foundBy === 'family') continue
    if (!CHECKED_VENDORS.has(provider)) continue
    if (!known.has(sizeOf(lookup.model))) known.set(sizeOf(lookup.model), { provider, model, truth: lookup.model })
  }
  const checked = [...known.values()].flatMap(({ provider, model, truth }) => {
    const models: EnergyModels = {
      ...tables.models,
      find(askedProvider, askedModel) {
        const found = lookups.get(`${askedProvider}\n${askedModel}`) ?? NONE
        return found.kind === 'model' && sizeOf(found.model) === sizeOf(truth) ? NONE : found
      },
    }
    const found = classEstimates(models, book).find(provider, model)
    if (found?.modelClass?.by !== 'price') return []
    const middle = (Number(truth.totalB[0]) + Number(truth.totalB[1])) / 2
    const ratio = Number(found.modelClass.typical_total_b) / middle
    const isWithin = overlaps(found.activeB, truth.activeB) && overlaps(found.totalB, truth.totalB)
    return [{ factor: Math.max(ratio, 1 / ratio), isWithin }]
  })
  const factors = checked.map(({ factor }) => factor).sort((left, right) => left - right)
  return {
    models: checked.length,
    within: checked.filter(({ isWithin }) => isWithin).length,
    middleFactor: factors[Math.floor(factors.length / 2)] ?? Number.NaN,
  }
}

const CHECKED_VENDORS: ReadonlySet<string> = new Set(['openai', 'anthropic', 'gemini', 'mistral'])
const NONE: EnergyModelLookup = { kind: 'none', reason: 'unknown_model' }
const sizeOf = ({ activeB, totalB }: EnergyModel): string => `${activeB}/${totalB}`
const overlaps = (one: readonly string[], other: readonly string[]): boolean =>
  Number(one[0]) <= Number(other[1]) && Number(other[0]) <= Number(one[1])
