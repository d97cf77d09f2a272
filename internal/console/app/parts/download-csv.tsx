import { csvOf } from '../../figures/csv.js'

interface DownloadProps {
  /** Of the file, without its ending. */
  readonly name: string
  readonly head: readonly string[]
  /** Exact figures, as the API gave them. */
  readonly rows: () =>
    | readonly (readonly (string | number | null)[])[]
    | Promise<readonly (readonly (string | number | null)[])[]>
}

/** Saves what a table shows, unrounded. */
export function DownloadCsv({ name, head, rows }: DownloadProps) {
  const save = async (): Promise<void> => saveCsv(name, csvOf(head, await rows()))
  return (
    <button type="button" class="quiet" onClick={() => void save()}>
      CSV
    </button>
  )
}

/** Has the browser save a text as a file. @param name without its ending */
export function saveCsv(name: string, text: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([text], { type: 'text/csv' }))
  link.download = `${name}.csv`
  link.click()
  URL.revokeObjectURL(link.href)
}
