import { z } from 'zod'
import { idOfName, type TenantIds } from '../../ids/ids.js'
import { BILLED_UNITS, type BilledUnit } from '../../text/call-words.js'
import { instant, name } from '../../text/plain-text.js'
import { parseInstant } from '../../units/instant.js'
import {
  BILLED_TOOLS,
  type BilledTool,
  PRICED_TIERS,
  type PricedTier,
  RATE_PARTS,
  RATE_PATTERN,
  type RatePart,
  type RateSheet,
} from '../cost/rate-sheet.js'
import type { TenantPriceOverride } from '../cost/tenant-prices.js'
import { statedProviderOf } from '../names/model-names.js'

/** A negotiated price: its schema, its stored form, and its form for the price rules. */

/** Overrides per tenant. */
export const OVERRIDES_MAX = 2_000
/** Thresholds per price; published price lists have at most two. */
const THRESHOLDS_MAX = 8

const rate = () => z.string().regex(RATE_PATTERN, 'must be a decimal string, 9 digits before and 12 after the point')

/** A field named `input` would be refused as prompt content. */
const OTHER_PARTS = RATE_PARTS.filter((part) => part !== 'input' && part !== 'output')
const otherRates = Object.fromEntries(OTHER_PARTS.map((part) => [`${part}_tokens`, rate().nullish()])) as {
  [name in `${Exclude<RatePart, 'input' | 'output'>}_tokens`]: ReturnType<ReturnType<typeof rate>['nullish']>
}
/** Schemas of rates. Requests are closed: a misspelt rate would silently bill its tokens as input or output. */
function rateTableOf(io: 'request' | 'reply') {
  const object = io === 'request' ? z.strictObject : (z.object as unknown as typeof z.strictObject)
  const named = (name: string): string => (io === 'request' ? `New${name}` : name)
  const rates = object({ input_tokens: rate(), output_tokens: rate(), ...otherRates }).meta({
    id: named('Rates'),
    description:
      'USD per 1,000,000 tokens. Tokens without a rate of their own are billed as input or output; with cached tokens ' +
      'at the rate of input, the cost is an upper bound.',
  })
  const tiers = Object.fromEntries(PRICED_TIERS.map((tier) => [tier, rates.nullish()])) as {
    [tier in PricedTier]: ReturnType<typeof rates.nullish>
  }
  const threshold = object({
    above_input_tokens: z.int().min(1).max(Number.MAX_SAFE_INTEGER),
    ...rates.partial({ input_tokens: true, output_tokens: true }).shape,
    ...tiers,
  }).meta({
    id: named('RatesAbove'),
    description:
      'Rates for all tokens of a request with more than `above_input_tokens` input tokens. Omitted rates are those ' +
      'of the base table, except that a stated cache write rate also applies to one-hour cache writes.',
  })
  return rates
    .extend({ ...tiers, thresholds: z.array(threshold).max(THRESHOLDS_MAX).nullish() })
    .meta({ id: named('RateTable'), description: 'Rates of the standard tier, and of other tiers.' })
}

/** The rates of an override in a reply. */
export const shownRates = rateTableOf('reply')

const feeTable = (object: typeof z.strictObject) =>
  object(
    Object.fromEntries(BILLED_TOOLS.map((tool) => [tool, rate().nullish()])) as {
      [tool in BilledTool]: ReturnType<ReturnType<typeof rate>['nullish']>
    },
  )
/** The fees of an override in a reply. */
export const shownFees = feeTable(z.object as unknown as typeof z.strictObject).meta({
  id: 'Fees',
  description: 'USD per call of a tool that the provider runs. Tools without a fee have that of the price book.',
})

const unitTable = (object: typeof z.strictObject) =>
  object(
    Object.fromEntries(BILLED_UNITS.map((unit) => [unit, rate().nullish()])) as {
      [unit in BilledUnit]: ReturnType<ReturnType<typeof rate>['nullish']>
    },
  )
/** The prices of units besides tokens of an override in a reply. */
export const shownUnits = unitTable(z.object as unknown as typeof z.strictObject).meta({
  id: 'UnitPrices',
  description: 'USD per unit of what is billed besides tokens. Units without a price have that of the price book.',
})

