import type { ComponentChildren } from 'preact'
import type { List } from '../api/use-list.js'
import { ShowMore } from './more.js'
import { Shown } from './states.js'
import { Table } from './table.js'

interface ListSectionProps<T> {
  readonly title: string
  /** In a sentence: "the budgets". */
  readonly what: string
  readonly about?: ComponentChildren
  /** What can be done beside the title. */
  readonly actions?: ComponentChildren
  readonly list: List<T>
  readonly head: readonly string[]
  /** In place of the table where there is nothing. */
  readonly empty: ComponentChildren
  readonly row: (row: T) => ComponentChildren
  /** Below the table. */
  readonly children?: ComponentChildren
}

/** A list of the API under its title: a table, more of it, and what is said where there is none. */
export function ListSection<T>(props: ListSectionProps<T>) {
  const { title, what, about, actions, head, empty, row, children } = props
  const { answer, rows, more } = props.list
  return (
    <section class="list" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {about !== undefined && <p class="muted">{about}</p>}
        {actions}
      </header>
      <Shown answer={answer} what={what} placeholder={<div class="placeholder list-place" />}>
        {() =>
          rows.length === 0 ? (
            <p>{empty}</p>
          ) : (
            <Table label={`Table of ${what}`} head={head}>
              {rows.map(row)}
            </Table>
          )
        }
      </Shown>
      <ShowMore more={more} />
      {children}
    </section>
  )
}
