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

interface After<T> {
  /** After which first page. */
  readonly first: ListPage<T> | undefined
  readonly pages: readonly ListPage<T>[]
  readonly problem: string
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
  const first = answer.value
  const [after, setAfter] = useState<After<T>>({ first: undefined, pages: [], problem: '' })
  // What was read after another first page does not go on from this one.
  const { pages, problem } = after.first === first ? after : { pages: [], problem: '' }
  const [isWanted, setWanted] = useState(false)
  useEffect(() => setWanted(false), [address])
  const next = (pages.at(-1) ?? first)?.page.next_cursor
  // More is read when the first page is: the person who asked while that was read again has not asked in vain.
  useEffect(() => {
    if (!isWanted || answer.isLoading) return
    const abort = new AbortController()
    const settle = (more: Partial<After<T>>): void => {
      if (abort.signal.aborted) return
      setAfter({ first, pages, problem: '', ...more })
      setWanted(false)
    }
    if (next === undefined) settle({})
    else {
      ask<ListPage<T>>(`${address}&${new URLSearchParams({ cursor: next })}`, { signal: abort.signal }).then(
        (page) => settle({ pages: [...pages, page] }),
        (cause: unknown) => settle({ problem: cause instanceof Error ? cause.message : String(cause) }),
      )
    }
    return () => abort.abort()
  }, [isWanted, answer.isLoading])
  const rows = [...(first?.data ?? []), ...pages.flatMap(({ data }) => data)]
  return {
    answer,
    rows,
    isFirstPage: pages.length === 0,
    more: {
      isThere: next !== undefined,
      isLoading: isWanted || answer.isEarlier,
      problem,
      load: () => setWanted(true),
    },
  }
}

function withLimit(query: Readonly<Record<string, string>> | URLSearchParams): URLSearchParams {
  const all = new URLSearchParams(query)
  if (!all.has('limit')) all.set('limit', ROWS_A_PAGE)
  return all
}