export const overrideFields = z
  .strictObject({
    provider: name(),
    model: name().meta({ description: 'Matched exactly, ignoring case.' }),
    region: name().nullish().meta({ description: 'Applies only to calls in this region.' }),
    valid_from: instant(),
    valid_to: instant().nullish().meta({ description: 'End of the period, exclusive. Default: no end.' }),
    usd_per_million: rateTableOf('request'),
    usd_per_call: feeTable(z.strictObject)
      .meta({
        id: 'NewFees',
        description: 'USD per call of a tool that the provider runs. Default: the fees of the price book.',
      })
      .nullish(),
    usd_per_unit: unitTable(z.strictObject)
      .meta({
        id: 'NewUnitPrices',
        description:
          'USD per unit of what is billed besides tokens (`billed_units` of the event). Default: the prices of the ' +
          'price book. For a model that is billed by such units only, state rates of 0 for tokens.',
      })
      .nullish(),
  })
  .superRefine(({ valid_from: from, valid_to: to, usd_per_million: table }, context) => {
    const refuse = (path: (string | number)[], message: string): void => {
      context.addIssue({ code: 'custom', path, message })
    }
    if (to != null && instantOf(to) <= instantOf(from)) refuse(['valid_to'], 'must be later than valid_from')
    const thresholds = (table.thresholds ?? []).map(({ above_input_tokens: above }) => above)
    for (const [index, above] of thresholds.entries()) {
      if (thresholds.indexOf(above) < index) {
        refuse(['usd_per_million', 'thresholds', index, 'above_input_tokens'], 'is a duplicate')
      }
    }
  })
export type OverrideFields = z.infer<typeof overrideFields>

/** Rates as stored and shown: as stated, without nulls. */
export type StoredRates = { readonly [member: string]: string | number | StoredRates | readonly StoredRates[] }

/** An override in the bucket `price_overrides`, under its tenant and id. */
export interface StoredOverride {
  readonly id: string
  readonly tenant_id: string
  readonly provider: string
  readonly model: string
  readonly region: string | null
  readonly valid_from: string
  readonly valid_to: string | null
  readonly usd_per_million: StoredRates
  readonly usd_per_call: Readonly<Record<string, string>> | null
  /** Absent in overrides of earlier versions. */
  readonly usd_per_unit?: Readonly<Record<string, string>> | null
  readonly created_at: string
}

/** The id derives from provider, model, region and start, so that a tenant cannot have two prices for the same. */
export function storedOverride(
  fields: OverrideFields,
  tenantId: string,
  ids: TenantIds,
  nowMs: number,
): StoredOverride {
  const { provider, model, region, valid_from: from, valid_to: to } = fields
  const { usd_per_million: table, usd_per_call: fees, usd_per_unit: units } = fields
  const validFrom = new Date(instantOf(from)).toISOString()
  const names = [statedProviderOf(provider, model), model.trim().toLowerCase(), region?.trim().toLowerCase() ?? '']
  return {
    id: idOfName('prc', ids, 'prices', JSON.stringify([...names, validFrom])),
    tenant_id: tenantId,
    provider,
    model,
    region: region ?? null,
    valid_from: validFrom,
    valid_to: to == null ? null : new Date(instantOf(to)).toISOString(),
    usd_per_million: withoutNulls(table) as StoredRates,
    usd_per_call: fees == null ? null : (withoutNulls(fees) as Readonly<Record<string, string>>),
    usd_per_unit: units == null ? null : (withoutNulls(units) as Readonly<Record<string, string>>),
    created_at: new Date(nowMs).toISOString(),
  }
}

export const overrideKey = (tenantId: string, id: string): string => `${tenantId}.${id}`

export const overrideOf = (override: StoredOverride): TenantPriceOverride => ({
  provider: override.provider,
  model: override.model,
  region: override.region ?? undefined,
  from: override.valid_from,
  to: override.valid_to ?? undefined,
  rates: {
    ...sheetOf(override.usd_per_million),
    ...(override.usd_per_call != null && { fees: override.usd_per_call }),
    ...(override.usd_per_unit != null && { units: override.usd_per_unit }),
  },
})

/** Converts rates to the field names of the price rules. */
function sheetOf(stored: StoredRates): RateSheet {
  const renamed = (rated: StoredRates): Record<string, unknown> =>
    Object.fromEntries(
      Object.entries(rated).map(([member, value]) => {
        if (member === 'above_input_tokens') return ['above', value]
        if (member === 'thresholds') return ['tiers', (value as readonly StoredRates[]).map(renamed).sort(byThreshold)]
        return typeof value === 'object'
          ? [member, renamed(value as StoredRates)]
          : [member.replace(/_tokens$/, ''), value]
      }),
    )
  return renamed(stored)
}

const byThreshold = (one: Record<string, unknown>, other: Record<string, unknown>): number =>
  Number(one['above']) - Number(other['above'])

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const present = Object.entries(value).filter(([, inner]) => inner != null)
  return Object.fromEntries(present.map(([member, inner]) => [member, withoutNulls(inner)]))
}

/** @param text already validated */
const instantOf = (text: string): number => parseInstant(text) ?? Number.NaN
