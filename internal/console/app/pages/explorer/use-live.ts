import { useEffect, useState } from 'preact/hooks'
import type { List } from '../../api/use-list.js'
import { useNewest } from '../../api/use-newest.js'
import type { RecordRow } from '../../card/record.js'

/**
 * Reads the list again when newer calls have come, as long as the person reads its first page alone: else they are
 * asked, since rows would move under their eyes.
 *
 * @param open the call whose evidence is being read
 * @returns whether there are calls that came after the list; reads them
 */
export function useLive(
  list: List<RecordRow>,
  open: string | undefined,
): { readonly hasNewer: boolean; readonly show: () => void } {
  const { id } = useNewest()
  const { answer, rows } = list
  // The newest call for which the list was read.
  const [known, setKnown] = useState<string | undefined>()
  const isNew =
    typeof id === 'string' &&
    id !== known &&
    id !== open &&
    answer.value !== undefined &&
    rows.every((row) => row.id !== id)
  const isAtFirstPage = rows.length === answer.value?.data.length
  const show = (): void => {
    setKnown(id ?? undefined)
    answer.reload()
  }
  const isDue = isNew && !answer.isLoading && isAtFirstPage && open === undefined
  useEffect(() => {
    if (isDue) show()
  }, [isDue])
  return { hasNewer: isNew && !isDue && !answer.isLoading, show }
}
