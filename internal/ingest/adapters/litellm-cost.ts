import type { Selected } from '../../text/select-json.js'
import { amountSteps, amountText } from './amount.js'
import { objectOf } from './fields.js'

/** What is read of a usage object about money. */
export const COST_WANTED = {
  cost: 'digits',
  is_byok: 'value',
  cost_details: { upstream_inference_cost: 'digits' },
} as const

/**
 * What the providers charge, without LiteLLM's own margin. 0 says nothing: LiteLLM writes it for a model without a
 * price. Behind OpenRouter with a key of one's own, LiteLLM states only the fee; the model is paid to its provider.
 */
export function statedCost(payload: Selected, usage: Selected): string | undefined {
  const cost = amountSteps(payload['response_cost'])
  if (usage['is_byok'] === true) {
    const upstream = amountSteps(objectOf(usage['cost_details'])['upstream_inference_cost']) ?? 0n
    // Where LiteLLM prices the model itself, its cost is no fee.
    const fee = amountSteps(usage['cost']) ?? (cost !== undefined && cost < upstream ? cost : 0n)
    if (upstream > 0n) return amountText(upstream + fee)
  }
  if (cost === 0n && isFree(usage)) return '0'
  const margin = amountSteps(objectOf(payload['cost_breakdown'])['margin_total_amount'])
  return cost === undefined ? undefined : amountText(cost - (margin ?? 0n))
}

/** OpenRouter says what it charged, and whose key paid: its 0 is a price. */
const isFree = (usage: Selected): boolean => usage['is_byok'] === false && amountSteps(usage['cost']) === 0n

/** LiteLLM names the key of its cache on answers from it only (1.108.7), and such an answer costs nothing. */
export function isFromCache(payload: Selected): boolean {
  if (isTrue(payload['cache_hit'])) return true
  const key = objectOf(payload['hidden_params'])['cache_key']
  return typeof key === 'string' && key !== '' && (amountSteps(payload['response_cost']) ?? 0n) === 0n
}

const isTrue = (value: unknown): boolean => value === true || (typeof value === 'string' && /^true$/i.test(value))
