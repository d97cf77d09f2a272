import { useState } from 'preact/hooks'

/** Views that this browser keeps: names and their addresses, nothing of what they show. */

const KEY = 'attribution.views'
type Views = Readonly<Record<string, string>>

function read(): Views {
  try {
    return JSON.parse(localStorage.getItem(KEY) ?? '{}') as Views
  } catch {
    return {}
  }
}

export function SavedViews({ params }: { readonly params: URLSearchParams }) {
  const [views, setViews] = useState(read)
  const [name, setName] = useState('')
  const store = (next: Views): void => {
    localStorage.setItem(KEY, JSON.stringify(next))
    setViews(next)
  }
  const save = (event: Event): void => {
    event.preventDefault()
    store({ ...views, [name.trim()]: params.toString() })
    setName('')
  }
  const remove = (gone: string): void =>
    store(Object.fromEntries(Object.entries(views).filter(([each]) => each !== gone)))
  return (
    <details class="menu">
      <summary>Views</summary>
      <div class="popover">
        {Object.entries(views).map(([each, query]) => (
          <p key={each} class="view">
            <a href={`/console/explorer?${query}`}>{each}</a>
            <button type="button" class="quiet" aria-label={`Forget ${each}`} onClick={() => remove(each)}>
              ×
            </button>
          </p>
        ))}
        <form class="fields" onSubmit={save}>
          <label>
            Save this view as
            <input value={name} required maxLength={60} onInput={({ currentTarget }) => setName(currentTarget.value)} />
          </label>
          <button type="submit">Save in this browser</button>
        </form>
      </div>
    </details>
  )
}
