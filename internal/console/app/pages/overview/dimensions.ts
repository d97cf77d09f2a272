import { type DimensionName, hasClosedValues } from '../../../../filters/report-dimensions.js'
import { isTagField } from '../../../../records/dimensions.js'
import { fieldShown, wordOf } from '../../../figures/words.js'

const SPLIT: readonly DimensionName[] = [
  'service',
  'owner',
  'provider',
  'served_model',
  'stage_origin',
  'confidence_band',
  'export_eligibility',
  'ingestion_layer',
  'cost_basis',
  'pool',
]

/** What the overview can be split by, in plain words. */
export const DIMENSIONS: Readonly<Record<string, string>> = Object.fromEntries(
  SPLIT.map((name) => [name, fieldShown(name)]),
)

/** A label as people read it. Labels of closed lists have words of their own; names are shown as they are. */
export function labelShown(dimension: string, label: unknown): string {
  if (typeof label !== 'string') return ''
  if (label === '') return dimension === 'pool' ? 'attributed to a service' : 'not stated'
  return hasClosedValues(dimension) ? wordOf(label) : label
}

/**
 * What an address splits the overview by.
 *
 * @param tags undefined until they are known
 * @returns undefined until it is known whether it is one; null where it is none
 */
export function splitOf(stated: string, tags: readonly { readonly name: string }[] | undefined) {
  if (Object.hasOwn(DIMENSIONS, stated)) return stated
  if (isTagField(stated) && tags === undefined) return undefined
  return tags?.some(({ name }) => name === stated) ? stated : null
}
