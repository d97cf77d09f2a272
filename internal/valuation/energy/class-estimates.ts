/**
 * Estimates the size of a model that no table knows, from what is public about it: a size in its name, else what its
 * provider charges for output. Only for models that the price book prices as text generation; any other stays unknown.
 *
 * Providers charge more for what costs them more to run, so the models of a price class that the energy table does know
 * say how large such a model may be. Within one price class they differ by a factor of ten and more: the range is wide
 * on purpose, and the figure is never called modelled.
 */
import type { PriceBook } from '../cost/price-book.js'
import type { TextPrice } from '../cost/text-prices.js'
import { modelNames } from '../names/model-names.js'
import type { Range } from './closed-form.js'
import { bareNames, type EnergyModel, type EnergyModels } from './energy-models.js'
import type { ModelClass } from './footprint-details.js'

/** Upper limits of the price classes, USD per 1,000,000 output tokens; above the last one it is `frontier`. */
const PRICE_CLASSES = [
  { name: 'small', upToUsd: 1 },
  { name: 'medium', upToUsd: 5 },
  { name: 'large', upToUsd: 20 },
  { name: 'frontier', upToUsd: Number.POSITIVE_INFINITY },
] as const
export type PriceClass = (typeof PRICE_CLASSES)[number]['name']

/** The range of a price class leaves out a tenth of its known models on either side. */
const LEFT_OUT = 0.1

export interface ClassEstimates {
  /** Of the price book that the classes rest on. */
  readonly book: string
  /** @returns undefined for a model that the book does not price as text generation */
  find(provider: string, model: string): EnergyModel | undefined
}

const KEPT = new WeakMap<EnergyModels, WeakMap<PriceBook, ClassEstimates>>()

/** The estimates from an energy table and a price book, worked out once for both. */
export function classEstimates(models: EnergyModels, book: PriceBook): ClassEstimates {
  const ofModels = KEPT.get(models) ?? new WeakMap<PriceBook, ClassEstimates>()
  KEPT.set(models, ofModels)
  const known = ofModels.get(book)
  if (known !== undefined) return known
  const made = newClassEstimates(models, book)
  ofModels.set(book, made)
  return made
}

/** A model whose size the energy table knows, in one of the price classes. */
interface KnownModel {
  readonly vendor: string
  readonly priceClass: PriceClass
  readonly model: EnergyModel
}

function newClassEstimates(models: EnergyModels, book: PriceBook): ClassEstimates {
  const prices = new Map<string, TextPrice>()
  for (const price of book.textPrices()) {
    const id = priceKey(price.provider, price.model)
    // The row without a region states the provider's list price.
    if (price.region === undefined || !prices.has(id)) prices.set(id, price)
  }
  let known: Known | undefined
  const bookName = book.id ?? `built-in ${book.asOf}`
  return {
    book: bookName,
    find(provider, model) {
      // A variant that is served for nothing is as large as the one that has a price.
      const paid = model.replace(/:free$/, '')
      const names = modelNames(provider, paid)
      const found = book.find(provider, paid, undefined)
      if (found.kind === 'none' && found.reason !== 'unknown_model') return undefined
      // By name alone: the book may list a model in one region only.
      const listed = names.candidates.flatMap(({ name, steps }) => {
        const price = prices.get(priceKey(names.provider, name))
        return price === undefined ? [] : [{ price, match: steps }]
      })[0]
      if (listed === undefined) return undefined
      const { price, match } = listed
      const bare = bareNames(names).map(({ name }) => name)
      const sized = bare.map(sizeInName).find((size) => size !== undefined)
      if (sized !== undefined) return estimate(sized, { by: 'size_in_name', name: sized.name }, match)
      known ??= knownModels(models, prices.values())
      const priceClass = classOf(price.outputUsd)
      const range = rangeOf(known, bare, priceClass)
      if (range === undefined) return undefined
      return estimate(
        range,
        {
          by: 'price',
          name: priceClass,
          ...(range.vendor !== undefined && { vendor: range.vendor }),
          known_models: range.knownModels,
          output_usd_per_million: price.outputUsd,
          price_book: bookName,
        },
        match,
      )
    },
  }
}

const priceKey = (provider: string, model: string): string => `${provider}\n${model.toLowerCase()}`

function classOf(outputUsd: string): PriceClass {
  // A comparison with whole dollars, not an amount: a floating-point number is exact enough.
  const found = PRICE_CLASSES.find(({ upToUsd }) => Number(outputUsd) <= upToUsd)
  return found?.name ?? 'frontier'
}

interface Size {
  readonly activeB: Range
  readonly totalB: Range
  readonly typicalActiveB: string
  readonly typicalTotalB: string
  readonly tokensPerSecond?: string | undefined
}

