import type { ComponentChildren } from 'preact'
import { setParams } from '../address/address.js'

/** Which row of a table is open: a parameter of the address, so that what is open can be shared. */
export interface Opening {
  readonly isOpen: (id: string) => boolean
  readonly toggle: (id: string) => void
}

export const openingOf = (params: URLSearchParams, param: string): Opening => ({
  isOpen: (id) => params.get(param) === id,
  toggle: (id) => setParams({ [param]: params.get(param) === id ? '' : id }, 'replace'),
})

interface OpensProps {
  readonly id: string
  readonly opening: Opening
  readonly children: ComponentChildren
}

/** The name of a row, which opens it. */
export const Opens = ({ id, opening, children }: OpensProps) => (
  <button type="button" class="opens" aria-expanded={opening.isOpen(id)} onClick={() => opening.toggle(id)}>
    {children}
  </button>
)

/** What a row has inside, below it. */
export const Inside = ({ columns, children }: { readonly columns: number; readonly children: ComponentChildren }) => (
  <tr class="inside">
    <td colSpan={columns}>
      <div class="card">{children}</div>
    </td>
  </tr>
)
