import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { type ColumnName, costFirst, shownColumns, turned } from '../../figures/columns.js'
import { sortOf, turnedSort } from '../../figures/sorting.js'
import { setParams } from '../address/address.js'
import { Menu, MenuTitle } from './menu.js'
import { PHONE, useMatches } from './use-matches.js'

/**
 * A column that a person may show, hide and sort by; the address has the sort under its name. A further one is a
 * further entry of its table's list.
 */
export interface Column<Row> extends ColumnName {
  readonly title: string
  /** On hover. */
  readonly about?: string | undefined
  readonly isNumber?: boolean
  readonly isSortable: boolean
  readonly cell: (row: Row) => ComponentChildren
}

const keyOf = (table: string): string => `attribution.columns.${table}`

/** The columns of a table that this browser shows, and the menu by which they are chosen. */
export function useColumns<C extends ColumnName & { readonly title: string }>(table: string, columns: readonly C[]) {
  const [kept, setKept] = useState(() => localStorage.getItem(keyOf(table)))
  const isPhone = useMatches(PHONE)
  const chosen = shownColumns(columns, kept)
  const shown = isPhone ? costFirst(chosen) : chosen
  const turn = (name: string): void => {
    const next = turned(columns, kept, name)
    localStorage.setItem(keyOf(table), next)
    setKept(next)
  }
  const choice = (
    <Menu summary={<MenuTitle>Columns</MenuTitle>}>
      <fieldset class="columns">
        <legend class="hidden">Columns of the table</legend>
        {columns.map((column) => (
          <label key={column.name}>
            <input type="checkbox" checked={shown.includes(column)} onChange={() => turn(column.name)} /> {column.title}
          </label>
        ))}
      </fieldset>
    </Menu>
  )
  return { all: columns, shown, choice }
}

interface HeadProps extends Pick<Column<never>, 'name' | 'title' | 'about' | 'isNumber' | 'isSortable'> {
  /** As in the address. */
  readonly sort: string
}

/** The head of a column; a click sorts by it. */
export function ColumnHead({ name, title, about, isNumber = false, isSortable, sort }: HeadProps) {
  const by = sortOf(sort)
  const isBy = by.name === name
  const order = isBy ? (by.isDescending ? 'descending' : 'ascending') : 'none'
  return (
    <th scope="col" class={isNumber ? 'number' : undefined} title={about} aria-sort={isSortable ? order : undefined}>
      {isSortable ? (
        <button type="button" class="sorts" onClick={() => setParams({ sort: turnedSort(sort, name), record: '' })}>
          {title} <span aria-hidden="true">{isBy ? (by.isDescending ? '↓' : '↑') : ''}</span>
        </button>
      ) : (
        title
      )}
    </th>
  )
}
