import { useEffect, useState } from 'preact/hooks'
import { linkTo } from '../../figures/address.js'
import { goTo } from '../address/address.js'
import { PAGES } from '../pages/pages.js'
import { Dialog } from '../parts/dialog.js'

/** `/` goes to the filter of the page, `?` opens the help, and a digit opens a page. */
export function useShortcuts() {
  const [isOpen, setOpen] = useState(false)
  useEffect(() => {
    const pressed = (event: KeyboardEvent): void => {
      const { target } = event
      const isTyping =
        target instanceof HTMLElement && (target.matches('input, select, textarea') || target.isContentEditable)
      if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
      const page = PAGES[Number(event.key) - 1]
      if (event.key === '?') setOpen((before) => !before)
      else if (event.key === '/') document.querySelector<HTMLElement>('[data-filter]')?.focus()
      else if (page !== undefined) goTo(linkTo(page.path, new URLSearchParams(location.search)))
      else return
      event.preventDefault()
    }
    addEventListener('keydown', pressed)
    return () => removeEventListener('keydown', pressed)
  }, [])
  return { isOpen, toggle: () => setOpen((before) => !before) }
}

export const Help = ({ onClose }: { readonly onClose: () => void }) => (
  <Dialog title="Keyboard" onClose={onClose}>
    <dl class="keys">
      <dt>/</dt>
      <dd>to the filter of the page</dd>
      {PAGES.slice(0, 9).map(({ path, title }, at) => (
        <>
          <dt key={`${path}-key`}>{at + 1}</dt>
          <dd key={path}>{title}</dd>
        </>
      ))}
      <dt>← →</dt>
      <dd>through the bars of a chart that has the focus</dd>
      <dt>Esc</dt>
      <dd>closes what is open</dd>
      <dt>?</dt>
      <dd>this help</dd>
    </dl>
  </Dialog>
)
