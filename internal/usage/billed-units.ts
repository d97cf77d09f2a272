import type { BilledUnit } from '../text/call-words.js'

/** How much of each unit besides tokens a call is billed, as an event states it: decimal texts. */
export type UnitQuantities = Readonly<Partial<Record<BilledUnit, string>>>

/** The names by which usage objects state a unit. No provider states requests, documents or minutes of a container. */
const NAMES: Readonly<Partial<Record<BilledUnit, readonly string[]>>> = {
  // OpenAI's and LiteLLM's transcriptions (`type: duration`), Mistral's audio, xAI's voice.
  seconds: ['seconds', 'prompt_audio_seconds', 'billable_audio_seconds'],
  // Cohere's embeddings, LiteLLM, DashScope.
  images: ['images', 'output_image_count', 'image_count'],
  // Speech: `usage` of those who copy OpenAI's report of it, DashScope.
  characters: ['input_characters', 'characters'],
  // Mistral's OCR.
  pages: ['pages_processed'],
  // Cohere's rerank.
  search_units: ['search_units'],
}
const BY_NAME = new Map(
  Object.entries(NAMES).flatMap(([unit, names]) => names.map((name) => [name, unit as BilledUnit] as const)),
)

/** Objects in which the counts may stand: Mistral's `usage_info`, `meta.billed_units` of Cohere's first version. */
const WITHIN: ReadonlySet<string> = new Set(['usage', 'usage_info', 'meta', 'billed_units'])

/** Billed beside tokens: Mistral's Voxtral. */
const BESIDE_TOKENS = 'prompt_audio_seconds'

/**
 * What a usage object states that is billed besides tokens; undefined without any of it. Zero says nothing.
 *
 * @param isCounted it states tokens, too: images and characters then say what those were made of (Cohere, DashScope)
 */
export function unitsOfUsage(usage: object, isCounted = false): UnitQuantities | undefined {
  const units: Partial<Record<BilledUnit, string>> = {}
  takeUnits(isCounted ? { [BESIDE_TOKENS]: (usage as Record<string, unknown>)[BESIDE_TOKENS] } : usage, units)
  return Object.keys(units).length === 0 ? undefined : units
}

function takeUnits(usage: object, units: Partial<Record<BilledUnit, string>>): void {
  for (const [name, value] of Object.entries(usage)) {
    const unit = BY_NAME.get(name)
    if (typeof value === 'number' && unit !== undefined) {
      const quantity = quantityText(value)
      if (quantity !== undefined) units[unit] ??= quantity
    } else if (typeof value === 'object' && value !== null && WITHIN.has(name)) takeUnits(value, units)
  }
}

/** As an event may state it: rounded to a millionth, without an exponent; undefined if it is 0 or no quantity. */
function quantityText(value: number): string | undefined {
  const millionths = Math.round(value * 1_000_000)
  if (!(millionths > 0 && value < QUANTITY_LIMIT)) return undefined
  const text = String(millionths).padStart(DECIMALS + 1, '0')
  return `${text.slice(0, -DECIMALS)}.${text.slice(-DECIMALS)}`.replace(/\.?0+$/, '')
}
const QUANTITY_LIMIT = 1_000_000_000
const DECIMALS = 6
