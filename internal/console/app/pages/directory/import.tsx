import type { DirectoryDryRun, DirectoryImport } from 'attribution-service/sdk/api'
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
import { type Actors, useActors, Who } from '../../parts/who.js'

type Report = DirectoryDryRun
type Import = DirectoryImport

/** A file that was tried, and what it would do. */
interface Tried {
  readonly file: { readonly type: string; readonly text: string }
  readonly keepsMissing: boolean
  readonly report: Report
}

const PATH = '/api/v1/directory/import'

/** The directory as a file: what it would change is shown before it does. */
export function ImportFile() {
  const [tried, setTried] = useState<Tried | undefined>()
  const [made, setMade] = useState<Import | undefined>()
  const [isAllowed, setAllowed] = useState(false)
  const { doing, outcome, isBusy } = useDoing()
  const look = async (fields: FormData): Promise<void> => {
    const chosen = fields.get('file')
    if (!(chosen instanceof File) || chosen.size === 0) throw new Error('Choose a file that is not empty.')
    const file = { type: chosen.name.endsWith('.json') ? 'application/json' : 'text/csv', text: await chosen.text() }
    const keepsMissing = fields.has('keep_missing')
    setMade(undefined)
    setAllowed(false)
    const report = await changeByFile<Report>(`${PATH}?dry_run=true&keep_missing=${keepsMissing}`, file)
    setTried({ file, keepsMissing, report })
  }
  const make = ({ file, keepsMissing }: Tried) =>
    doing(async () => {
      const query = `keep_missing=${keepsMissing}&allow_removals=${isAllowed}`
      const first = await changeByFile<Import>(`${PATH}?${query}`, file)
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
        <Check label={KEEP} name="keep_missing" />
      </Form>
      {tried !== undefined && (
        <>
          <ReportShown report={tried.report} />
          {tried.report.needs_allow_removals && (
            <div class="notice">
              <p>
                The file removes more than a tenth of what is there: it may lack something. Either look again with “
                {KEEP}”, or:
              </p>
              <label class="check">
                <input
                  type="checkbox"
                  name="allow_removals"
                  checked={isAllowed}
                  onChange={({ currentTarget }) => setAllowed(currentTarget.checked)}
                />
                Allow it to remove these {countShown(tried.report.removals)} entries
              </label>
            </div>
          )}
          <p class="actions">
            <button
              type="button"
              class="primary"
              disabled={isBusy || changesOf(tried.report) === 0 || (tried.report.needs_allow_removals && !isAllowed)}
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

const KEEP = 'Keep what the file does not name'

const changesOf = ({ adds, changes, removals }: Pick<Report, 'adds' | 'changes' | 'removals'>): number =>
  adds + changes + removals

const HEAD = ['what', 'kind', 'name', 'before → after', 'where in the file']

/** A line of a report: an entry, or a line of the file that is none. */
interface Line {
  readonly kind: string | null
  readonly line: number | null
  readonly pointer: string | null
  readonly name?: string
  readonly reason?: string
  readonly fields?: Report['changed'][number]['fields']
}
const LISTED_MAX = 100

function ReportShown({ report }: { readonly report: Report }) {
  const actors = useActors()
  const lines: readonly (Line & { readonly what: string })[] = [
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
              <td class="wide">
                <Entry line={line} actors={actors} />
              </td>
              <td class="wide">
                {line.fields?.map((field) => (
                  <Difference key={field.field} {...field} />
                ))}
              </td>
              <td>{line.line === null ? (line.pointer ?? '–') : `line ${countShown(line.line)}`}</td>
            </tr>
          ))}
        </Table>
      )}
      {all > LISTED_MAX && <p class="muted">and {countShown(all - LISTED_MAX)} more</p>}
    </>
  )
}

const Difference = ({ field, before, after }: NonNullable<Line['fields']>[number]) => (
  <div>
    <span class="muted">{field.replaceAll('_', ' ')}</span> <Name>{before === '' ? 'none' : before}</Name> →{' '}
    <Name>{after === '' ? 'none' : after}</Name>
  </div>
)

/** Credentials are listed by their ids, and people know their names. */
function Entry({ line: { kind, name, reason }, actors }: { readonly line: Line; readonly actors: Actors }) {
  if (name === undefined) return <>{reason}</>
  return kind === 'principals' ? <Who id={name} actors={actors} /> : <Name>{name}</Name>
}
