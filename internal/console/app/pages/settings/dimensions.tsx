import type { Settings } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'

const TAGS_MAX = 8

/** Tag keys that are dimensions: the whole list. */
export function Dimensions({ settings }: { readonly settings: Settings }) {
  const [tags, setTags] = useState(settings.dimensions.map(({ key, personal }) => ({ key, personal })))
  return (
    <fieldset>
      <legend>Tags, by the keys that events have</legend>
      {tags.map((tag, at) => (
        <div key={at} class="filters">
          <label>
            <span class="hidden">Key</span>
            <input
              name="key"
              value={tag.key}
              maxLength={64}
              onInput={({ currentTarget: { value } }) => set(at, { key: value })}
            />
          </label>
          <label class="check">
            <input
              type="checkbox"
              checked={tag.personal}
              onChange={({ currentTarget: { checked } }) => set(at, { personal: checked })}
            />
            its values name people
          </label>
          <input type="hidden" name="personal" value={String(tag.personal)} />
          <button type="button" class="quiet" onClick={() => setTags(tags.filter((_, which) => which !== at))}>
            Take off
          </button>
        </div>
      ))}
      {tags.length < TAGS_MAX && (
        <p>
          <button type="button" class="quiet" onClick={() => setTags([...tags, { key: '', personal: false }])}>
            Declare another
          </button>
        </p>
      )}
    </fieldset>
  )

  function set(at: number, changed: Partial<(typeof tags)[number]>): void {
    setTags(tags.map((each, which) => (which === at ? { ...each, ...changed } : each)))
  }
}

export function dimensionsOf(fields: FormData): object {
  const personal = fields.getAll('personal')
  const dimensions = fields
    .getAll('key')
    .map((key, at) => ({ key: String(key).trim(), personal: personal[at] === 'true' }))
    .filter(({ key }) => key !== '')
  return { dimensions }
}
