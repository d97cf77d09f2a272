import { z } from 'zod'
import { FILTER_PARAMETERS, FILTERS_DESCRIPTION, SORT_PARAMETER } from '../../filters/parameters.js'
import { json, type Operation } from '../../http/contract/operation.js'
import { PAGE_PARAMETERS, pageOf } from '../../http/contract/page.js'
import { FACTS } from '../../inference/learning/contributions.js'
import { PATTERNS } from '../../inference/learning/views.js'
import { COST_BASES, FOOTPRINT_BASES } from '../../records/bases.js'
import {
  CONFIDENCE_BANDS,
  EVIDENCE_BASES,
  EXPORT_ELIGIBILITIES,
  OUTPUT_STATES,
  STAGE_ORIGINS,
} from '../../records/interpretation.js'
import { CHANGES } from '../../store/tables/closed.js'
import { count, decimalText, exampleId, idInPath, idOf, timeText } from '../../text/answer-fields.js'
import { BILLED_UNITS } from '../../text/call-words.js'
import { COST_SCOPES } from '../../valuation/cost/explain-cost.js'
import { BILLED_TOOLS, RATE_PARTS } from '../../valuation/cost/rate-sheet.js'
import { MATCHED_BY } from '../sightings/seen-by.js'
import { INFERENCE_CAPS } from './model-explanation.js'
import { attributionRecord } from './record.js'

/** The contract of the attribution routes. */

const intake = () => z.string().meta({ description: '`api`, or the intake of the event, such as `otlp` or `litellm`.' })

const facts = (description: string) => z.record(z.string(), z.unknown()).meta({ description })

const band = {
  value: decimalText(),
  basis: z.enum(FOOTPRINT_BASES),
  min: decimalText().optional().meta({ description: 'Inner band: parameters and data centre.' }),
  max: decimalText().optional(),
  outer_min: decimalText().optional().meta({ description: "Outer band: the method's error against measurements." }),
  outer_max: decimalText().optional(),
}

