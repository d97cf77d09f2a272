import { ask } from '../../api/ask.js'
import { useAnswer } from '../../api/use-answer.js'

interface Listed {
  readonly data: readonly { readonly id: string; readonly name?: string; readonly username?: string }[]
}

const LISTS = ['/api/v1/users', '/api/v1/clients', '/api/v1/api-keys']

/** Names of credentials by their ids: the newest of each kind. Empty until they are known. */
export function useActors(): ReadonlyMap<string, string> {
  const { value } = useAnswer('actors', async (signal) => {
    const lists = await Promise.all(LISTS.map((path) => ask<Listed>(`${path}?limit=200`, { signal })))
    return new Map(lists.flatMap(({ data }) => data.map(({ id, name, username }) => [id, username ?? name ?? id])))
  })
  return value ?? NONE
}

const NONE: ReadonlyMap<string, string> = new Map([])
