import { percentShown } from '../../../figures/shown.js'

/** What is spent of a ceiling, on a scale with a mark at each threshold, and in percent. */

interface ScaleProps {
  /** Of the ceiling, as the API gives it. */
  readonly percent: string
  readonly spent: string
  readonly thresholds: readonly number[]
}

export function Scale({ percent, spent, thresholds }: ScaleProps) {
  const whole = Math.max(100, ...thresholds)
  const x = (part: number): string => `${Math.min(100, (part / whole) * 100)}%`
  const shown = percentShown(percent, spent)
  const words = `${shown} of the ceiling is spent; thresholds ${thresholds.join(', ') || 'none'}`
  return (
    <>
      <svg class="scale" role="img" aria-label={words}>
        <title>{words}</title>
        <line class="scale-line" x1="0" x2="100%" y1="50%" y2="50%" />
        <rect
          class={Number(percent) < 100 ? 'trust-ready' : 'overspent'}
          x="0"
          y="25%"
          width={x(Number(percent))}
          height="50%"
        />
        {thresholds.map((threshold) => (
          <line key={threshold} class="scale-floor" x1={x(threshold)} x2={x(threshold)} y1="0" y2="100%" />
        ))}
      </svg>{' '}
      {shown}
    </>
  )
}
