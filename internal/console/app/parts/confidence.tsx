import { chargeShown, confidenceShown, type Interpreted, trustPartOf } from '../../figures/trust.js'
import { TRUST_FILL } from './trust-bar.js'

/** The confidence of one call on its scale, with the floor of chargeback marked at 0.80: filled if it can be charged. */

const FLOOR = 80

export function Confidence({ call, isWide = false }: { readonly call: Interpreted; readonly isWide?: boolean }) {
  const percent = Math.max(0, Math.min(1, call.confidence)) * 100
  const words = `confidence ${confidenceShown(call.confidence)}, floor 0.80: ${chargeShown(call)}`
  return (
    <svg class={isWide ? 'scale wide' : 'scale'} role="img" aria-label={words}>
      <title>{words}</title>
      <line class="scale-line" x1="0" x2="100%" y1="50%" y2="50%" />
      <rect class={TRUST_FILL[trustPartOf(call)]} x="0" y="25%" width={`${percent}%`} height="50%" />
      <line class="scale-floor" x1={`${FLOOR}%`} x2={`${FLOOR}%`} y1="0" y2="100%" />
    </svg>
  )
}
