import type { FactsRow, TrainingRow } from '../../store/queries/attribution/training-window.js'
import type { Outcome, TrainingRecord } from '../learning/examples.js'
import type { EventFacts } from '../learning/features.js'

/** Converts a stored row to a training record: the facts that the inference stage has of an event, and its outcome. */
export const recordOf = (row: TrainingRow): TrainingRecord => ({ facts: factsOf(row), outcome: outcomeOf(row) })

function outcomeOf({ kind, service, owner }: TrainingRow): Outcome {
  switch (kind) {
    case 'unresolved':
      return { kind }
    case 'dispute':
      return { kind, against: { service, owner } }
    case 'resolved':
    case 'override':
      return { kind, label: { service, owner } }
  }
}

const NO_IDENTITY = '0'.repeat(32)

/** The facts that the inference stage had of an event, from its stored row; without those of its trace. */
export const factsOf = (row: FactsRow): EventFacts => ({
  eventTimeMs: Number(row.event_time_ms),
  provider: row.provider,
  model: row.served_model,
  ingestionLayer: row.ingestion_layer,
  principal: row.principal,
  inputTokens: count(row.input_tokens),
  outputTokens: count(row.output_tokens),
  cachedInputTokens: count(row.cached_input_tokens),
  reasoningTokens: count(row.reasoning_tokens),
  latencyMs: count(row.latency_ms),
  serviceTier: nonEmpty(row.service_tier),
  region: nonEmpty(row.region),
  identityHash: row.identity_hash_hex === NO_IDENTITY ? undefined : row.identity_hash_hex,
  traceId: nonEmpty(row.trace_id),
  tags: Object.keys(row.tags).length === 0 ? undefined : row.tags,
  k8sNamespace: nonEmpty(row.k8s_namespace),
  k8sWorkload: nonEmpty(row.k8s_workload),
  workloadIdentity: nonEmpty(row.workload_identity),
})

const count = (text: string | null): number | undefined => (text === null ? undefined : Number(text))
const nonEmpty = (text: string): string | undefined => (text === '' ? undefined : text)
