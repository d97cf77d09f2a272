import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { dayTextOf, startOfDayText } from '../../figures/days.js'
import { useTwoChanges } from '../parts/change.js'
import { Field } from '../parts/field.js'
import { Form, textOf } from '../parts/form.js'
import type { Change } from '../parts/two-changes.js'
import { changeEntry, type Entry, type Job, type Past, tryEntry } from './answer.js'
import { Moves } from './moves.js'

interface AnswerFormProps {
  /** What the button does: "Yes, always: it is checkout". */
  readonly verb: string
  /** The entry as it is to be; an empty one where all calls are attributed again by what there is now. */
  readonly entryOf: (fields: FormData) => Entry | Promise<Entry>
  /** What is changed before; with it, nothing can be tried. */
  readonly firstOf?: (fields: FormData) => Change
  /** The times of the calls that move, if the person says nothing else. */
  readonly past: Past
  readonly zone: string
  /** Calls of this time. */
  readonly ofCalls?: number | undefined
  readonly isDisabled?: boolean
  readonly isOneOfSeveral?: boolean
  /** Called as calls move, and when all have. */
  readonly onMoving: (isOver: boolean) => void
  /** Of a dialog, which closes by itself where nothing moves. */
  readonly onClose?: () => void
  readonly children?: ComponentChildren
}

/** A change of an entry together with the calls of the past that it moves: tried first, if the person wants to. */
export function AnswerForm(props: AnswerFormProps) {
  const { verb, entryOf, firstOf, past, zone, ofCalls, onMoving, onClose, children } = props
  const twoChanges = useTwoChanges()
  const [job, setJob] = useState<Job | undefined>()
  const [canUndo, setCanUndo] = useState(false)
  const since = (fields: FormData): Past => {
    const from = startOfDayText(textOf(fields, 'since') ?? '', zone)
    const isStated = from !== undefined && textOf(fields, 'since') !== dayTextOf(past.fromMs, zone)
    return isStated ? { ...past, fromMs: Date.parse(from) } : past
  }
  const look = async (fields: FormData): Promise<void> => {
    await tryEntry(await entryOf(fields), since(fields), setJob)
  }
  const make = async (fields: FormData): Promise<void> => {
    let records = 0
    const entry = await entryOf(fields)
    setCanUndo(Object.keys(entry).length > 0)
    const last = await changeEntry(entry, since(fields), (seen) => {
      setJob(seen)
      if (seen.status === 'running' && seen.records > records) onMoving(false)
      records = seen.records
    })
    onMoving(true)
    if (last.records === 0) onClose?.()
  }
  const isMade = job !== undefined && !job.dry_run
  return (
    <>
      <div hidden={isMade}>
        <Form
          verb={verb}
          send={firstOf === undefined ? make : (fields) => twoChanges(firstOf(fields), () => make(fields))}
          {...(firstOf === undefined && { second: { verb: 'See what would move', send: look } })}
          isDisabled={props.isDisabled ?? false}
          isOneOfSeveral={props.isOneOfSeveral ?? false}
          {...(onClose !== undefined && { onLeave: onClose })}
        >
          {children}
          <Field
            label="With calls made since"
            name="since"
            type="date"
            required
            defaultValue={dayTextOf(past.fromMs, zone)}
          />
        </Form>
      </div>
      {job !== undefined && (
        <Moves job={job} label={`What moves: ${verb}`} {...(ofCalls !== undefined && { ofCalls })} />
      )}
      {isMade && job.status === 'done' && (
        <p class="muted">
          Later calls follow by themselves.
          {canUndo && ` The way back is in the recent answers${onClose === undefined ? ' below' : ' of Unattributed'}.`}
        </p>
      )}
      {isMade && onClose !== undefined && (
        <p class="actions">
          <button type="button" class="primary" onClick={onClose}>
            Close
          </button>
        </p>
      )}
    </>
  )
}