function estimate(
  { activeB, totalB, typicalActiveB, typicalTotalB, tokensPerSecond }: Size,
  stated: Omit<ModelClass, 'typical_active_b' | 'typical_total_b'>,
  match: EnergyModel['match'],
): EnergyModel {
  const { by, name, vendor } = stated
  return {
    row: by === 'price' ? `class ${name}${vendor === undefined ? '' : ` of ${vendor}`}` : `size ${name}`,
    foundBy: 'class',
    modelClass: { ...stated, typical_active_b: typicalActiveB, typical_total_b: typicalTotalB },
    match,
    activeB,
    totalB,
    tokensPerSecond,
    firstTokenS: undefined,
    isOpen: false,
    isOwnOperator: false,
    lastEdition: undefined,
    warnings: [],
  }
}

interface Known {
  /** Whose models begin with a word: `claude` is of anthropic. */
  readonly vendorOfWord: ReadonlyMap<string, string>
  readonly models: readonly KnownModel[]
}

/** The models of the book whose size the table knows, each in one price class; one of each vendor, class and size. */
function knownModels(models: EnergyModels, prices: Iterable<TextPrice>): Known {
  const priced = new Map<string, { readonly model: EnergyModel; readonly prices: TextPrice[] }>()
  for (const price of prices) {
    const lookup = models.find(price.provider, price.model)
    if (lookup.kind === 'none') continue
    const { model } = lookup
    const known = priced.get(model.row)
    if (known === undefined) priced.set(model.row, { model, prices: [price] })
    else known.prices.push(price)
  }
  const vendorOfWord = wordsOfVendors([...priced.values()].map(({ model }) => model))
  const found = new Map<string, KnownModel>()
  for (const { model, prices: stated } of priced.values()) {
    const vendor = vendorOfRow(model) ?? vendorOf(firstWord(bareRow(model)), vendorOfWord)
    const priceClass = classOf(listPrice(stated, vendor))
    const id = [vendor, priceClass, model.activeB, model.totalB].join('\n')
    if (!found.has(id)) found.set(id, { vendor, priceClass, model })
  }
  return { vendorOfWord, models: [...found.values()] }
}

/** What the vendor itself charges, at the lowest where it lists several; of others' offers the one in the middle. */
function listPrice(prices: readonly TextPrice[], vendor: string): string {
  const sorted = (of: readonly TextPrice[]): readonly string[] =>
    of.map(({ outputUsd }) => outputUsd).sort((left, right) => Number(left) - Number(right))
  const [own] = sorted(prices.filter(({ provider }) => provider === vendor))
  const all = sorted(prices)
  return own ?? all[Math.floor(all.length / 2)] ?? '0'
}

/** The first words of the names of vendors' own models, but for a word that two vendors use. */
function wordsOfVendors(models: readonly EnergyModel[]): Map<string, string> {
  const words = new Map<string, string>()
  const ambiguous = new Set<string>()
  for (const model of models) {
    const vendor = vendorOfRow(model)
    if (vendor === undefined) continue
    const word = firstWord(bareRow(model))
    if ((words.get(word) ?? vendor) !== vendor) ambiguous.add(word)
    words.set(word, vendor)
  }
  for (const word of ambiguous) words.delete(word)
  return words
}

/** The vendor whose own model a row describes; undefined for open weights, on any provider. */
const vendorOfRow = ({ row, foundBy }: EnergyModel): string | undefined =>
  foundBy === 'family' || row.startsWith('huggingface/') ? undefined : row.slice(0, row.indexOf('/'))

const bareRow = ({ row }: EnergyModel): string => row.slice(row.lastIndexOf('/') + 1)
const firstWord = (name: string): string => (/^[a-z]+/i.exec(name)?.[0] ?? name).toLowerCase()
/** Open weights of one name belong together: `kimi`, `glm`. */
const vendorOf = (word: string, vendorOfWord: ReadonlyMap<string, string>): string => vendorOfWord.get(word) ?? word

interface ClassRange extends Size {
  /** Whose models the typical one is of; undefined: of all vendors. */
  readonly vendor: string | undefined
  readonly knownModels: number
}

/**
 * The range is of all known models of the price class, and wider where the vendor's own are; the typical one is the
 * vendor's own where it has any.
 */
