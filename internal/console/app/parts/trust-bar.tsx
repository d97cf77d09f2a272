import { fractionOf } from '../../figures/shares.js'
import { shareShown } from '../../figures/shown.js'
import { TRUST_PARTS, type Trust, type TrustPart } from '../../figures/trust.js'

/** The one picture of confidence. Filled is what can be charged, and nothing else is. */

export const TRUST_WORDS: Readonly<Record<TrustPart, string>> = {
  eligible: 'can be charged',
  held_back: 'held back',
  provisional: 'provisional',
  estimated: 'estimated',
  unattributed: 'nobody',
}
export const TRUST_FILL: Readonly<Record<TrustPart, string>> = {
  eligible: 'trust-ready',
  held_back: 'trust-held-back',
  provisional: 'trust-provisional',
  estimated: 'trust-estimated',
  unattributed: 'trust-nobody',
}

/** The patterns that the fills refer to; once in the document. */
export const Patterns = () => (
  <svg class="patterns" aria-hidden="true" width="0" height="0">
    <defs>
      <pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
        <rect class="hatch-paper" width="4" height="4" />
        <rect class="hatch-ink" width="2" height="4" />
      </pattern>
      <pattern id="dots" width="4" height="4" patternUnits="userSpaceOnUse">
        <circle class="hatch-ink" cx="2" cy="2" r="0.9" />
      </pattern>
    </defs>
  </svg>
)

/** @param whole what the parts add up to */
export function TrustBar({ trust, whole, isWide = false }: { trust: Trust; whole: string; isWide?: boolean }) {
  const shares = TRUST_PARTS.map((part) => ({ part, share: fractionOf(trust[part], whole) ?? '0' }))
  const words = shares
    .filter(({ share }) => Number(share) > 0)
    .map(({ part, share }) => `${shareShown(share)} ${TRUST_WORDS[part]}`)
    .join(', ')
  let x = 0
  return (
    <svg class={isWide ? 'trust wide' : 'trust'} role="img" aria-label={words === '' ? 'nothing to charge' : words}>
      <title>{words}</title>
      {shares.map(({ part, share }) => {
        const width = Number(share) * 100
        const at = x
        x += width
        return width === 0 ? null : (
          <rect key={part} class={TRUST_FILL[part]} x={`${at}%`} y="0" width={`${width}%`} height="100%" />
        )
      })}
    </svg>
  )
}
