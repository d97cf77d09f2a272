import type { GroupField } from '../filters/report-dimensions.js'
import { isTagField, keyOfTagField, tagFieldOf } from '../records/dimensions.js'
import type { ReportSort, ValueKey } from '../store/queries/reports/answer.js'
import type { Interval } from '../store/queries/reports/intervals.js'
import { COMPARED_FIGURES, type ReportKind } from './compared.js'

/** Why a parameter is refused. */
export interface Refusal {
  readonly pointer: string
  readonly detail: string
}

/** Figures by which the rows of a report can be sorted, besides their labels. */
const figure = (name: Extract<ValueKey, { kind: 'figure' }>['name']): ValueKey => ({ kind: 'figure', name })
const KEYS = {
  usage: {
    from: { kind: 'start' },
    cost_usd: figure('cost_usd'),
    cost_share: figure('cost_usd'),
    energy_wh: figure('energy_wh'),
    carbon_gco2e: figure('carbon_gco2e'),
    calls: figure('calls'),
    people: { kind: 'people' },
    input_tokens: figure('input_tokens'),
    output_tokens: figure('output_tokens'),
    cached_input_tokens: figure('cached_input_tokens'),
    cache_write_tokens: figure('cache_write_tokens'),
    reasoning_tokens: figure('reasoning_tokens'),
    cost_usd_per_call: { kind: 'quotient', of: 'cost_usd', by: ['calls'] },
    cost_usd_per_1k_tokens: { kind: 'quotient', of: 'cost_usd', by: ['input_tokens', 'output_tokens'] },
    confidence: { kind: 'quotient', of: 'cost_confidence', by: ['cost_usd'] },
    unpriced_calls: figure('unpriced_calls'),
    unattributed_calls: figure('unattributed_calls'),
    unattributed_cost_usd: figure('unattributed_cost_usd'),
  },
  adoption: { from: { kind: 'start' }, people: { kind: 'people' }, calls: figure('calls') },
} as const satisfies Readonly<Record<ReportKind, Readonly<Record<string, ValueKey>>>>

/** The names of `sort`, without the labels and changes. */
export const sortNames = (kind: ReportKind): readonly string[] => Object.keys(KEYS[kind])

/** Members of rows that are compared with the period before, by which rows can be sorted as `change.<name>`. */
const CHANGE = /^(change|change_percent)\.(.+)$/
const isCompared = (kind: ReportKind, name: string): boolean =>
  (COMPARED_FIGURES[kind] as readonly string[]).includes(name)

/**
 * @param text a name, with `-` for descending order; undefined: by time, then the largest first
 * @param groupBy labels that the rows have, by which they can be sorted too
 */
export function readSort(
  kind: ReportKind,
  text: string | undefined,
  groupBy: readonly GroupField[],
  interval: Interval | undefined,
  isComparing: boolean,
): ReportSort | Refusal {
  const largest = { key: kind === 'usage' ? KEYS.usage.cost_usd : KEYS.adoption.people, isDescending: true }
  if (text === undefined) {
    return interval === undefined ? [largest] : [{ key: { kind: 'start' }, isDescending: false }, largest]
  }
  const isDescending = text.startsWith('-')
  const name = isDescending ? text.slice(1) : text
  const label = groupBy.find((known) => known === (isTagField(name) ? tagFieldOf(keyOfTagField(name)) : name))
  if (label !== undefined) return [{ key: { kind: 'label', name: label }, isDescending }]
  const keys: Readonly<Record<string, ValueKey>> = KEYS[kind]
  const [, change, changed = ''] = (isComparing ? CHANGE.exec(name) : null) ?? []
  const value = change !== undefined && isCompared(kind, changed) ? keys[changed] : undefined
  if (value !== undefined) {
    return [{ key: { kind: 'change', of: value, isPercent: change === 'change_percent' }, isDescending }, largest]
  }
  const key = Object.hasOwn(keys, name) ? keys[name] : undefined
  if (key === undefined) {
    const changes = isComparing ? ['change.<figure>', 'change_percent.<figure>'] : []
    const known = [...Object.keys(keys), ...changes, 'a label of group_by'].join(', ')
    return { pointer: '/sort', detail: `sort must be one of ${known}, prefixed with - for descending order.` }
  }
  return [{ key, isDescending }, ...(key.kind === 'start' ? [largest] : [])]
}
