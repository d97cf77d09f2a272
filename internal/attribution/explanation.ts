import type { StoredAttributionDetail } from '../store/queries/attributions.js'
import { formatQuantity, type Quantity, type Unit } from '../units/quantity.js'
import type { CostDetails } from './cost/cost-details.js'
import { type CostFacts, explainCost } from './cost/explain-cost.js'
import { type Banded, explainFootprint } from './energy/explain-footprint.js'
import type { FootprintDetails } from './energy/footprint-details.js'
import { countOf } from './record.js'
import type { Inference } from './row.js'

/** How a record came about, in figures that a person can add up again. Members in wire form. */
export function explain(stored: StoredAttributionDetail): object {
  return {
    evidence: JSON.parse(stored.evidence) as object,
    alternatives: stored.inference === '' ? [] : (JSON.parse(stored.inference) as Inference).alternatives,
    cost: explainStoredCost(stored),
    footprint: explainStoredFootprint(stored),
  }
}

function explainStoredCost(stored: StoredAttributionDetail): object {
  const details = JSON.parse(stored.cost_details) as CostDetails
  const { totalUsd, lines, pricedUsd, estimateDifferenceUsd, scope } = explainCost(details, costFacts(stored))
  return {
    basis: stored.cost_basis,
    total_usd: formatQuantity(totalUsd),
    price_usd: pricedUsd === undefined ? null : formatQuantity(pricedUsd),
    estimate_difference_usd: estimateDifferenceUsd ?? null,
    lines: lines.map(({ part, tokens, billedAs, rate, amountUsd }) => ({
      part,
      tokens,
      billed_as: billedAs,
      rate_usd_per_million: rate,
      amount_usd: amountUsd,
    })),
    scope,
    details,
  }
}

const costFacts = (stored: StoredAttributionDetail): CostFacts => ({
  inputTokens: countOf(stored.input_tokens) ?? undefined,
  outputTokens: countOf(stored.output_tokens) ?? undefined,
  cachedInputTokens: countOf(stored.cached_input_tokens) ?? undefined,
  cacheWriteTokens: countOf(stored.cache_write_tokens) ?? undefined,
  cacheWriteTtlSeconds: countOf(stored.cache_write_ttl_seconds) ?? undefined,
  reasoningTokens: countOf(stored.reasoning_tokens) ?? undefined,
  audioInputTokens: countOf(stored.audio_input_tokens) ?? undefined,
  audioOutputTokens: countOf(stored.audio_output_tokens) ?? undefined,
  estimatedCostUsd: stored.estimated_cost_usd ?? undefined,
})

function explainStoredFootprint(stored: StoredAttributionDetail): object {
  const details = JSON.parse(stored.footprint_details) as FootprintDetails
  const { energyWh, energy, carbonGco2e, carbon, carbonParts } = explainFootprint(details, {
    outputTokens: countOf(stored.output_tokens) ?? undefined,
    latencyMs: countOf(stored.latency_ms) ?? undefined,
    energyWh: stored.energy_basis === 'measured' ? stored.energy_wh : undefined,
    carbonGco2e: stored.carbon_basis === 'measured' ? stored.carbon_gco2e : undefined,
  })
  return {
    energy_wh: bandsOf(energyWh, energy, stored.energy_basis),
    carbon_gco2e: {
      ...bandsOf(carbonGco2e, carbon, stored.carbon_basis),
      parts: carbonParts && {
        usage: formatQuantity(carbonParts.usage),
        embodied: formatQuantity(carbonParts.embodied),
      },
    },
    details,
  }
}

/** The value, the inner band of parameters and data centre, and the outer band of the method's measured error. */
const bandsOf = <U extends Unit>(value: Quantity<U>, bands: Banded<U> | undefined, basis: string): object => ({
  value: formatQuantity(value),
  basis,
  ...(bands && {
    min: formatQuantity(bands.min),
    max: formatQuantity(bands.max),
    outer_min: formatQuantity(bands.outerMin),
    outer_max: formatQuantity(bands.outerMax),
  }),
})
