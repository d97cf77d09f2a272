import { formatId } from '../../ids/ids.js'
import { WEIGHT_WINDOW_MS } from '../../records/allocation-weights.js'
import { CONFIDENCE_CAP, confidenceText } from '../../records/interpretation.js'
import type { StoredWeight } from '../../store/queries/attribution/allocation-weights.js'
import type { StoredAttributionDetail } from '../../store/queries/records/attributions.js'
import type { StoredClosed } from '../../store/queries/records/closed.js'
import { formatInstant, parseInstant } from '../../units/instant.js'
import { formatQuantity, type Quantity, type Unit } from '../../units/quantity.js'
import type { CostDetails } from '../../valuation/cost/cost-details.js'
import { explainCost } from '../../valuation/cost/explain-cost.js'
import { CONSTANTS } from '../../valuation/energy/closed-form.js'
import { type Banded, explainFootprint, uncertaintyInWords } from '../../valuation/energy/explain-footprint.js'
import type { FootprintDetails } from '../../valuation/energy/footprint-details.js'
import { intakeName, seenByOf } from '../sightings/seen-by.js'
import { explainInference, type ModelExplanation } from './model-explanation.js'
import type { Inference } from './row.js'
import { quantitiesStatedIn } from './stated-fields.js'
import { summaryOf } from './summary.js'
import { usageReadings } from './usage-readings.js'

/**
 * Explains how a record was computed, in figures that a person can add up. Members in wire form.
 *
 * @param weights of the tenant's pools as of `weightsInstantOf`; empty for a record that is not allocated
 * @param history the earlier versions
 * @param model what the model says that the record cites, or that served when no stage could name anybody
 */
export function explain(
  stored: StoredAttributionDetail,
  weights: readonly StoredWeight[],
  history: readonly StoredClosed[],
  model: ModelExplanation = {},
): object {
  const cost = explainStoredCost(stored)
  return {
    summary: summaryOf(stored, cost.price_usd, model),
    source: sourceOf(stored),
    seen_by: shownSightings(stored),
    perhaps_twice: perhapsTwice(stored),
    evidence: JSON.parse(stored.evidence) as object,
    confidence: explainConfidence(stored),
    inference: explainInference(stored, model),
    best_guess: model.best_guess ?? null,
    alternatives: stored.inference === '' ? [] : (JSON.parse(stored.inference) as Inference).alternatives,
    allocation: stored.stage_origin === 'stage_c' ? explainAllocation(stored, weights) : null,
    cost,
    footprint: explainStoredFootprint(stored),
    history: history.map(shownVersion),
  }
}

/** The limits whose minimum is the confidence; an inferred record has the caps of its inference besides. */
function explainConfidence(stored: StoredAttributionDetail): object {
  const { confidence } = JSON.parse(stored.evidence) as { readonly confidence?: string }
  const isByHand = stored.evidence_basis === 'manual_override'
  return {
    evidence: isByHand ? confidenceText(CONFIDENCE_CAP) : (confidence ?? null),
    producer: isByHand ? null : confidenceText(Math.round(Number(stored.attribution_confidence) * 10_000)),
    policy: confidenceText(CONFIDENCE_CAP),
  }
}

/** The event of the record itself, and by which ids other sources may show its call. */
const sourceOf = (stored: StoredAttributionDetail) => ({
  intake: intakeName(stored.intake),
  principal: stored.principal,
  ingestion_layer: stored.ingestion_layer,
  response_id: nullIfEmpty(stored.response_id),
  request_id: nullIfEmpty(stored.request_id),
  span_id: nullIfEmpty(stored.span_id),
  instrumentation: nullIfEmpty(stored.instrumentation),
  operation_id: nullIfEmpty(stored.operation_id),
  attempt: stored.attempt === null ? null : Number(stored.attempt),
  assumptions: stored.assumptions === '' ? [] : stored.assumptions.split(','),
})

const nullIfEmpty = (text: string): string | null => (text === '' ? null : text)

/** The other events that showed the call. */
const shownSightings = ({ seen_by: seenBy }: StoredAttributionDetail) =>
  seenByOf({ seenBy }).also.map(
    ({ id, event_id, intake, principal, ingestion_layer, instrumentation, event_time_ms, matched_by, usage }) => ({
      invocation_id: formatId('inv', Buffer.from(id, 'hex')),
      event_id,
      intake: intakeName(intake),
      principal,
      ingestion_layer,
      instrumentation: instrumentation ?? null,
      event_time: formatInstant(event_time_ms),
      matched_by,
      usage_counts: usage,
    }),
  )

/** Records that may show the call once more. */
const perhapsTwice = ({ seen_by: seenBy }: StoredAttributionDetail): readonly string[] =>
  (seenByOf({ seenBy }).perhaps ?? []).map((id) => formatId('attr', Buffer.from(id, 'hex')))

