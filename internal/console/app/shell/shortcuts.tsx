import { useEffect, useState } from 'preact/hooks'
import { linkTo } from '../../figures/address.js'
import { goTo } from '../address/address.js'
import { pagesFor } from '../pages/pages.js'
import { hasScope } from '../session/session.js'
import type { Overlay } from './overlay-props.js'

/**
 * Ctrl or Cmd K opens the palette, `/` goes to the field of the page in which one types, `v` opens the saved views, `?`
 * the keys, and a digit a page.
 *
 * @returns the dialog that is open, and a way to change it
 */
export function useShortcuts() {
  const [overlay, setOverlay] = useState<Overlay | undefined>()
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const next = overlayOf(event)
      // A dialog has its own keys, and what is typed there stays.
      const isFree = document.querySelector('dialog[open]') === null && !event.altKey
      if (next !== 'palette' && (!isFree || isTyping(event) || event.ctrlKey || event.metaKey)) return
      const page = pagesFor(hasScope)[Number(event.key) - 1]
      // From the views or the keys it leads to the palette, but not from a form that somebody fills in.
      if (next !== undefined) setOverlay((open) => (isFree || open !== undefined ? next : open))
      else if (event.key === '/') document.querySelector<HTMLElement>('[data-filter]')?.focus()
      else if (page !== undefined) goTo(linkTo(page.path, new URLSearchParams(location.search)))
      else return
      event.preventDefault()
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
  return { overlay, setOverlay }
}

function overlayOf({ key, ctrlKey, metaKey }: KeyboardEvent): Overlay | undefined {
  if (ctrlKey || metaKey) return key.toLowerCase() === 'k' ? 'palette' : undefined
  return { '?': 'keys', v: 'views' }[key] as Overlay | undefined
}

const isTyping = ({ target }: KeyboardEvent): boolean =>
  target instanceof HTMLElement && (target.matches('input, select, textarea') || target.isContentEditable)