const explanation = z
  .object({
    summary: z.string().meta({
      description:
        'The record in plain sentences: who it is attributed to and why, whether it may be charged back, and who ' +
        'else saw the call. Names from outside are in quotes.',
    }),
    source: z
      .object({
        intake: intake(),
        principal: z.string().meta({ description: 'Id of the credential that sent the event.' }),
        ingestion_layer: z.string(),
        response_id: z.string().nullable(),
        request_id: z.string().nullable(),
        span_id: z.string().nullable(),
        instrumentation: z.string().nullable().meta({
          description: 'What observed the call within its sender: the name of the OpenTelemetry instrumentation scope.',
        }),
        operation_id: z.string().nullable().meta({ description: 'What several attempts serve.' }),
        attempt: z.int().nullable().meta({ description: 'Which of the attempts of the operation, from 1.' }),
        assumptions: z.array(z.string()).meta({
          description: 'Codes of what was inferred of the event instead of being stated, such as `provider_from_host`.',
        }),
      })
      .meta({ description: "Where the record's own event came from, and the ids that its call has elsewhere." }),
    seen_by: z
      .array(
        z.object({
          invocation_id: idOf('inv'),
          event_id: z.string(),
          intake: intake(),
          principal: z.string(),
          ingestion_layer: z.string(),
          instrumentation: z
            .string()
            .nullable()
            .meta({ description: 'Of several observers in one process, which one.' }),
          event_time: timeText(),
          matched_by: z.enum(MATCHED_BY).meta({ description: 'What is the same in both events.' }),
          usage_counts: z.boolean().meta({
            description:
              'Whether tokens, cost and footprint of the record are those of this event, which knows them better.',
          }),
        }),
      )
      .meta({
        description:
          'Other events, of other observers, that showed the same call. It is counted once, in this record; empty for ' +
          'most. `DELETE /v1/attribution/{id}/merge` takes them apart.',
      }),
    perhaps_twice: z.array(idOf('attr')).meta({
      description:
        'Records that may show the same call: of another instrumentation of the same process, at the same time, with ' +
        'the same model, and no count that differs. Nothing proves it, so both are counted; empty for most.',
    }),
    evidence: facts('The facts that decided the attribution.'),
    confidence: z
      .object({
        evidence: decimalText()
          .nullable()
          .meta({ description: 'Confidence that the evidence supports; null for an inferred record.' }),
        producer: decimalText().nullable().meta({
          description: '`attribution_confidence` of the event, or the cap if none is stated; null for an override.',
        }),
        policy: decimalText(),
      })
      .meta({
        description: 'The confidence is the minimum of these; for an inferred record also of its probability and caps.',
      }),
    inference: z
      .object({
        probability: decimalText().meta({ description: 'Calibrated probability of the chosen service and owner.' }),
        unknown_probability: decimalText().nullable().meta({
          description: 'Probability that the call belongs to no service the model knows; null for the baseline.',
        }),
        caps: z
          .array(z.object({ cap: z.enum(INFERENCE_CAPS), at: decimalText() }))
          .meta({ description: 'The confidence is the minimum of these caps and the probability.' }),
        reasons: z.array(z.object({ fact: z.enum(FACTS), times_likelier: z.string(), text: z.string() })).meta({
          description:
            'Up to three facts of the call that spoke most for the chosen service and owner, the strongest first: ' +
            'how many times likelier each is with them than with the others, by their shares of the traffic. ' +
            'Computed from the version that the record cites; empty if that is no longer kept.',
        }),
        compared_with: z
          .object({
            classes: count().meta({ description: 'Other services and owners that the model knows.' }),
            caller: z.enum(PATTERNS).meta({
              description:
                'What the call, or the rest of its trace, shows of its caller: no identity, one that the model has ' +
                'learned from, or an unknown one.',
            }),
            precision_at_floor: z
              .number()
              .nullable()
              .meta({
                description:
                  'Share of held-out calls with such a caller that the model named right at a confidence of 0.80 or ' +
                  'more.',
              }),
          })
          .nullable(),
      })
      .nullable()
      .meta({ description: 'Present for an inferred record; else null.' }),
    best_guess: z
      .object({
        model: z.string().meta({ description: 'Version of the model that served when the record was made.' }),
        service: z.string(),
        owner: z.string(),
        probability: decimalText(),
        unknown_probability: decimalText(),
      })
      .nullable()
      .meta({
        description:
          'Of a record in a cost pool: what the model found likeliest, though not likely enough (0.50) to name it. ' +
          'Null if no model served.',
      }),
    alternatives: z.array(facts('Another candidate service and owner, with its probability.')),
    suggested_services: z.array(z.string()).meta({
      description:
        'For a stated service that the directory does not contain: services of a close name, the closest first.',
    }),
    allocation: z
      .object({
        pool: z.string(),
        owner: z.string(),
        weights_as_of: timeText().nullable(),
        window_days: z.int(),
        weights: z.array(z.object({ service: z.string(), owner: z.string(), weight: decimalText() })).meta({
          description:
            'Shares of the cost attributed with certainty over the window, by which a report may spread the pool. ' +
            'They sum to exactly 1; the share of the pool itself stays in it.',
        }),
      })
      .nullable()
      .meta({ description: 'Present for a record allocated to a cost pool; else null.' }),
    cost: z.object({
      basis: z.enum(COST_BASES),
      total_usd: decimalText(),
      stated_usd: decimalText()
        .nullable()
        .meta({
          description:
            'Cost that the caller stated. `details.stated_cost` says why it is doubted: `implausible` (far from the ' +
            'price, or above the ceiling of a call; it counts, but not for chargeback) or `untrusted` (the price ' +
            'counts instead: the credential is not trusted with costs, or its sender leaves a part out).',
        }),
      price_usd: decimalText().nullable().meta({ description: 'Cost by the applicable price; null if there is none.' }),
      estimate_difference_usd: decimalText()
        .nullable()
        .meta({ description: 'Estimate minus price; null unless both exist.' }),
      lines: z.array(
        z.object({
          part: z.enum(RATE_PARTS),
          tokens: count(),
          billed_as: z.enum(RATE_PARTS),
          rate_usd_per_million: decimalText(),
          amount_usd: decimalText(),
        }),
      ),
      fees: z
        .array(
          z.object({
            tool: z.enum(BILLED_TOOLS),
            calls: count(),
            usd_per_call: decimalText(),
            amount_usd: decimalText(),
          }),
        )
        .meta({ description: 'Calls of tools that the provider bills per call. Multipliers do not apply to them.' }),
      units: z
        .array(
          z.object({
            unit: z.enum(BILLED_UNITS),
            quantity: decimalText(),
            usd_per_unit: decimalText(),
            amount_usd: decimalText(),
          }),
        )
        .meta({
          description:
            'What the call is billed by besides tokens. Quantities are to a millionth; multipliers do not apply.',
        }),
      unpriced_units: z
        .array(z.enum(BILLED_UNITS))
        .meta({ description: 'Units that the call is billed by and that have no price: the cost lacks them.' }),
      assumptions: z.array(z.string()).meta({
        description: 'What the price assumes about the call, in sentences, such as the rates of another service tier.',
      }),
      readings: z
        .array(
          z.object({
            input_tokens: count().nullable(),
            output_tokens: count().nullable(),
            cost_usd: decimalText().nullable().meta({ description: 'Null: no price applies to these counts.' }),
          }),
        )
        .meta({
          description:
            'What the counts of the sender may mean, where two readings differ by more than 1 % in cost and no usage ' +
            'convention is chosen: the counts of the record first. Empty for most.',
        }),
      scope: z
        .enum(COST_SCOPES)
        .meta({ description: 'What the price covers: tokens, the fees of tools that the call used, other units.' }),
      details: facts('The price row, its period and its rates.'),
    }),
    footprint: z.object({
      energy_wh: z.object(band),
      carbon_gco2e: z.object({
        ...band,
        parts: z.object({ usage: decimalText(), embodied: decimalText() }).optional(),
      }),
      uncertainty: z
        .string()
        .nullable()
        .meta({ description: 'Describes in words how far a modelled value may be off (the outer band); else null.' }),
      inputs: z.object({ output_tokens: count().nullable(), latency_ms: count().nullable() }),
      constants: z
        .record(z.string(), decimalText())
        .nullable()
        .meta({ description: 'Constants of the closed form, if it was used.' }),
      details: facts('The model, the operator, the grid and the method.'),
    }),
    history: z
      .array(
        z.object({
          valid_from: timeText(),
          valid_to: timeText(),
          ended_by: z.object({
            change: z.enum(CHANGES),
            actor: z.string().meta({ description: 'Id of the credential, or `cli`.' }),
          }),
          service: z.string(),
          owner: z.string(),
          output_state: z.enum(OUTPUT_STATES),
          stage_origin: z.enum(STAGE_ORIGINS),
          evidence_basis: z.enum(EVIDENCE_BASES),
          confidence_band: z.enum(CONFIDENCE_BANDS),
          export_eligibility: z.enum(EXPORT_ELIGIBILITIES),
          cost_usd: decimalText(),
          cost_basis: z.enum(COST_BASES),
          energy_wh: decimalText(),
          energy_basis: z.enum(FOOTPRINT_BASES),
          carbon_gco2e: decimalText(),
          carbon_basis: z.enum(FOOTPRINT_BASES),
        }),
      )
      .meta({ description: 'Earlier versions of the record, oldest first; empty for most records.' }),
  })
  .meta({ id: 'Explanation', description: 'How the record was computed, in figures that add up.' })

