import { useState } from 'preact/hooks'
import { instantText } from '../../../figures/days.js'
import type { Mark } from '../../../figures/marks.js'
import { MARKS_CHANGED, readMarks } from '../../api/marks.js'
import { useAnswer } from '../../api/use-answer.js'
import { useNames } from '../../api/use-names.js'
import { change } from '../../parts/change.js'
import { Field } from '../../parts/field.js'
import { textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Instant } from '../../parts/instant.js'
import { Name } from '../../parts/name.js'
import { Scroll } from '../../parts/scroll.js'
import { Shown } from '../../parts/states.js'
import { useDoing } from '../../parts/use-doing.js'
import type { OverviewFigures } from './load.js'

type HappenedProps = Pick<OverviewFigures, 'period' | 'zone'>

/** What the chart marks, as a list; and notes of one's own, by hand. */
export function Happened({ period: { fromMs, toMs }, zone }: HappenedProps) {
  const [isOpen, setOpen] = useState(false)
  const [isAdding, setAdding] = useState(false)
  const answer = useAnswer(isOpen ? `${fromMs} ${toMs}` : '', (signal) => readMarks(fromMs, toMs, signal))
  const reload = (): void => {
    answer.reload()
    dispatchEvent(new Event(MARKS_CHANGED))
  }
  const { doing, outcome } = useDoing()
  const remove = (id: string): Promise<void> =>
    doing(async () => {
      await change('DELETE', `/api/v1/annotations/${id}`)
      reload()
      return ''
    })
  return (
    <details class="behind" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>What happened in this time</summary>
      <p>
        <button type="button" onClick={() => setAdding(true)}>
          Add a note
        </button>{' '}
        <span class="muted">A pipeline adds releases by one request to /api/v1/annotations.</span>
      </p>
      {isOpen && (
        <Shown answer={answer} what="what happened" placeholder={<div class="placeholder table-place" />}>
          {(marks) =>
            marks.length === 0 ? (
              <p class="muted">No releases or notes, no anomalies, no budget crossed, and no other prices.</p>
            ) : (
              <MarksTable marks={marks} zone={zone} remove={remove} />
            )
          }
        </Shown>
      )}
      {outcome}
      {isAdding && <AddNote zone={zone} onClose={() => setAdding(false)} onAdded={reload} />}
    </details>
  )
}

interface MarksTableProps {
  readonly marks: readonly Mark[]
  readonly zone: string
  readonly remove: (id: string) => Promise<void>
}

const MarksTable = ({ marks, zone, remove }: MarksTableProps) => (
  <Scroll label="What happened">
    <table class="figures">
      <thead>
        <tr>
          <th scope="col">when</th>
          <th scope="col">kind</th>
          <th scope="col">what</th>
          <th scope="col">
            <span class="hidden">actions</span>
          </th>
        </tr>
      </thead>
      <tbody>
        {marks.toReversed().map(({ id, atMs, kind, text, href }, at) => (
          <tr key={id ?? at}>
            <th scope="row">
              <Instant ms={atMs} zone={zone} />
            </th>
            <td>{kind === 'annotation' ? 'note' : kind}</td>
            <td class="wide">
              {href === undefined ? (
                <Name>{text}</Name>
              ) : (
                <a href={href} rel="noreferrer">
                  <Name>{text}</Name>
                </a>
              )}
            </td>
            <td>
              {id !== undefined && (
                <button
                  type="button"
                  class="quiet"
                  aria-label={`Remove the note ${text}`}
                  onClick={() => void remove(id)}
                >
                  Remove
                </button>
              )}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Scroll>
)

interface AddNoteProps {
  readonly zone: string
  readonly onClose: () => void
  readonly onAdded: () => void
}

function AddNote({ zone, onClose, onAdded }: AddNoteProps) {
  const services = useNames('service')
  const send = async (fields: FormData): Promise<void> => {
    const local = textOf(fields, 'at')
    await change('POST', '/api/v1/annotations', {
      ...(local !== undefined && { at: instantText(local, zone) }),
      text: textOf(fields, 'text'),
      link: textOf(fields, 'link') ?? null,
      service: textOf(fields, 'service') ?? null,
    })
    onAdded()
  }
  return (
    <FormDialog title="Add a note" verb="Add the note" onClose={onClose} send={send}>
      <Field label="What happened" name="text" required maxLength={500} placeholder="checkout 4.2 is out" />
      <Field label="When" hint={`(${zone}; empty: now)`} name="at" type="datetime-local" />
      <Field label="Service" hint="(empty: all)" name="service" list="services-of-note" />
      <datalist id="services-of-note">
        {services.map((each) => (
          <option key={each} value={each} />
        ))}
      </datalist>
      <Field label="Link" hint="(of a page that says more)" name="link" maxLength={1_000} placeholder="https://" />
      <p class="muted">Everybody who reads the reports sees it, and who wrote it.</p>
    </FormDialog>
  )
}
