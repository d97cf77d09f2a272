import { useRef, useState } from 'preact/hooks'
import { type Slots, slotAt } from '../../figures/axis.js'

/** Intervals of a chart that a person points at, or has drawn the pointer over. */
export interface Pick {
  readonly first: number
  readonly last: number
}

interface Pointed {
  /** Where it began. */
  readonly anchor: number
  readonly at: number
  readonly isDrawn: boolean
}

/**
 * Follows pointer and arrow keys. A click, or Enter, opens the interval; drawing over several, or Shift with the
 * arrows, opens these. A first touch reads an interval, a second one opens it.
 *
 * @param open undefined where nothing can be opened
 */
export function usePick(slots: Slots, open: ((pick: Pick, series: string | undefined) => void) | undefined) {
  const [pointed, setPointed] = useState<Pointed | undefined>()
  const touched = useRef<number | undefined>(undefined)
  const series = useRef<string | undefined>(undefined)
  const pick = pointed && pickOf(pointed)
  const end = (): void => setPointed(undefined)
  const openAll = (at: Pointed): void => {
    end()
    open?.(pickOf(at), series.current)
    series.current = undefined
  }
  const slotOf = (event: PointerEvent): number => {
    const box = (event.currentTarget as Element).getBoundingClientRect()
    return slotAt(slots, event.clientX - box.left)
  }
  const point = (at: number): void =>
    setPointed((before) => {
      if (before?.at === at) return before
      return before?.isDrawn === true ? { ...before, at } : { anchor: at, at, isDrawn: false }
    })
  const handlers = {
    onPointerMove: (event: PointerEvent): void => point(slotOf(event)),
    onPointerDown: (event: PointerEvent): void => {
      if (event.button !== 0) return
      const at = slotOf(event)
      series.current = (event.target as SVGElement).dataset['series']
      if (event.pointerType === 'touch') return
      ;(event.currentTarget as Element).setPointerCapture(event.pointerId)
      setPointed({ anchor: at, at, isDrawn: true })
    },
    onPointerUp: (event: PointerEvent): void => {
      const at = slotOf(event)
      if (event.pointerType !== 'touch') {
        if (pointed?.isDrawn === true) openAll({ ...pointed, at })
        return
      }
      const isAgain = touched.current === at
      touched.current = isAgain ? undefined : at
      if (isAgain) openAll({ anchor: at, at, isDrawn: false })
      else point(at)
    },
    onPointerLeave: (event: PointerEvent): void => {
      if (event.pointerType !== 'touch' && pointed?.isDrawn !== true) end()
    },
    onBlur: end,
    onKeyDown: (event: KeyboardEvent): void => {
      const at = movedBy(event.key, pointed?.at, slots.count)
      if (event.key === 'Escape') end()
      if (at === undefined && (event.key !== 'Enter' || pointed === undefined)) return
      event.preventDefault()
      if (at === undefined) {
        if (pointed !== undefined) openAll(pointed)
      } else setPointed((before) => ({ anchor: event.shiftKey ? (before?.anchor ?? at) : at, at, isDrawn: false }))
    },
  }
  return { pick, handlers }
}

const pickOf = ({ anchor, at }: Pointed): Pick => ({ first: Math.min(anchor, at), last: Math.max(anchor, at) })

/** Where a key leads; undefined for one that leads nowhere. */
function movedBy(key: string, at: number | undefined, count: number): number | undefined {
  switch (key) {
    case 'ArrowRight':
      return Math.min(count - 1, (at ?? -1) + 1)
    case 'ArrowLeft':
      return Math.max(0, (at ?? count) - 1)
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return undefined
  }
}
