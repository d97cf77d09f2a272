import { formatId } from '../../ids/ids.js'
import type { StoredAttribution } from '../../store/queries/records/attributions.js'

/** An attribution record as the API shows it (spec 2.2 and 2.3, and the members that design section 7 adds). */
export interface AttributionRecord {
  readonly id: string
  readonly invocation_id: string
  readonly provider: string
  readonly requested_model: string
  readonly served_model: string
  readonly service: string
  readonly owner: string
  readonly cost_usd: string
  readonly energy_wh: string
  readonly carbon_gco2e: string
  readonly pathway_category: string
  readonly output_state: string
  readonly interpretation: Interpretation
  readonly event_time: string
  readonly materialized_at: string
  readonly trace_id: string | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost_basis: string
  readonly energy_basis: string
  readonly carbon_basis: string
}

export interface Interpretation {
  readonly stage_origin: string
  /** Shown as a number, as the spec has it; compared and stored as an exact decimal. */
  readonly confidence: number
  readonly confidence_band: string
  readonly evidence_basis: string
  readonly model_version: string
  readonly degradation_state: string
  readonly freshness: string
  readonly export_eligibility: string
}

export function toRecord(stored: StoredAttribution): AttributionRecord {
  const id = Buffer.from(stored.id, 'hex')
  return {
    id: formatId('attr', id),
    invocation_id: formatId('inv', id),
    provider: stored.provider,
    requested_model: stored.requested_model,
    served_model: stored.served_model,
    service: stored.service,
    owner: stored.owner,
    cost_usd: stored.cost_usd,
    energy_wh: stored.energy_wh,
    carbon_gco2e: stored.carbon_gco2e,
    pathway_category: stored.pathway_category,
    output_state: stored.output_state,
    interpretation: {
      stage_origin: stored.stage_origin,
      confidence: Number(stored.confidence),
      confidence_band: stored.confidence_band,
      evidence_basis: stored.evidence_basis,
      model_version: stored.model_version,
      degradation_state: stored.degradation_state,
      freshness: stored.freshness,
      export_eligibility: stored.export_eligibility,
    },
    event_time: isoOf(stored.event_time_ms),
    materialized_at: isoOf(stored.valid_from_ms),
    trace_id: stored.trace_id === '' ? null : stored.trace_id,
    input_tokens: countOf(stored.input_tokens),
    output_tokens: countOf(stored.output_tokens),
    cost_basis: stored.cost_basis,
    energy_basis: stored.energy_basis,
    carbon_basis: stored.carbon_basis,
  }
}

const isoOf = (ms: string): string => new Date(Number(ms)).toISOString()

/** Token counts are at most 2^53 - 1 (checked at admission). */
export const countOf = (text: string | null): number | null => (text === null ? null : Number(text))
