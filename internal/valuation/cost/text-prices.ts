import type { RateSheet } from './rate-sheet.js'

/** The list price of a model that generates text, by which models of unknown size are compared. */
export interface TextPrice {
  readonly provider: string
  readonly model: string
  readonly region: string | undefined
  /** USD per 1,000,000 output tokens, above 0; of the newest price in force or past. */
  readonly outputUsd: string
}

/** Modes of the book whose output is text; a row without one is text unless it prices another output. */
const TEXT_MODES: ReadonlySet<string> = new Set(['chat', 'completion', 'responses'])

/**
 * @param row of the book
 * @param history dated prices of its model, oldest first
 * @returns undefined for a row that is not of text generation, or has no price of its output
 */
export function textPrice(
  row: RateSheet & {
    readonly provider: string
    readonly model: string
    readonly mode?: string
    readonly region?: string
  },
  history: readonly { readonly price: RateSheet; readonly scheduled?: boolean }[] | undefined,
): TextPrice | undefined {
  const { mode, provider, model, region, audio_output: speech, image_output: images } = row
  const isText = mode === undefined ? speech === undefined && images === undefined : TEXT_MODES.has(mode)
  const newest = history?.findLast(({ scheduled }) => scheduled !== true)
  const outputUsd = newest?.price.output ?? row.output ?? row.bands?.[0]?.output
  return isText && Number(outputUsd ?? 0) > 0 ? { provider, model, region, outputUsd: outputUsd ?? '0' } : undefined
}
