import { useEffect, useRef, useState } from 'preact/hooks'

const AT_FIRST_PX = 800

/** The width of an element, as it changes: what is drawn in it fits. */
export function useWidth() {
  const frame = useRef<HTMLDivElement>(null)
  const [width, setWidth] = useState(AT_FIRST_PX)
  useEffect(() => {
    if (frame.current === null) return
    const observer = new ResizeObserver(([entry]) => setWidth(entry?.contentRect.width ?? AT_FIRST_PX))
    observer.observe(frame.current)
    return () => observer.disconnect()
  }, [])
  return { frame, width }
}
