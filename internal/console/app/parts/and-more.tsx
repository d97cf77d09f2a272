import { countShown } from '../../figures/shown.js'

interface AndMoreProps {
  readonly columns: number
  /** How many rows there are beside those that are shown. */
  readonly count: number
}

/** The last row of a table that shows its first rows alone. */
export const AndMore = ({ columns, count }: AndMoreProps) =>
  count <= 0 ? null : (
    <tr>
      <td colSpan={columns} class="muted">
        and {countShown(count)} more
      </td>
    </tr>
  )
