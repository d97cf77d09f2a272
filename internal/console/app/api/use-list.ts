import { useEffect, useState } from 'preact/hooks'
import { ask } from './ask.js'
import { type Answer, useAnswer } from './use-answer.js'

export interface ListPage<T> {
  readonly data: readonly T[]
  readonly page: { readonly next_cursor?: string }
}

/** A list of the API: its first page, and those that the person asked for after it. */
export interface List<T> {
  readonly answer: Answer<ListPage<T>>
  readonly rows: readonly T[]
  /** Nobody has asked for more: to load the list again loses nothing that is looked at. */
  readonly isFirstPage: boolean
  readonly more: More
}

/** Pages after the first one, as of the first one. */
export interface More {
  readonly isThere: boolean
  readonly isLoading: boolean
  readonly problem: string
  readonly load: () => void
}

const ROWS_A_PAGE = '100'

/** @param path empty: asks nothing */
export function useList<T>(path: string, query: Readonly<Record<string, string>> | URLSearchParams = {}): List<T> {
  const address = path === '' ? '' : `${path}?${withLimit(query)}`
  const answer = useAnswer(address, (signal) => ask<ListPage<T>>(address, { signal }))
  const [pages, setPages] = useState<readonly ListPage<T>[]>([])
  const [isLoading, setLoading] = useState(false)
  const [problem, setProblem] = useState('')
  // What was read belongs to this address and first page.
  useEffect(() => {
    setPages([])
    setProblem('')
  }, [address, answer.value])
  const next = (pages.at(-1) ?? answer.value)?.page.next_cursor
  const load = (): void => {
    if (next === undefined) return
    setLoading(true)
    ask<ListPage<T>>(`${address}&${new URLSearchParams({ cursor: next })}`)
      .then((page) => setPages((before) => [...before, page]))
      .catch((cause: unknown) => setProblem(cause instanceof Error ? cause.message : String(cause)))
      .finally(() => setLoading(false))
  }
  const rows = [...(answer.value?.data ?? []), ...pages.flatMap(({ data }) => data)]
  return {
    answer,
    rows,
    isFirstPage: pages.length === 0,
    more: { isThere: next !== undefined, isLoading, problem, load },
  }
}

function withLimit(query: Readonly<Record<string, string>> | URLSearchParams): URLSearchParams {
  const all = new URLSearchParams(query)
  if (!all.has('limit')) all.set('limit', ROWS_A_PAGE)
  return all
}
