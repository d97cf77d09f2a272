import type { ComponentChildren } from 'preact'
import { useRef } from 'preact/hooks'

interface MenuProps {
  /** Of the list, for screen readers, where the summary does not say it. */
  readonly label?: string
  readonly summary: ComponentChildren
  /** Whether the page that is open is in it. */
  readonly isCurrent?: boolean
  readonly children: ComponentChildren
}

/** Opens below its button; closes with Escape, when the focus leaves it, and when one of its links is followed. */
export function Menu({ label, summary, isCurrent = false, children }: MenuProps) {
  const details = useRef<HTMLDetailsElement>(null)
  const close = (): void => {
    if (details.current !== null) details.current.open = false
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Escape' || details.current?.open !== true) return
    close()
    details.current.querySelector('summary')?.focus()
  }
  const onFocusOut = ({ relatedTarget }: FocusEvent): void => {
    if (relatedTarget instanceof Node && details.current?.contains(relatedTarget) === false) close()
  }
  const onClick = ({ target }: MouseEvent): void => {
    if (target instanceof Element && target.closest('a') !== null) close()
  }
  return (
    <details ref={details} class="menu" onKeyDown={onKeyDown} onFocusOut={onFocusOut} onClick={onClick}>
      <summary class={isCurrent ? 'current' : undefined}>
        {label !== undefined && <span class="hidden">{label}: </span>}
        {summary}
      </summary>
      {/* A click on its text gives it the focus; else the page would have it, and the menu would close under the click. */}
      <div class="popover" tabIndex={-1}>
        {children}
      </div>
    </details>
  )
}

export const MenuTitle = ({ children }: { readonly children: string }) => (
  <>
    {children} <span aria-hidden="true">▾</span>
  </>
)
