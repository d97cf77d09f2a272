import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

/** What follows the last column is no figure. */
const CELL_PADDING_PX = 16

/** Scrolls where it is wider than the page, also with the arrow keys. A shadow at its edge says that there is more. */
export function Scroll({ label, children }: { readonly label: string; readonly children: ComponentChildren }) {
  const frame = useRef<HTMLElement>(null)
  const [hasMore, setMore] = useState(false)
  useEffect(() => {
    const scrolled = frame.current
    if (scrolled === null) return
    const look = (): void =>
      setMore(scrolled.scrollLeft + scrolled.clientWidth < scrolled.scrollWidth - CELL_PADDING_PX)
    const observer = new ResizeObserver(look)
    observer.observe(scrolled)
    if (scrolled.firstElementChild !== null) observer.observe(scrolled.firstElementChild)
    scrolled.addEventListener('scroll', look, { passive: true })
    return () => {
      observer.disconnect()
      scrolled.removeEventListener('scroll', look)
    }
  }, [])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
    <section ref={frame} class={hasMore ? 'scroll has-more' : 'scroll'} aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
