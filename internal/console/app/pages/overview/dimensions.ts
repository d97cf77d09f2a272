import { fieldShown, wordOf } from '../../../figures/words.js'

/** What the overview can be split by, in plain words. */
export const DIMENSIONS: Readonly<Record<string, string>> = Object.fromEntries(
  [
    'service',
    'owner',
    'provider',
    'served_model',
    'stage_origin',
    'confidence_band',
    'ingestion_layer',
    'cost_basis',
    'pool',
  ].map((name) => [name, fieldShown(name)]),
)

const CLOSED = ['stage_origin', 'confidence_band', 'cost_basis']

/** A label as people read it. Labels of closed lists have words of their own; names are shown as they are. */
export function labelShown(dimension: string, label: unknown): string {
  if (typeof label !== 'string') return ''
  if (CLOSED.includes(dimension)) return wordOf(label)
  if (label === '') return dimension === 'pool' ? 'attributed to a service' : 'not stated'
  return label
}
