import { coloursOf, knownOf, knownText } from '../../figures/colours.js'
import type { Series } from '../../figures/stack.js'

/** What a part of a chart is filled with, on every page: class names of the styles. */

const KEY = 'attribution.colours'
let known = knownOf(localStorage.getItem(KEY))

/** The colours of the names of one chart, which this browser remembers. */
function colours(names: readonly string[]): ReadonlyMap<string, number> {
  const found = coloursOf(names, known)
  const text = knownText(found.known)
  if (text !== knownText(known)) localStorage.setItem(KEY, text)
  known = found.known
  return found.colours
}

/** Of dimensions whose values say how far a cost can be trusted. */
const TRUST_FILLS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  confidence_band: { chargeback_ready: 'trust-ready', provisional: 'trust-provisional', estimated: 'trust-estimated' },
  export_eligibility: { eligible: 'trust-ready' },
}

/** Names have colours, trust has its fills, nobody is empty and small groups are hatched wherever they are. */
export function fillsOf(series: readonly Series[], dimension: string): (series: Series) => string {
  const fills = new Map(Object.entries(TRUST_FILLS[dimension] ?? {}))
  const isNamed = ({ kind, key }: Series): boolean => kind === 'named' && !fills.has(key)
  const of = colours(series.filter(isNamed).map(({ key }) => key))
  return ({ kind, key }) => {
    if (kind === 'nobody') return 'trust-nobody'
    if (kind === 'folded') return 'folded'
    if (kind === 'rest') return 'series c-rest'
    return fills.get(key) ?? `series c${of.get(key)}`
  }
}
