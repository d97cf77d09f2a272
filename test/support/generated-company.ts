import type { Invocation } from '../../internal/invocations/invocation.js'
import { formatQuantity } from '../../internal/units/quantity.js'
import { type PriceBookFile, priceBook } from '../../internal/valuation/cost/price-book.js'
import { priceInvocation } from '../../internal/valuation/cost/price-invocation.js'

/** October 2026 of a company of 500 people and 40 services, with a price book of three models, from a seed. */

export interface Call {
  readonly at: number
  /** 0 is nobody. */
  readonly person: number
  readonly service: string
  readonly owner: string
  readonly provider: string
  readonly model: string
  readonly outcome: string
  readonly usage: string
  readonly evidence: string
  readonly tier: '' | 'batch'
  readonly region: string
  readonly layer: string
  readonly credential: string
  readonly trace: string
  readonly operation: string
  readonly input: number
  readonly cached: number
  readonly output: number
  readonly reasoning: number
  readonly searches: number
  /** USD that the sender states, in 10^-12; undefined: the price counts. */
  readonly stated: bigint | undefined
}

/** USD per million tokens in 10^-6, and per search in 10^-12. */
export const RATES = {
  small: { provider: 'openai', input: 250_000n, cached: 25_000n, output: 2_000_000n, search: 10_000_000_000n },
  large: { provider: 'openai', input: 2_500_000n, cached: 250_000n, output: 10_000_000n, search: 10_000_000_000n },
  careful: { provider: 'anthropic', input: 3_000_000n, cached: 300_000n, output: 15_000_000n, search: 12_000_000_000n },
} as const
export type Model = keyof typeof RATES
const MODELS = Object.keys(RATES) as Model[]
const text = (millionths: bigint): string => formatQuantity((millionths * 10n ** 12n) as never)

const FILE: PriceBookFile = {
  as_of: '2026-10-01',
  providers: { openai: {}, anthropic: {} },
  models: MODELS.map((model) => {
    const { provider, input, cached, output, search } = RATES[model]
    return {
      provider,
      model,
      ...{ input: text(input), output: text(output), cache_read: text(cached) },
      batch: { input: text(input / 2n), output: text(output / 2n), cache_read: text(cached / 2n) },
      fees: { web_search: text(search / 10n ** 6n) },
    }
  }),
  history: [],
  zero_priced: [],
  incomplete: [],
  quarantined: [],
}
export const BOOK = priceBook(FILE)

/** What a call costs, by its counts, in 10^-12 USD: apart by part, and in all. */
export function costOf(call: Call, model = call.model as Model, tier = call.tier) {
  const { input, cached, output, search } = RATES[model]
  const half = tier === 'batch' ? 2n : 1n
  const parts = {
    input: (BigInt(call.input - call.cached) * input) / half,
    cached_input: (BigInt(call.cached) * cached) / half,
    output: (BigInt(call.output) * output) / half,
    fees: BigInt(call.searches) * search,
  }
  const priced = Object.values(parts).reduce((sum, part) => sum + part, 0n)
  return { parts, priced, usd: call.stated ?? priced }
}

/** Decimal text of 10^-12 USD. */
export const usdText = (steps: bigint): string =>
  steps < 0n ? `-${formatQuantity((-steps * 10n ** 6n) as never)}` : formatQuantity((steps * 10n ** 6n) as never)

const DAY_MS = 24 * 60 * 60 * 1000
const OCTOBER_MS = Date.UTC(2026, 9, 1)
/** Ids of credentials, two of which have one name: a key and the one that replaced it. */
export const CREDENTIALS = new Map([
  ['key_1', 'checkout'],
  ['key_2', 'search'],
  ['key_3', 'checkout'],
])

