import { useEffect, useState } from 'preact/hooks'

interface Tip {
  readonly text: string
  readonly left: number
  readonly top: number
}

/** What a mouse shows while it rests on something, a tap shows below it, until the next tap or a scroll. */
export function TapTitles() {
  const [tip, setTip] = useState<Tip | undefined>()
  useEffect(() => {
    const tapped = ({ pointerType, target }: PointerEvent): void =>
      setTip(pointerType !== 'mouse' && target instanceof Element ? tipOf(target) : undefined)
    const forget = (): void => setTip(undefined)
    addEventListener('pointerup', tapped)
    addEventListener('scroll', forget, { capture: true, passive: true })
    return () => {
      removeEventListener('pointerup', tapped)
      removeEventListener('scroll', forget, { capture: true })
    }
  }, [])
  if (tip === undefined) return null
  const { text, left, top } = tip
  return (
    <div class="tip" role="tooltip" style={{ left: `${left}px`, top: `${top}px` }}>
      {text}
    </div>
  )
}

/** As wide as `.tip`, with the space around it. */
const WIDTH_PX = 288

function tipOf(target: Element): Tip | undefined {
  const titled = target.closest('[title], svg:has(> title)')
  const text = titled?.getAttribute('title') ?? titled?.querySelector(':scope > title')?.textContent ?? ''
  // What does something when tapped says what by doing it.
  if (titled === null || text === '' || titled.closest('button, a, summary, select, input') !== null) return undefined
  const { left, bottom } = titled.getBoundingClientRect()
  return { text, left: Math.max(8, Math.min(left, innerWidth - WIDTH_PX)), top: bottom + 4 }
}