/** An earlier version with its period of validity, and the change that ended it. */
const shownVersion = ({ valid_from_ms, closed_at_ms, change, change_id: _, actor, ...version }: StoredClosed) => ({
  valid_from: formatInstant(Number(valid_from_ms)),
  valid_to: formatInstant(Number(closed_at_ms)),
  ended_by: { change, actor },
  ...version,
})

/** The instant of the weights that an allocated record names; undefined if it names none. */
export function weightsInstantOf({ stage_origin, evidence }: StoredAttributionDetail): number | undefined {
  if (stage_origin !== 'stage_c') return undefined
  const { weights_as_of: text } = JSON.parse(evidence) as { readonly weights_as_of?: string }
  return text === undefined ? undefined : parseInstant(text)
}

/** The pool that holds the cost, and the shares by which a report may spread it: they sum to exactly 1. */
function explainAllocation(stored: StoredAttributionDetail, weights: readonly StoredWeight[]): object {
  const asOfMs = weightsInstantOf(stored)
  return {
    pool: stored.service,
    owner: stored.owner,
    weights_as_of: asOfMs === undefined ? null : formatInstant(asOfMs),
    window_days: WEIGHT_WINDOW_MS / DAY_MS,
    // Without weights the whole cost stays in the pool.
    weights: (weights.length === 0 ? ALL_STAYS : weights).map(({ service, owner, weight }) => ({
      service: service === '' ? stored.service : service,
      owner: service === '' ? stored.owner : owner,
      weight,
    })),
  }
}

const ALL_STAYS: readonly StoredWeight[] = [{ service: '', owner: '', weight: '1' }]
const DAY_MS = 24 * 60 * 60 * 1000

function explainStoredCost(stored: StoredAttributionDetail) {
  const details = JSON.parse(stored.cost_details) as CostDetails
  const {
    totalUsd,
    statedUsd,
    lines,
    fees,
    units,
    unpricedUnits,
    assumptions,
    pricedUsd,
    estimateDifferenceUsd,
    scope,
  } = explainCost(details, { ...quantitiesStatedIn(stored), billedUnits: stored.billed_units })
  return {
    basis: stored.cost_basis,
    total_usd: formatQuantity(totalUsd),
    stated_usd: statedUsd ?? null,
    price_usd: pricedUsd === undefined ? null : formatQuantity(pricedUsd),
    estimate_difference_usd: estimateDifferenceUsd ?? null,
    lines: lines.map(({ part, tokens, billedAs, rate, amountUsd }) => ({
      part,
      tokens,
      billed_as: billedAs,
      rate_usd_per_million: rate,
      amount_usd: amountUsd,
    })),
    fees: fees.map(({ tool, calls, usdPerCall, amountUsd }) => ({
      tool,
      calls,
      usd_per_call: usdPerCall,
      amount_usd: amountUsd,
    })),
    units: units.map(({ unit, quantity, usdPerUnit, amountUsd }) => ({
      unit,
      quantity,
      usd_per_unit: usdPerUnit,
      amount_usd: amountUsd,
    })),
    unpriced_units: unpricedUnits,
    assumptions,
    readings: usageReadings(stored),
    scope,
    details,
  }
}

function explainStoredFootprint(stored: StoredAttributionDetail): object {
  const details = JSON.parse(stored.footprint_details) as FootprintDetails
  const { outputTokens, latencyMs } = quantitiesStatedIn(stored)
  const { energyWh, energy, carbonGco2e, carbon, carbonParts } = explainFootprint(details, {
    outputTokens,
    latencyMs,
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
    uncertainty: uncertaintyInWords(details) ?? null,
    inputs: { output_tokens: outputTokens ?? null, latency_ms: latencyMs ?? null },
    constants: details.model === undefined ? null : CONSTANTS_ON_THE_WIRE,
    details,
  }
}

/** The constants of the closed form: with the inputs and details a person can recompute the values. */
const CONSTANTS_ON_THE_WIRE = {
  gpu_wh_per_token_and_billion: CONSTANTS.gpuWhPerTokenPerBillion,
  gpu_wh_per_token: CONSTANTS.gpuWhPerToken,
  seconds_per_token_and_billion: CONSTANTS.secondsPerTokenPerBillion,
  seconds_per_token: CONSTANTS.secondsPerToken,
  batch_requests: CONSTANTS.batchRequests,
  gpus_per_server: CONSTANTS.gpusPerServer,
  server_w: CONSTANTS.serverW,
  gpu_embodied_kg: CONSTANTS.gpuEmbodiedKg,
  server_embodied_kg: CONSTANTS.serverEmbodiedKg,
  hardware_life_s: CONSTANTS.hardwareLifeS,
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