function generator(seed: number) {
  let state = seed
  // Numerical Recipes' linear congruential generator.
  return (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

export function companyCalls(count: number, seed: number): readonly Call[] {
  const draw = generator(seed)
  const of = <T>(...values: readonly T[]): T => values[draw(values.length)] as T
  return Array.from({ length: count }, (_, i) => {
    const service = draw(40)
    const isAgent = service % 4 === 0
    const model = of(...MODELS)
    const input = 100 + draw(20_000)
    const output = 10 + draw(2_000)
    return {
      at: OCTOBER_MS + draw(31) * DAY_MS + draw(24) * 3_600_000,
      person: isAgent ? 0 : 1 + draw(500),
      service: `service-${service}`,
      owner: `team-${service % 8}`,
      provider: RATES[model].provider,
      model,
      outcome: of('success', 'success', 'success', 'error', 'cancelled', ''),
      usage: of('reported', 'reported', 'partial'),
      evidence: of('service_resolved', 'identity_resolved', 'trace_correlated'),
      tier: of<'' | 'batch'>('', '', 'batch'),
      region: of('eu-central-1', 'us-east-1', ''),
      layer: of('gateway', 'sdk'),
      credential: of(...CREDENTIALS.keys()),
      trace: isAgent ? `trace-${Math.floor(i / 20)}` : '',
      operation: isAgent ? `workflow-${draw(30)}` : '',
      input,
      cached: of(0, 0, Math.floor(input / 2)),
      output,
      reasoning: of(0, Math.floor(output / 3)),
      searches: of(0, 0, 0, 2),
      stated: draw(10) === 0 ? BigInt(draw(10_000)) * 10n ** 7n : undefined,
    }
  })
}

/** Whether the directory names no owner, and the caller is taken for it. */
export const isOwnOwner = ({ person }: Call): boolean => person > 0 && person % 10 === 0

/** The calls as rows of `attributions`, valued by the product's own rule. */
export const storedRows = (calls: readonly Call[], tenantId: string): readonly Record<string, unknown>[] =>
  calls.map((call, i) => {
    const invocation = {
      provider: call.provider,
      requestedModel: call.model,
      servedModel: call.model,
      eventTimeMs: call.at,
      inputTokens: call.input,
      outputTokens: call.output,
      cachedInputTokens: call.cached,
      reasoningTokens: call.reasoning,
      ...(call.searches > 0 && { webSearchCalls: call.searches }),
      ...(call.tier !== '' && { serviceTier: call.tier }),
      ...(call.stated !== undefined && { estimatedCostUsd: usdText(call.stated) }),
    } as Invocation
    const { costUsd, basis, detailsJson } = priceInvocation(invocation, BOOK)
    return {
      tenant_id: tenantId,
      id: String(i).padStart(16, '0'),
      event_time: new Date(call.at).toISOString().replace('T', ' ').slice(0, 23),
      valid_from: '2026-11-01 00:00:00.000',
      provider: call.provider,
      requested_model: call.model,
      served_model: call.model,
      service: call.service,
      owner: call.owner,
      cost_usd: formatQuantity(costUsd),
      cost_basis: basis,
      cost_details: detailsJson,
      confidence: 0.9,
      confidence_band: 'chargeback_ready',
      stage_origin: 'stage_a',
      output_state: 'deterministically_resolved',
      export_eligibility: 'eligible',
      evidence_basis: call.evidence,
      evidence: JSON.stringify({ owner_from: isOwnOwner(call) ? 'event_identity' : 'directory_service' }),
      pathway_category: 'application_direct',
      outcome: call.outcome,
      usage_basis: call.usage,
      service_tier: call.tier,
      region: call.region,
      ingestion_layer: call.layer,
      principal: call.credential,
      trace_id: call.trace,
      operation_id: call.operation,
      input_tokens: call.input,
      output_tokens: call.output,
      cached_input_tokens: call.cached,
      reasoning_tokens: call.reasoning,
      ...(call.searches > 0 && { web_search_calls: call.searches }),
      identity_hash:
        call.person === 0 ? '\0'.repeat(16) : String(call.person).padStart(16, 'x').split('').reverse().join(''),
    }
  })