function rangeOf(
  { vendorOfWord, models }: Known,
  names: readonly string[],
  priceClass: PriceClass,
): ClassRange | undefined {
  const inClass = models.filter((each) => each.priceClass === priceClass)
  const vendors = names.map((name) => vendorOf(firstWord(name), vendorOfWord))
  const vendor = vendors.find((each) => inClass.some((known) => known.vendor === each))
  const own = inClass.filter((each) => each.vendor === vendor)
  const of = own.length > 0 ? own : inClass
  if (of.length === 0) return undefined
  const [all, typical] = [spread(inClass, LEFT_OUT), spread(of, 0)]
  return {
    vendor,
    knownModels: of.length,
    activeB: widest(all.activeB, own.length > 0 ? typical.activeB : all.activeB),
    totalB: widest(all.totalB, own.length > 0 ? typical.totalB : all.totalB),
    typicalActiveB: typical.typicalActiveB,
    typicalTotalB: typical.typicalTotalB,
    tokensPerSecond: typical.tokensPerSecond,
  }
}

const widest = (one: Range, other: Range): Range => [
  Number(one[0]) <= Number(other[0]) ? one[0] : other[0],
  Number(one[1]) >= Number(other[1]) ? one[1] : other[1],
]

function spread(known: readonly KnownModel[], leftOut: number): Size {
  const of = (share: number, value: (model: EnergyModel) => string | number | undefined): string | undefined => {
    const values = known.map(({ model }) => Number(value(model) ?? Number.NaN)).filter((each) => !Number.isNaN(each))
    const sorted = values.sort((left, right) => left - right)
    const found = sorted[Math.round((sorted.length - 1) * share)]
    return found === undefined ? undefined : String(found)
  }
  const middle = ([low, high]: Range): number => (Number(low) + Number(high)) / 2
  const range = (name: 'activeB' | 'totalB'): Range => [
    of(leftOut, (model) => model[name][0]) ?? '0',
    of(1 - leftOut, (model) => model[name][1]) ?? '0',
  ]
  return {
    activeB: range('activeB'),
    totalB: range('totalB'),
    typicalActiveB: of(0.5, ({ activeB }) => middle(activeB)) ?? '0',
    typicalTotalB: of(0.5, ({ totalB }) => middle(totalB)) ?? '0',
    tokensPerSecond: of(0.5, ({ tokensPerSecond }) => tokensPerSecond),
  }
}

/** Of `8x7b`: experts and their size. The shared layers make the model smaller than the product (Mixtral: 0.83 of it). */
const EXPERTS = /(?:^|[-_/:])(\d{1,3})x(\d{1,3}(?:[.p]\d+)?)b(?=$|[-_.:@])/i
/** Of `70b`, `1.5b`, `0p6b`: 1e9 parameters. */
const SIZES = /(?:^|[-_/:])(\d{1,4}(?:[.p]\d+)?)b(?=$|[-_.:@])/gi
/** Of `a22b`: 1e9 parameters that each token passes. */
const ACTIVE = /(?:^|[-_/:])a(\d{1,3}(?:[.p]\d+)?)b(?=$|[-_.:@])/i
/** Of `17b-128e`: the size is that of one path through the experts, and says nothing of the whole. */
const EXPERTS_OF = /b-\d+e(?=$|[-_.:@])/i
/** From this size on nearly every published model is a mixture of experts: a tenth of it is active, or less. */
const DENSE_UP_TO_B = 150

/** The size that a name states: `qwen2.5-72b`, `mixtral-8x7b`, `qwen3-235b-a22b`. */
export function sizeInName(name: string): (Size & { readonly name: string }) | undefined {
  if (EXPERTS_OF.test(name)) return undefined
  const experts = EXPERTS.exec(name)
  if (experts !== null) {
    const [number, one] = [Number(experts[1]), billions(experts[2])]
    const all = number * one
    return {
      name: `${number}x${one}B`,
      activeB: [decimal(one), decimal(all)],
      totalB: [decimal(0.8 * all), decimal(all)],
      typicalActiveB: decimal(Math.min(2, number) * one),
      typicalTotalB: decimal(all),
    }
  }
  const sizes = [...name.matchAll(SIZES)].map(([, size]) => billions(size)).filter((size) => size > 0)
  if (sizes.length === 0) return undefined
  const [low, high] = [Math.min(...sizes), Math.max(...sizes)]
  const middle = (low + high) / 2
  const stated = ACTIVE.exec(name)
  const active = stated === null ? undefined : billions(stated[1])
  return {
    name: `${low === high ? decimal(high) : `${decimal(low)}-${decimal(high)}`}B`,
    activeB: active === undefined ? [decimal(low / 10), decimal(high)] : [decimal(active), decimal(active)],
    totalB: [decimal(low), decimal(high)],
    typicalActiveB: decimal(active ?? (middle <= DENSE_UP_TO_B ? middle : middle / 10)),
    typicalTotalB: decimal(middle),
  }
}

const billions = (text: string | undefined): number => Number((text ?? '').replace(/p/i, '.'))
/** Four decimals: a tenth of a million parameters. */
const decimal = (value: number): string => String(Number(value.toFixed(4)))
