import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { setParams, useAddress } from '../../address/address.js'
import type { Entry, Past } from '../../answers/answer.js'
import { AnswerForm } from '../../answers/answer-form.js'
import { ask } from '../../api/ask.js'
import { useList } from '../../api/use-list.js'
import { change } from '../../parts/change.js'
import { Dialog } from '../../parts/dialog.js'
import { Does } from '../../parts/does.js'
import { textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { type Actors, useActors, Who } from '../../parts/who.js'

/** A collection of the directory: what its entries show, and how one is stated. */
export interface Kind<T extends { readonly id: string }> {
  readonly title: string
  /** "a service" */
  readonly one: string
  readonly about: string
  readonly path: string
  /** The field that holds an entry's name. */
  readonly named: string
  readonly nameOf: (entry: T) => string
  readonly head: readonly string[]
  readonly cells: (entry: T) => readonly ComponentChildren[]
  /** Undefined: of a new one. */
  readonly Fields: (props: { readonly entry: T | undefined }) => ComponentChildren
  readonly bodyOf: (fields: FormData) => object
  /** Where a change also moves calls of the past. */
  readonly entryOf?: (name: string, body: object) => Entry
}

type Open<T> = { readonly what: 'add' } | { readonly what: 'change' | 'remove'; readonly entry: T }

interface EntriesProps<T extends { readonly id: string }> {
  readonly kind: Kind<T>
  /** The times of the calls that move with a change. */
  readonly past: Past
  readonly zone: string
}

export function Entries<T extends { readonly id: string }>({ kind, past, zone }: EntriesProps<T>) {
  const contains = useAddress().params.get('find') ?? ''
  const list = useList<T>(kind.path, contains === '' ? {} : { contains })
  const [open, setOpen] = useState<Open<T> | undefined>()
  const actors = useActors()
  return (
    <>
      <ListSection
        title={kind.title}
        what={`the ${kind.title.toLowerCase()}`}
        about={kind.about}
        actions={
          <>
            <Find text={contains} />
            <Does name={kind.path.slice(kind.path.lastIndexOf('/') + 1)} onDo={() => setOpen({ what: 'add' })}>
              Add {kind.one}
            </Does>
          </>
        }
        list={list}
        head={[kind.one.replace(/^an? /, ''), ...kind.head, '']}
        empty={contains === '' ? 'None yet.' : 'No name contains this.'}
        row={(entry) => (
          <tr key={entry.id}>
            <th scope="row">
              {isOfActors(kind) ? <Who id={kind.nameOf(entry)} actors={actors} /> : <Name>{kind.nameOf(entry)}</Name>}
            </th>
            {kind.cells(entry).map((cell, at) => (
              <td key={at} class="wide">
                {cell}
              </td>
            ))}
            <td>
              <button type="button" class="quiet" onClick={() => setOpen({ what: 'change', entry })}>
                Change
              </button>
              <button type="button" class="quiet" onClick={() => setOpen({ what: 'remove', entry })}>
                Remove
              </button>
            </td>
          </tr>
        )}
      />
      {open !== undefined && (
        <EntryDialog
          kind={kind}
          actors={actors}
          past={past}
          zone={zone}
          open={open}
          onClose={() => setOpen(undefined)}
          onChanged={list.answer.reload}
        />
      )}
    </>
  )
}

const Find = ({ text }: { readonly text: string }) => (
  <label>
    <span class="hidden">Find by a part of the name</span>
    <input
      key={text}
      type="search"
      data-filter
      placeholder="part of the name"
      maxLength={256}
      defaultValue={text}
      onChange={({ currentTarget }) => setParams({ find: currentTarget.value.trim() })}
    />
  </label>
)

/** Whether entries of a kind have the id of a credential for a name. */
const isOfActors = ({ named }: Pick<Kind<{ readonly id: string }>, 'named'>): boolean => named === 'principal_id'

interface EntryDialogProps<T extends { readonly id: string }> extends EntriesProps<T> {
  readonly actors: Actors
  readonly open: Open<T>
  readonly onClose: () => void
  readonly onChanged: () => void
}

function EntryDialog<T extends { readonly id: string }>(props: EntryDialogProps<T>) {
  const { kind, actors, open, onClose, onChanged } = props
  const entry = open.what === 'add' ? undefined : open.entry
  const send = async (fields: FormData): Promise<void> => {
    if (open.what === 'add') {
      await change('POST', kind.path, { [kind.named]: textOf(fields, 'name'), ...kind.bodyOf(fields) })
    } else {
      const path = `${kind.path}/${open.entry.id}`
      if (open.what === 'remove') await change('DELETE', path)
      else await change('PATCH', path, kind.bodyOf(fields))
    }
    onChanged()
  }
  const named = entry === undefined ? '' : kind.nameOf(entry)
  const name = actors.get(named) ?? named
  const [title, verb] = {
    add: [`Add ${kind.one}`, 'Add it'],
    change: [`Change ${name}`, 'Change it'],
    remove: [`Remove ${name}`, 'Remove it'],
  }[open.what] as [string, string]
  if (open.what !== 'remove' && kind.entryOf !== undefined) {
    return <AnswerDialog {...props} title={title} verb={verb} entry={entry} makeEntry={kind.entryOf} />
  }
  return (
    <FormDialog title={title} verb={verb} onClose={onClose} send={send}>
      {open.what === 'remove' ? (
        <p>Calls of the past stay as they are. Those to come are attributed without it.</p>
      ) : (
        <kind.Fields entry={entry} />
      )}
    </FormDialog>
  )
}

interface AnswerDialogProps<T extends { readonly id: string }> extends EntryDialogProps<T> {
  readonly title: string
  readonly verb: string
  readonly entry: T | undefined
  readonly makeEntry: NonNullable<Kind<T>['entryOf']>
}

/** An entry that is added or changed together with the calls of the past. */
function AnswerDialog<T extends { readonly id: string }>(props: AnswerDialogProps<T>) {
  const { kind, past, zone, title, verb, entry, makeEntry, onClose, onChanged } = props
  const entryOf = async (fields: FormData): Promise<Entry> => {
    if (entry !== undefined) return makeEntry(kind.nameOf(entry), kind.bodyOf(fields))
    const name = textOf(fields, 'name') ?? ''
    const { data } = await ask<{ readonly data: readonly T[] }>(
      `${kind.path}?${new URLSearchParams({ [kind.named]: name })}`,
    )
    if (data.length > 0) throw new Error(`The directory has ${name} already: change it there.`)
    return makeEntry(name, kind.bodyOf(fields))
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <AnswerForm
        verb={verb}
        entryOf={entryOf}
        past={past}
        zone={zone}
        onClose={onClose}
        onMoving={(isOver) => isOver && onChanged()}
      >
        <kind.Fields entry={entry} />
      </AnswerForm>
    </Dialog>
  )
}
