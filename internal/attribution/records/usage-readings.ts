import type { StoredAttributionDetail } from '../../store/queries/records/attributions.js'
import type { CostDetails } from '../../valuation/cost/cost-details.js'

/** What the counts of a call may mean, with the cost of it. */
export interface UsageReading {
  readonly input_tokens: number | null
  readonly output_tokens: number | null
  /** Null: no price applies to these counts. */
  readonly cost_usd: string | null
}

type Read = Pick<StoredAttributionDetail, 'cost_basis' | 'cost_details' | 'cost_usd' | 'input_tokens' | 'output_tokens'>

/** Both readings of ambiguous usage, the one that the record counts first; empty for any other record. */
export function usageReadings(stored: Read): readonly UsageReading[] {
  const { other_reading: other } = JSON.parse(stored.cost_details) as CostDetails
  if (other === undefined) return []
  const { input_tokens: input, output_tokens: output } = stored
  const counted = {
    input_tokens: input === null ? null : Number(input),
    output_tokens: output === null ? null : Number(output),
    cost_usd: stored.cost_basis === 'unpriced' ? null : stored.cost_usd,
  }
  return [counted, { input_tokens: other.input_tokens, output_tokens: other.output_tokens, cost_usd: other.cost_usd }]
}

/** In a sentence: `1400 input and 50 output tokens for 0.0055 USD`. */
export const readingInWords = ({ input_tokens: input, output_tokens: output, cost_usd: cost }: UsageReading): string =>
  `${input ?? 'no'} input and ${output ?? 'no'} output tokens ${cost === null ? 'without a price' : `for ${cost} USD`}`
