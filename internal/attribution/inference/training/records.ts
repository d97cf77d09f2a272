import type { TrainingRow } from '../../../store/queries/attribution/training-window.js'
import type { EventFacts } from '../learning/features.js'
import type { Outcome, TrainingRecord } from '../learning/train.js'

/** A stored row as the training takes it: the same facts as stage B has of an event, and what became of it. */
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

const NOBODY = '0'.repeat(32)

const factsOf = (row: TrainingRow): EventFacts => ({
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
  serviceTier: stated(row.service_tier),
  region: stated(row.region),
  identityHash: row.identity_hash_hex === NOBODY ? undefined : row.identity_hash_hex,
  traceId: stated(row.trace_id),
  tags: Object.keys(row.tags).length === 0 ? undefined : row.tags,
  k8sNamespace: stated(row.k8s_namespace),
  k8sWorkload: stated(row.k8s_workload),
  workloadIdentity: stated(row.workload_identity),
})

const count = (text: string | null): number | undefined => (text === null ? undefined : Number(text))
const stated = (text: string): string | undefined => (text === '' ? undefined : text)
