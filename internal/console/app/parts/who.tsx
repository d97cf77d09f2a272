import { ask } from '../api/ask.js'
import { useAnswer } from '../api/use-answer.js'
import { currentTokens, hasScope } from '../session/session.js'
import { clientIdOf } from '../session/tokens.js'
import { Id, Name } from './name.js'

/** Names of people, keys, clients and connectors in place of their ids. */

interface Listed {
  readonly data: readonly { readonly id: string; readonly name?: string; readonly username?: string }[]
}

const LISTS = ['users', 'clients', 'api-keys', 'connectors']

export type Actors = ReadonlyMap<string, string>

/** Many cards and pages ask for the same names. */
const KEPT_MS = 60_000
let known: { readonly untilMs: number; readonly actors: Promise<Actors> } | undefined

function readActors(): Promise<Actors> {
  if (known === undefined || Date.now() > known.untilMs) {
    const lists = Promise.all(LISTS.map((list) => ask<Listed>(`/api/v1/${list}?limit=200`)))
    const actors = lists.then(
      (all) => new Map(all.flatMap(({ data }) => data.map(({ id, name, username }) => [id, username ?? name ?? id]))),
    )
    known = { untilMs: Date.now() + KEPT_MS, actors }
    actors.catch(() => {
      known = undefined
    })
  }
  return known.actors
}

/** Names by id: the newest of each kind. Empty until they are known, and for those who may not read them. */
export function useActors(): Actors {
  const { value } = useAnswer(hasScope('admin:config') ? 'actors' : '', readActors)
  return value ?? NONE
}

const NONE: Actors = new Map([])

/** Who did something, by the best name that is known; the id only where there is none. */
export function Who({ id, actors }: { readonly id: string | null; readonly actors: Actors }) {
  if (id === null) return <span class="muted">not known</span>
  if (id === 'cli') return <>the command line</>
  const { tenantId = '', userId = '' } = currentTokens() ?? {}
  if (id === userId && !actors.has(id)) return <>you</>
  if (id === tenantId) return <>the tenant</>
  if (id === clientIdOf(tenantId)) return <>the console</>
  const name = actors.get(id)
  if (name === undefined) return <Id>{id}</Id>
  return (
    <span title={id}>
      <Name>{name}</Name>
    </span>
  )
}