const eventTags = z
  .record(z.string(), z.string())
  .meta({ description: 'All tags of the event, as it stated them, whether or not their keys are declared.' })

export const EXAMPLE_RECORD = {
  id: exampleId('attr'),
  invocation_id: exampleId('inv'),
  stated_provider: 'openai',
  provider: 'openai',
  requested_model: 'gpt-4o',
  served_model: 'gpt-4o',
  service: 'support-chat',
  owner: 'team-support',
  cost_usd: '0.0055',
  energy_wh: '0.484915706673',
  carbon_gco2e: '0.196787999672',
  pathway_category: 'gateway_mediated',
  output_state: 'deterministically_resolved',
  interpretation: {
    stage_origin: 'stage_a',
    confidence: 0.95,
    confidence_band: 'chargeback_ready',
    evidence_basis: 'identity_and_service_resolved',
    model_version: 'rules-7',
    degradation_state: 'none',
    freshness: 'fresh',
    export_eligibility: 'eligible',
    contested: null,
  },
  event_time: '2026-11-21T09:30:00.000Z',
  materialized_at: '2026-11-21T09:30:00.480Z',
  trace_id: null,
  tags: { team: 'payments' },
  input_tokens: 1200,
  output_tokens: 250,
  cost_basis: 'price_book',
  cost_bound: null,
  usage_basis: 'reported',
  outcome: 'success',
  energy_basis: 'modelled',
  carbon_basis: 'modelled',
}

export const LIST_ATTRIBUTIONS: Operation = {
  id: 'listAttributions',
  tag: 'Attribution',
  summary: 'List attribution records by filter and sort, newest first by default',
  description: FILTERS_DESCRIPTION,
  query: { ...PAGE_PARAMETERS, ...SORT_PARAMETER, ...FILTER_PARAMETERS },
  replies: {
    200: {
      description: 'A page of records.',
      contents: json(pageOf(attributionRecord), { data: [EXAMPLE_RECORD], page: { limit: 50, has_more: false } }),
    },
  },
}

export const GET_ATTRIBUTION: Operation = {
  id: 'getAttribution',
  tag: 'Attribution',
  summary: 'Get one record with its full explanation',
  parameters: { id: idInPath('attr', 'id of the record.') },
  replies: {
    200: {
      description: 'The record.',
      contents: json(
        attributionRecord.extend({ event_tags: eventTags, explanation }).meta({ id: 'ExplainedAttributionRecord' }),
      ),
    },
  },
}
