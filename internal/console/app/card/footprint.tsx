import { measureShown } from '../../figures/shown.js'
import { wordOf } from '../../figures/words.js'
import type { Band, Explanation, FootprintDetails } from './record.js'

/** Energy and carbon as intervals, and what they rest on. */
export function Footprint({
  footprint: { energy_wh: energy, carbon_gco2e: carbon, uncertainty, details },
}: {
  readonly footprint: Explanation['footprint']
}) {
  const { grid }: FootprintDetails = details
  return (
    <>
      {range(energy, 'energy')} · {range(carbon, 'carbon')}
      {grid?.zone !== undefined && ` · grid ${grid.zone}`}
      {uncertainty !== null && <p class="muted">{uncertainty}</p>}
    </>
  )
}

function range({ value, basis, outer_min: min, outer_max: max }: Band, kind: 'energy' | 'carbon'): string {
  if (basis === 'unknown') return `${kind} unknown`
  const interval =
    min === undefined || max === undefined ? '' : `${measureShown(min, kind)} – ${measureShown(max, kind)}, `
  return `${measureShown(value, kind)} (${interval}${wordOf(basis)})`
}
