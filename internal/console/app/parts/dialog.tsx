import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}

/** The first of these in a dialog gets the focus. */
const FOCUSED = 'input:enabled, select:enabled, textarea:enabled, [data-close]'

/**
 * A modal dialog: the browser's own, which keeps the focus inside and closes with Escape. The focus begins at the first
 * field, and where there is none at the way out, so that a key pressed too early confirms nothing.
 */
export function Dialog({ title, onClose, children }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null)
  const isGone = useRef(false)
  const id = useId()
  useLayoutEffect(() => {
    const opened = dialog.current
    opened?.showModal()
    opened?.querySelector<HTMLElement>(FOCUSED)?.focus()
    return () => {
      // Its event comes later, when another dialog may be open in its place.
      isGone.current = true
      opened?.close()
    }
  }, [])
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={() => isGone.current || onClose()}>
      <h2 id={id}>{title}</h2>
      {children}
      <button type="button" class="quiet close" data-close onClick={onClose} aria-label="Close">
        ×
      </button>
    </dialog>
  )
}
