/** The confidence of one record on its scale, with the floor of chargeback marked at 0.80. */

const FLOOR = 80
const BAND_FILL: Readonly<Record<string, string>> = {
  chargeback_ready: 'trust-ready',
  provisional: 'trust-provisional',
  estimated: 'trust-estimated',
}

interface ConfidenceProps {
  readonly confidence: number
  readonly band: string
  readonly isWide?: boolean
}

export function Confidence({ confidence, band, isWide = false }: ConfidenceProps) {
  const percent = Math.max(0, Math.min(1, confidence)) * 100
  const words = `confidence ${confidence.toFixed(2)}, floor 0.80`
  return (
    <svg class={isWide ? 'scale wide' : 'scale'} role="img" aria-label={words}>
      <title>{words}</title>
      <line class="scale-line" x1="0" x2="100%" y1="50%" y2="50%" />
      <rect class={BAND_FILL[band] ?? 'trust-nobody'} x="0" y="25%" width={`${percent}%`} height="50%" />
      <line class="scale-floor" x1={`${FLOOR}%`} x2={`${FLOOR}%`} y1="0" y2="100%" />
    </svg>
  )
}
