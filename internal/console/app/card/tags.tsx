import { Name } from '../parts/name.js'
import type { Explained } from './record.js'

/** The declared tags of a call, then what else its event stated. */
export function Tags({ record: { tags, event_tags: stated } }: { readonly record: Explained }) {
  const declared = Object.entries(tags)
  const folded = new Set(declared.map(([key]) => key.trim().toLowerCase()))
  const others = Object.entries(stated).filter(([key]) => !folded.has(key.trim().toLowerCase()))
  if (declared.length + others.length === 0) return null
  return (
    <>
      <dt>tags</dt>
      <dd>
        {declared.map(([key, value], at) => (
          <span key={key}>
            {at > 0 && ' · '}
            <span class="muted">
              <Name>{key}</Name>
            </span>{' '}
            {value === null ? 'none' : <Name>{value}</Name>}
          </span>
        ))}
        {others.length > 0 && (
          <p class="muted">
            {declared.length > 0 && 'not declared: '}
            {others.map(([key, value], at) => (
              <span key={key}>
                {at > 0 && ' · '}
                <Name>{key}</Name> <Name>{value}</Name>
              </span>
            ))}
          </p>
        )}
      </dd>
    </>
  )
}
