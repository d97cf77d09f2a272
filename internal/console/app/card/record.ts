/** Records of `GET /v1/attribution` and their explanation, as far as the console reads them (spec 2.2 and 2.3). */
export interface RecordRow {
  readonly id: string
  readonly provider: string
  readonly served_model: string
  readonly requested_model: string
  readonly service: string
  readonly owner: string
  readonly cost_usd: string
  readonly energy_wh: string
  readonly carbon_gco2e: string
  readonly output_state: string
  readonly event_time: string
  readonly materialized_at: string
  readonly trace_id: string | null
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  readonly cost_basis: string
  readonly interpretation: {
    readonly stage_origin: string
    readonly confidence: number
    readonly confidence_band: string
    readonly evidence_basis: string
    readonly model_version: string
    readonly degradation_state: string
    readonly export_eligibility: string
    readonly contested: unknown
  }
}

export interface Explained extends RecordRow {
  readonly event_tags: Readonly<Record<string, string>>
  readonly explanation: Explanation
}

export interface ComparedWith {
  /** Services and owners that the model knows, beside the chosen one. */
  readonly classes: number
  readonly precision_at_floor: number | null
}

export interface Explanation {
  readonly summary: string
  readonly evidence: Readonly<Record<string, unknown>>
  readonly inference: {
    readonly probability: string
    readonly unknown_probability: string | null
    readonly reasons: readonly { readonly fact: string; readonly times_likelier: string; readonly text: string }[]
    readonly compared_with: ComparedWith | null
  } | null
  readonly best_guess: { readonly service: string; readonly probability: string } | null
  readonly alternatives: readonly {
    readonly service?: string
    readonly owner?: string
    readonly probability?: string | number
  }[]
  readonly suggested_services: readonly string[]
  readonly cost: {
    readonly basis: string
    readonly total_usd: string
    readonly stated_usd: string | null
    readonly price_usd: string | null
    readonly lines: readonly {
      readonly part: string
      readonly tokens: number
      readonly rate_usd_per_million: string
      readonly amount_usd: string
    }[]
    readonly fees: readonly {
      readonly tool: string
      readonly calls: number
      readonly usd_per_call: string
      readonly amount_usd: string
    }[]
    readonly assumptions: readonly string[]
    readonly details: { readonly book_as_of?: string; readonly multiplier?: unknown; readonly reason?: string }
  }
  readonly footprint: {
    readonly energy_wh: Band
    readonly carbon_gco2e: Band
    readonly uncertainty: string | null
    readonly details: { readonly grid?: { readonly zone?: string } }
  }
  readonly history: readonly Version[]
}

export interface Band {
  readonly value: string
  readonly basis: string
  readonly outer_min?: string
  readonly outer_max?: string
}

export interface Version {
  readonly valid_from: string
  readonly valid_to: string
  readonly ended_by: { readonly change: string; readonly actor: string }
  readonly service: string
  readonly owner: string
  readonly output_state: string
}
