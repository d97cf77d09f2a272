import { formatQuantity, parseQuantity, type Quantity, zero } from '../../units/quantity.js'
import { priceShown } from './shown.js'

/** Rates of `GET /api/v1/prices`: decimal texts in USD, for a million tokens of each kind; tiers have their own. */
type RateTable = Readonly<Record<string, unknown>>

const KINDS: Readonly<Record<string, string>> = {
  cache_read_tokens: 'cached input',
  cache_write_tokens: 'cache writes',
  cache_write_1h_tokens: 'cache writes of an hour',
  reasoning_tokens: 'reasoning',
  audio_input_tokens: 'audio input',
  audio_output_tokens: 'audio output',
  audio_cache_read_tokens: 'cached audio',
  image_input_tokens: 'image input',
  image_output_tokens: 'image output',
  image_cache_read_tokens: 'cached images',
  input_tokens: 'input',
  output_tokens: 'output',
}

/** Every rate but those of input and output, in words: "cached input 0.5, batch: input 1, output 4". */
export function otherRates(rates: RateTable): readonly string[] {
  return Object.entries(rates).flatMap(([kind, rate]) => {
    if (rate === null || kind === 'input_tokens' || kind === 'output_tokens') return []
    if (kind === 'thresholds') return (rate as readonly RateTable[]).map(aboveShown)
    if (typeof rate === 'string') return [`${kindShown(kind)} ${priceShown(rate)}`]
    return [`${kindShown(kind)}: ${plainRates(rate as RateTable)}`]
  })
}

const kindShown = (kind: string): string => KINDS[kind] ?? kind.replaceAll('_', ' ')

const plainRates = (rates: RateTable): string =>
  Object.entries(rates)
    .flatMap(([kind, rate]) => (typeof rate === 'string' ? [`${kindShown(kind)} ${priceShown(rate)}`] : []))
    .join(', ')

const aboveShown = ({ above_input_tokens: above, ...rates }: RateTable): string =>
  `above ${Number(above).toLocaleString('en-US')} input tokens: ${plainRates(rates)}`

/**
 * What tokens cost at rates for a million of them, as decimal text.
 *
 * @returns undefined where a count is not known, or a rate is none
 */
export function costOfTokens(counts: readonly (number | null)[], rates: readonly string[]): string | undefined {
  let cost = zero<'USD'>()
  for (const [at, count] of counts.entries()) {
    const rate = parseQuantity<'USD'>(rates[at] ?? '')
    if (count === null || rate === undefined) return undefined
    cost = (cost + (rate * BigInt(count)) / 1_000_000n) as Quantity<'USD'>
  }
  return formatQuantity(cost)
}
