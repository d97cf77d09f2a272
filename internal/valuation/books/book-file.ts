import { z } from 'zod'
import { BILLED_UNITS } from '../../text/call-words.js'
import { plainText } from '../../text/plain-text.js'
import { RULE_CACHES, RULE_PARTS, RULE_TIERS } from '../cost/assumed-rates.js'
import { type PriceBookFile, priceBook, startMs } from '../cost/price-book.js'
import { BILLED_TOOLS, PRICED_TIERS, RATE_PARTS, RATE_PATTERN } from '../cost/rate-sheet.js'

/** A price book as an operator brings it: the form of `cost/prices.data.json`, checked before any of it counts. */

const rate = z.string().regex(RATE_PATTERN, 'must be a decimal string, USD per 1,000,000 tokens')
const rates = Object.fromEntries(RATE_PARTS.map((part) => [part, rate.optional()])) as {
  [part in (typeof RATE_PARTS)[number]]: z.ZodOptional<typeof rate>
}
const tiers = Object.fromEntries(PRICED_TIERS.map((tier) => [tier, z.looseObject(rates).optional()])) as {
  [tier in (typeof PRICED_TIERS)[number]]: z.ZodOptional<z.ZodObject<typeof rates, z.core.$loose>>
}
const fee = z.string().regex(RATE_PATTERN, 'must be a decimal string, USD per call')
const unitRate = z.string().regex(RATE_PATTERN, 'must be a decimal string, USD per unit')
const units = z.looseObject(Object.fromEntries(BILLED_UNITS.map((unit) => [unit, unitRate.optional()])))
const fees = z.looseObject(Object.fromEntries(BILLED_TOOLS.map((tool) => [tool, fee.optional()])))
const tokens = z.int().min(0)
const sheet = {
  ...rates,
  ...tiers,
  tiers: z.array(z.looseObject({ above: tokens, ...rates, ...tiers })).optional(),
  bands: z.array(z.looseObject({ over: tokens, up_to: tokens, ...rates, ...tiers })).optional(),
  fees: fees.optional(),
  units: units.optional(),
}
const factors = z.record(z.string(), z.string().regex(/^\d{1,6}(?:\.\d{1,6})?$/, 'must be a plain decimal'))
const factor = z.string().regex(RATE_PATTERN, 'must be a plain decimal')
const rule = z.looseObject({
  models: z.array(z.string().regex(/^[^A-Z*]+\*?$|^\*$/, 'must be in lower case, with at most a * at its end')).min(1),
  not: z.array(z.string().regex(/^[^A-Z*]+$/, 'must be a part of a name, in lower case')).optional(),
  source: plainText(500),
  ...Object.fromEntries([...RULE_PARTS, ...RULE_TIERS, ...RULE_CACHES].map((of) => [of, factor.optional()])),
})
const name = plainText(256)
const day = z
  .string()
  .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a day, YYYY-MM-DD')
  .refine((text) => !Number.isNaN(Date.parse(`${text}T00:00:00Z`)), 'is not a calendar date')
const dayOrInstant = z
  .string()
  .regex(
    /^\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}:\d{2}Z)?$/,
    'must be a day, YYYY-MM-DD, or an instant, YYYY-MM-DDTHH:MM:SSZ',
  )
  .refine((text) => !Number.isNaN(startMs(text)), 'is not a calendar date')
const clock = z.string().regex(/^(?:[01]\d|2[0-4]):[0-5]\d$/, 'must be a time of day, HH:MM')
const window = z.looseObject({
  from: clock,
  to: clock,
  days: z.array(z.int().min(1).max(7)),
  price: z.looseObject(sheet),
})
const period = z.looseObject({
  from: dayOrInstant,
  to: dayOrInstant.optional(),
  price: z.looseObject(sheet),
  complete: z.boolean().optional(),
  scheduled: z.boolean().optional(),
  windows: z.array(window).optional(),
})
const named = z.looseObject({ provider: name, model: name })
const row = z.looseObject({
  provider: name,
  model: name,
  mode: z.string().optional(),
  region: name.optional(),
  ...sheet,
  residency_multiplier: factors.optional(),
  multipliers: factors.optional(),
  flags: z.array(z.string()).optional(),
})

const bookFile = z.looseObject({
  as_of: day,
  providers: z.record(z.string(), z.looseObject({ tier_rule: z.string().optional(), rules: z.array(rule).optional() })),
  models: z.array(row).min(1),
  history: z.array(
    z.looseObject({
      provider: name,
      models: z.array(name).min(1),
      region: name.optional(),
      periods: z.array(period).min(1),
    }),
  ),
  zero_priced: z.array(named).default([]),
  incomplete: z.array(named).default([]),
  quarantined: z.array(named).default([]),
})

/** Some hundred times today's book. */
export const BOOK_BYTES_MAX = 64 * 1024 * 1024
const PROBLEMS_MAX = 20

export type ParsedBook =
  | { readonly kind: 'book'; readonly file: PriceBookFile }
  | { readonly kind: 'invalid'; readonly problems: readonly string[] }

/** Parses a price book. Errors name their location; at most twenty are reported. */
export function parseBook(text: string): ParsedBook {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { kind: 'invalid', problems: ['invalid JSON'] }
  }
  const parsed = bookFile.safeParse(json)
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    return { kind: 'invalid', problems: problems.slice(0, PROBLEMS_MAX) }
  }
  const file = parsed.data as PriceBookFile // every member of the form is checked
  const problems = [...duplicates(file), ...disorders(file), ...unusable(file)]
  return problems.length === 0 ? { kind: 'book', file } : { kind: 'invalid', problems: problems.slice(0, PROBLEMS_MAX) }
}

export const rowName = ({ provider, model, region }: { provider: string; model: string; region?: string }): string =>
  `${provider}/${model}${region === undefined ? '' : `@${region}`}`.toLowerCase()

function duplicates({ models }: PriceBookFile): string[] {
  const seen = new Set<string>()
  return models.flatMap((each) => {
    const id = rowName(each)
    if (seen.has(id)) return [`${id} is a duplicate`]
    seen.add(id)
    return []
  })
}

/** Periods follow one another, and thresholds and bands rise: else which of them holds would depend on chance. */
function disorders({ models, history }: PriceBookFile): string[] {
  const rises = (numbers: readonly number[]): boolean =>
    numbers.every((each, i) => i === 0 || each > (numbers[i - 1] ?? 0))
  const ofRows = models.flatMap(({ tiers: above = [], bands = [], ...each }) =>
    rises(above.map((tier) => tier.above)) && rises(bands.flatMap(({ over, up_to }) => [over + 0.5, up_to]))
      ? []
      : [`${rowName(each)}: thresholds and bands must be ascending`],
  )
  const ofPeriods = history.flatMap(({ models: names, periods, ...each }) =>
    rises(periods.map(({ from }) => startMs(from))) &&
    periods.every(({ from, to }) => to === undefined || startMs(to) > startMs(from))
      ? []
      : [`history of ${rowName({ ...each, model: names[0] ?? '' })}: periods must be ascending`],
  )
  return [...ofRows, ...ofPeriods]
}

/** Errors found by the price rules themselves. */
function unusable(file: PriceBookFile): string[] {
  try {
    priceBook(file)
    return []
  } catch (cause) {
    return [cause instanceof Error ? cause.message : String(cause)]
  }
}
