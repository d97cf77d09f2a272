/**
 * What a call costs by LiteLLM's map (`model_prices_and_context_window.json`), read by its documentation
 * (docs.litellm.ai, provider pricing) and the names of its keys. Shares nothing with the readers of the product.
 */
import type { Tier, Usage, Vector } from './vectors.js'

export type LitellmMap = Readonly<Record<string, LitellmRow>>

/** USD per token, or per token beyond a threshold or of a tier. Fields that are not named here are not read. */
export type LitellmRow = Readonly<Record<string, unknown>> & {
  readonly litellm_provider?: string
  readonly off_peak_pricing?: OffPeak
}

/** Rates in place of the row's in these hours (UTC) of these ISO weekdays. */
type OffPeak = Readonly<Record<string, unknown>> & {
  readonly windows: readonly { readonly hours_utc: string | readonly string[]; readonly weekdays: readonly number[] }[]
}

/** The map by its keys in lower case: other books spell some models otherwise. */
export type LitellmRows = ReadonlyMap<string, LitellmRow>

export const litellmRows = (map: LitellmMap): LitellmRows =>
  new Map(Object.entries(map).map(([key, row]) => [key.toLowerCase(), row]))

const SUFFIXES: Readonly<Record<Tier, string>> = { batch: '_batches', flex: '_flex', priority: '_priority' }

/** @returns USD; undefined where the map states no rate of this tier or kind of tokens, or a price of 0 */
export function litellmUsd(stated: LitellmRow, { usage, tier }: Vector, atMs: number): number | undefined {
  const row = rowAt(stated, atMs)
  const suffix = tier === undefined ? '' : SUFFIXES[tier]
  const threshold = thresholdPassed(row, usage.input, suffix)
  const rate = (key: string): number | undefined => {
    const beyond = threshold === undefined ? undefined : row[`${key}_above_${threshold}k_tokens${suffix}`]
    const found = beyond ?? row[`${key}${suffix}`]
    return typeof found === 'number' ? found : undefined
  }
  // A tier is stated when both of its rates are; a row without output (embeddings) has none beside its input either.
  const input = rate('input_cost_per_token')
  const output = rate('output_cost_per_token') ?? (tier === undefined ? 0 : undefined)
  if (input === undefined || output === undefined) return undefined
  const usd = usdAt(usage, { input, output, rate })
  return usd === undefined || usd <= 0 ? undefined : usd
}

interface Rated {
  readonly input: number
  readonly output: number
  rate(key: string): number | undefined
}

/** Parts of input and output at their own rate; undefined when one has none. */
function usdAt(usage: Usage, { input, output, rate }: Rated): number | undefined {
  const parts = [
    [usage.cacheRead, 'cache_read_input_token_cost'],
    [usage.cacheWrite5m, 'cache_creation_input_token_cost'],
    [usage.cacheWrite1h, 'cache_creation_input_token_cost_above_1hr'],
    [usage.audioInput, 'input_cost_per_audio_token'],
    [usage.audioOutput, 'output_cost_per_audio_token'],
  ] as const
  let usd = 0
  let ofInput = usage.input
  let ofOutput = usage.output
  for (const [tokens, key] of parts) {
    if (tokens === undefined) continue
    const own = rate(key)
    if (own === undefined) return undefined
    usd += tokens * own
    if (key === 'output_cost_per_audio_token') ofOutput -= tokens
    else ofInput -= tokens
  }
  return usd + ofInput * input + ofOutput * output
}

/** The highest threshold below the total input, in thousands: it re-prices the whole request. */
function thresholdPassed(row: LitellmRow, inputTokens: number, suffix: string): number | undefined {
  const pattern = new RegExp(`^input_cost_per_token_above_(\\d+)k_tokens${suffix}$`)
  const passed = Object.keys(row)
    .map((key) => Number(pattern.exec(key)?.[1] ?? Number.NaN))
    .filter((thousands) => inputTokens > thousands * 1_000)
  return passed.length === 0 ? undefined : Math.max(...passed)
}

function rowAt(row: LitellmRow, atMs: number): LitellmRow {
  const { off_peak_pricing: offPeak } = row
  if (offPeak === undefined) return row
  const at = new Date(atMs)
  const time = at.toISOString().slice(11, 16)
  const weekday = at.getUTCDay() === 0 ? 7 : at.getUTCDay()
  const isOffPeak = offPeak.windows.some(
    ({ hours_utc: hours, weekdays }) =>
      weekdays.includes(weekday) && [hours].flat().some((each) => isWithin(time, each)),
  )
  return isOffPeak ? { ...row, ...offPeak } : row
}

/** Whether a time is in `10:00-00:00`; the end is not included, and 00:00 ends the day. */
function isWithin(time: string, hours: string): boolean {
  const [from = '', to = ''] = hours.split('-')
  return time >= from && time < (to === '00:00' ? '24:00' : to)
}
