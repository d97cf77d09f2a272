import { useRef } from 'preact/hooks'
import type { RecordRow } from '../../card/record.js'

/** Where the card of the open call is. It stays while the call leaves the list or comes back: nothing jumps. */
interface Place {
  readonly open: string
  readonly query: string
  /** In the list, below this row; undefined: above the list. */
  readonly listed: { readonly row: RecordRow; readonly at: number } | undefined
}

interface Placed {
  /** The call whose card is above the list. */
  readonly above: string | undefined
  /** The call whose card is in the list. */
  readonly inside: string | undefined
  /** The rows, with that of the open call where it was when it is not among them any more. */
  readonly rows: readonly RecordRow[]
}

/**
 * @param query what the rows answer
 * @param isEarlier whether the rows still answer an earlier query
 */
export function usePlace(
  open: string | undefined,
  query: string,
  rows: readonly RecordRow[],
  isEarlier: boolean,
): Placed {
  const place = useRef<Place | undefined>(undefined)
  if (open === undefined) {
    place.current = undefined
    return { above: undefined, inside: undefined, rows }
  }
  const at = rows.findIndex(({ id }) => id === open)
  const row = rows[at]
  const known = place.current?.open === open ? place.current : undefined
  const isOtherQuery = known !== undefined && known.query !== query && !isEarlier
  if (known === undefined || isOtherQuery) {
    place.current = { open, query, listed: row && { row, at } }
  } else if (known.listed !== undefined && row !== undefined) {
    place.current = { ...known, listed: { row, at } }
  }
  const listed = place.current?.listed
  if (listed === undefined) return { above: open, inside: undefined, rows }
  const shown = row === undefined ? [...rows.slice(0, listed.at), listed.row, ...rows.slice(listed.at)] : rows
  return { above: undefined, inside: open, rows: shown }
}
