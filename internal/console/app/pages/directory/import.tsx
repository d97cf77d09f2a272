import type { DirectoryImport } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'
import { countShown } from '../../../figures/shown.js'
import { askText } from '../../api/ask.js'
import { changeByFile, followed } from '../../parts/change.js'
import { saveCsv } from '../../parts/download-csv.js'
import { Check } from '../../parts/field.js'
import { Form } from '../../parts/form.js'
import { Name } from '../../parts/name.js'
import { Table } from '../../parts/table.js'
import { useDoing } from '../../parts/use-doing.js'

interface Line {
  readonly kind: string | null
  readonly line: number | null
  readonly pointer: string | null
  readonly name?: string
  readonly reason?: string
}

interface Report {
  readonly adds: number
  readonly changes: number
  readonly removals: number
  readonly refusals: number
  readonly unchanged: number
  readonly added: readonly Line[]
  readonly changed: readonly Line[]
  readonly removed: readonly Line[]
  readonly refused: readonly Line[]
}

type Import = DirectoryImport

/** A file that was tried, and what it would do. */
interface Tried {
  readonly file: { readonly type: string; readonly text: string }
  readonly query: Readonly<Record<string, string>>
  readonly report: Report
}

const PATH = '/api/v1/directory/import'

/** The directory as a file: what it would change is shown before it does. */
export function ImportFile() {
  const [tried, setTried] = useState<Tried | undefined>()
  const [made, setMade] = useState<Import | undefined>()
  const { doing, outcome, isBusy } = useDoing()
  const look = async (fields: FormData): Promise<void> => {
    const chosen = fields.get('file')
    if (!(chosen instanceof File) || chosen.size === 0) throw new Error('Choose a file that is not empty.')
    const file = { type: chosen.name.endsWith('.json') ? 'application/json' : 'text/csv', text: await chosen.text() }
    const query = Object.fromEntries(FLAGS.map((flag) => [flag, String(fields.has(flag))]))
    setMade(undefined)
    const report = await changeByFile<Report>(`${PATH}?${new URLSearchParams({ ...query, dry_run: 'true' })}`, file)
    setTried({ file, query, report })
  }
  const make = ({ file, query }: Tried) =>
    doing(async () => {
      const first = await changeByFile<Import>(`${PATH}?${new URLSearchParams(query)}`, file)
      const path = `/api/v1/directory/imports/${first.id}`
      const last = await followed(first, ({ status }) => status !== 'running', path, setMade)
      if (last.status === 'interrupted') throw new Error('It was interrupted: import the file again.')
      setTried(undefined)
      return `Done: ${countShown(last.applied)} entries were changed.`
    })
  const save = () =>
    doing(async () => {
      saveCsv('directory', await askText('/api/v1/directory/export?format=csv'))
      return ''
    })
  return (
    <section class="list create" aria-label="Import">
      <header>
        <h2>The directory as a file</h2>
        <button type="button" disabled={isBusy} onClick={() => void save()}>
          Export it
        </button>
      </header>
      <p class="muted">
        Export it, change the file, and see what importing it would do. The file is the whole of each kind that it has
        lines of: entries of the kind that it does not name are removed.
      </p>
      <Form verb="See what would change" isOneOfSeveral send={look}>
        <label>
          <span>
            File <span class="muted">(CSV or JSON, 16 MiB at most)</span>
          </span>
          <input type="file" name="file" accept=".csv,.json" required onChange={() => setTried(undefined)} />
        </label>
        <Check label="Keep what the file does not name" name="keep_missing" />
        <Check label="Allow it to remove more than a tenth of what is there" name="allow_removals" />
      </Form>
      {tried !== undefined && (
        <>
          <ReportShown report={tried.report} />
          <p class="actions">
            <button
              type="button"
              class="primary"
              disabled={isBusy || changesOf(tried.report) === 0}
              onClick={() => void make(tried)}
            >
              Make these {countShown(changesOf(tried.report))} changes
            </button>
          </p>
        </>
      )}
      {made?.status === 'running' && (
        <p role="status">
          {countShown(made.applied)} of {countShown(changesOf(made))} changes made …
        </p>
      )}
      {outcome}
    </section>
  )
}

const FLAGS = ['keep_missing', 'allow_removals'] as const

const changesOf = ({ adds, changes, removals }: Report): number => adds + changes + removals

const HEAD = ['what', 'kind', 'name', 'where in the file']
const LISTED_MAX = 100

function ReportShown({ report }: { readonly report: Report }) {
  const lines = [
    ...report.refused.map((line) => ({ what: 'refused', ...line })),
    ...report.removed.map((line) => ({ what: 'removed', ...line })),
    ...report.changed.map((line) => ({ what: 'changed', ...line })),
    ...report.added.map((line) => ({ what: 'added', ...line })),
  ]
  const all = changesOf(report) + report.refusals
  return (
    <>
      <p role="status">
        <span class="strong">{countShown(report.adds)} added</span>,{' '}
        <span class="strong">{countShown(report.changes)} changed</span>,{' '}
        <span class="strong">{countShown(report.removals)} removed</span>,{' '}
        <span class="strong">{countShown(report.refusals)} refused</span>; {countShown(report.unchanged)} stay as they
        are.
      </p>
      {lines.length > 0 && (
        <Table label="What the file would change" head={HEAD}>
          {lines.slice(0, LISTED_MAX).map((line, at) => (
            <tr key={at}>
              <td>{line.what}</td>
              <td>{line.kind ?? ''}</td>
              <td class="wide">{line.name === undefined ? line.reason : <Name>{line.name}</Name>}</td>
              <td>{line.line === null ? (line.pointer ?? '–') : `line ${countShown(line.line)}`}</td>
            </tr>
          ))}
        </Table>
      )}
      {all > LISTED_MAX && <p class="muted">and {countShown(all - LISTED_MAX)} more</p>}
    </>
  )
}
