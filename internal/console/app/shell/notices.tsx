import type { Dependency } from 'attribution-service/sdk/api'
import { useEffect, useState } from 'preact/hooks'
import { type Outage, outageOf } from '../../figures/outage.js'
import { isForSandbox } from '../../figures/sandbox.js'
import { TROUBLE } from '../api/ask.js'
import { Ago, Instant } from '../parts/instant.js'
import { TapTitles } from '../parts/tap-titles.js'
import { currentTokens } from '../session/session.js'

/** The service itself learns within two seconds that its store has stopped. */
const EVERY_MS = 1_000

/** Above every page: that it is of a sandbox, and what of the service does not answer. */
export const Notices = ({ zone }: { readonly zone: string }) => (
  <>
    {isForSandbox(currentTokens()?.accessToken ?? '') && (
      <div class="sandbox">
        <p>
          <strong>Sandbox.</strong> Calls, people and money here are made up, and nothing is charged.
        </p>
      </div>
    )}
    <OutageLine zone={zone} />
    <TapTitles />
  </>
)

/** One line while a part of the service does not answer: since when, and what that means for calls and figures. */
function OutageLine({ zone }: { readonly zone: string }) {
  const outage = useOutage()
  if (outage === undefined) return null
  const { what, sinceMs, meaning } = outage
  return (
    <div class="outage" role="status">
      <p>
        <strong>{what}</strong> since <Instant ms={sinceMs} zone={zone} /> (<Ago ms={sinceMs} />
        ). {meaning}
      </p>
    </div>
  )
}

/** Looks every second while the page is visible, and at once when an answer of the API fails. */
function useOutage(): Outage | undefined {
  const [outage, setOutage] = useState<Outage | undefined>()
  useEffect(() => {
    let isOver = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const look = async (): Promise<void> => {
      clearTimeout(timer)
      if (document.visibilityState === 'visible') {
        const found = await readOutage()
        if (!isOver) setOutage((before) => (isSame(before, found) ? before : found))
      }
      if (isOver) return
      // A look that another one overtook has a timer already.
      clearTimeout(timer)
      timer = setTimeout(() => void look(), EVERY_MS)
    }
    const lookNow = (): void => void look()
    void look()
    addEventListener(TROUBLE, lookNow)
    return () => {
      isOver = true
      clearTimeout(timer)
      removeEventListener(TROUBLE, lookNow)
    }
  }, [])
  return outage
}

const isSame = (one: Outage | undefined, other: Outage | undefined): boolean =>
  one?.what === other?.what && one?.sinceMs === other?.sinceMs && one?.meaning === other?.meaning

/** Undefined, too, where the service does not answer at all: then what was asked of it says so. */
async function readOutage(): Promise<Outage | undefined> {
  const ready = await readiness('')
  if (outageOf(ready?.dependencies, undefined) === undefined) return undefined
  const intake = await readiness('?surface=ingestion')
  return outageOf(intake?.dependencies ?? ready?.dependencies, intake?.takesCalls)
}

async function readiness(query: string) {
  try {
    const answer = await fetch(`/readyz${query}`, { credentials: 'omit' })
    const { dependencies } = (await answer.json()) as { readonly dependencies?: readonly Dependency[] }
    return { dependencies, takesCalls: answer.ok }
  } catch {
    return undefined
  }
}
