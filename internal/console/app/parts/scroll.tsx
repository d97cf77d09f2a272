import type { ComponentChildren } from 'preact'

/** Scrolls by itself where it is wider than the page, also with the arrow keys. */
export const Scroll = ({ label, children }: { readonly label: string; readonly children: ComponentChildren }) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard.
  <section class="scroll" aria-label={label} tabIndex={0}>
    {children}
  </section>
)
