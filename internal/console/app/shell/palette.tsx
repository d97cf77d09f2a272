import type { View } from 'attribution-service/sdk/api'
import { useEffect, useId, useState } from 'preact/hooks'
import { type Entry, found, namedEntries } from '../../figures/palette.js'
import { ask } from '../api/ask.js'
import { useAnswer } from '../api/use-answer.js'
import { Dialog } from '../parts/dialog.js'
import { hasScope } from '../session/session.js'
import type { OverlayProps } from './overlay-props.js'
import { ownEntries, readCallNames, readPeople, textEntries, viewEntries } from './palette-entries.js'

const SHOWN_MAX = 40
/** Until what is typed is searched for at the service. */
const PAUSE_MS = 200
const SEARCHED_FROM = 2

/** Search and do: everything that has a name, by a few letters of it. */
export function Palette({ params, typed, onClose, onOpen }: OverlayProps) {
  const [text, setText] = useState(typed)
  const [at, setAt] = useState(0)
  const id = useId()
  const { entries, isSearching, problem } = useEntries(text, { params, onOpen })
  const chosen = Math.min(at, entries.length - 1)
  const move = (to: number): void => {
    setAt(to)
    document.getElementById(`${id}-${to}`)?.scrollIntoView({ block: 'nearest' })
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.isComposing) return
    if (event.key === 'ArrowDown') move(Math.min(chosen + 1, entries.length - 1))
    else if (event.key === 'ArrowUp') move(Math.max(chosen - 1, 0))
    else if (event.key === 'Enter') document.getElementById(`${id}-${chosen}`)?.click()
    else return
    event.preventDefault()
  }
  return (
    <Dialog title="Search and do" onClose={onClose}>
      <input
        type="text"
        class="palette"
        role="combobox"
        aria-label="A page, a name, an id or an action"
        aria-expanded="true"
        aria-autocomplete="list"
        aria-controls={id}
        aria-activedescendant={chosen < 0 ? undefined : `${id}-${chosen}`}
        placeholder="a page, a name, an id or an action"
        autocomplete="off"
        spellcheck={false}
        maxLength={256}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setAt(0)
        }}
        onKeyDown={onKeyDown}
      />
      <div id={id} class="found" role="listbox" aria-label="Found">
        {entries.map((entry, index) => (
          <Option key={index} id={`${id}-${index}`} entry={entry} isChosen={index === chosen} onClose={onClose} />
        ))}
      </div>
      <p class="muted" role="status">
        {isSearching ? 'Searching …' : entries.length === 0 && 'Nothing has this name.'}
      </p>
      {problem !== undefined && <p role="alert">Not all names could be read: {problem.message}</p>}
    </Dialog>
  )
}

interface OptionProps {
  readonly id: string
  readonly entry: Entry
  readonly isChosen: boolean
  readonly onClose: () => void
}

/** A link is one, so that it opens in another tab with the keys that do that. The focus stays in the field. */
function Option({ id, entry: { title, kind, does }, isChosen, onClose }: OptionProps) {
  const shared = { id, role: 'option', tabIndex: -1, 'aria-selected': isChosen } as const
  const words = (
    <>
      <bdi>{title}</bdi> <span class="muted">{kind}</span>
    </>
  )
  if (typeof does === 'string') {
    return (
      <a {...shared} href={does} onClick={onClose}>
        {words}
      </a>
    )
  }
  const act = (): void => {
    onClose()
    does()
  }
  return (
    <button {...shared} type="button" onClick={act}>
      {words}
    </button>
  )
}

/** What there is for a text, best first; more may be on its way. */
function useEntries(text: string, here: Pick<OverlayProps, 'params' | 'onOpen'>) {
  const { params } = here
  const typed = useLater(text.trim())
  const views = useAnswer('views', (signal) => ask<{ readonly data: readonly View[] }>(VIEWS, { signal }))
  const names = useAnswer(hasScope('read:reporting') ? 'names' : '', readCallNames)
  const isSearched = typed.length >= SEARCHED_FROM && hasScope('admin:config')
  const people = useAnswer(isSearched ? typed : '', (signal) => readPeople(typed, params, signal))
  const named = namedEntries(names.value ?? [], isSearched ? (people.value ?? []) : [], params)
  const known = [...ownEntries(here), ...viewEntries(views.value?.data ?? []), ...(text.trim() === '' ? [] : named)]
  return {
    entries: [...found(known, text, SHOWN_MAX), ...textEntries(text, params)],
    isSearching: text.trim() !== '' && (names.isLoading || (isSearched && people.isLoading)),
    problem: views.problem ?? names.problem ?? people.problem,
  }
}

const VIEWS = '/api/v1/views?limit=200'

/** A text, once it has not changed for a while. */
function useLater(text: string): string {
  const [later, setLater] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setLater(text), PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])
  return later
}
