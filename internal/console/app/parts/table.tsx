import type { ComponentChildren } from 'preact'
import { Scroll } from './scroll.js'

interface TableProps {
  readonly label: string
  /** Heads of columns; one that begins with `#` is of numbers; an empty one is of buttons. */
  readonly head: readonly string[]
  readonly children: ComponentChildren
}

/** A table of a list. */
export const Table = ({ label, head, children }: TableProps) => (
  <Scroll label={label}>
    <table class="figures">
      <Head titles={head} />
      <tbody>{children}</tbody>
    </table>
  </Scroll>
)

interface HeadProps {
  /** As of a table. */
  readonly titles: readonly string[]
  /** For screen readers alone: what the figures are is written beside each. */
  readonly isHidden?: boolean
}

export const Head = ({ titles, isHidden = false }: HeadProps) => (
  <thead class={isHidden ? 'hidden' : undefined}>
    <tr>
      {titles.map((title) => (
        <th key={title} scope="col" class={title.startsWith('#') ? 'number' : undefined}>
          {title === '' ? <span class="hidden">what can be done</span> : title.replace('#', '')}
        </th>
      ))}
    </tr>
  </thead>
)
