import type { AttributionRecord } from 'attribution-service/sdk/api'
import { useEffect, useState } from 'preact/hooks'
import { hasScope } from '../session/session.js'
import { ask } from './ask.js'

const EVERY_MS = 1_000
/** After an answer that failed: the service may be busy. */
const AFTER_FAILURE_MS = 10_000

interface Newest {
  /** The newest record; null: there is none; undefined: not known (yet), or not to be seen. */
  readonly id: string | null | undefined
  /** When it became visible. */
  readonly atMs: number | undefined
}

/** Who asks while an answer is on its way waits for the same. */
let reading: Promise<Newest> | undefined

/** @returns undefined where the person may not see records */
export async function readNewest(): Promise<Newest | undefined> {
  if (!hasScope('read:attribution')) return undefined
  reading ??= ask<Page>('/v1/attribution?limit=1&sort=-materialized_at')
    .then(({ data: [first] }) => ({ id: first?.id ?? null, atMs: first && Date.parse(first.materialized_at) }))
    .finally(() => {
      reading = undefined
    })
  return reading
}

type Page = { readonly data: readonly Pick<AttributionRecord, 'id' | 'materialized_at'>[] }

/** Follows the newest record while the page is visible. */
export function useNewest(): Newest {
  const [newest, setNewest] = useState<Newest>({ id: undefined, atMs: undefined })
  useEffect(() => {
    if (!hasScope('read:attribution')) return
    const abort = new AbortController()
    let timer: ReturnType<typeof setTimeout>
    const look = async (): Promise<void> => {
      let pauseMs = EVERY_MS
      try {
        if (document.visibilityState === 'visible') {
          const found = await readNewest()
          if (found !== undefined && !abort.signal.aborted)
            setNewest((before) => (isSame(before, found) ? before : found))
        }
      } catch {
        // The figures that failed say so themselves.
        pauseMs = AFTER_FAILURE_MS
      }
      if (!abort.signal.aborted) timer = setTimeout(look, pauseMs)
    }
    void look()
    return () => {
      abort.abort()
      clearTimeout(timer)
    }
  }, [])
  return newest
}

/** A record that is attributed again keeps its id. */
const isSame = (one: Newest, other: Newest): boolean => one.id === other.id && one.atMs === other.atMs
