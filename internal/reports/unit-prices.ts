import type { FigureName } from '../store/queries/reports/figures.js'
import { parseSum, STEPS_PER_UNIT } from '../units/quantity.js'
import { quotient } from './decimals.js'

export const PRICE_DECIMALS = 12

/** The average cost per call and per 1,000 tokens; null without calls or tokens. */
export function unitPrices(figures: Readonly<Record<FigureName, string>>) {
  const cost = parseSum<'USD'>(figures.cost_usd)
  const tokens = BigInt(figures.input_tokens) + BigInt(figures.output_tokens)
  return {
    cost_usd_per_call: quotient(cost, BigInt(figures.calls) * STEPS_PER_UNIT, PRICE_DECIMALS),
    cost_usd_per_1k_tokens: quotient(cost * 1_000n, tokens * STEPS_PER_UNIT, PRICE_DECIMALS),
  }
}
