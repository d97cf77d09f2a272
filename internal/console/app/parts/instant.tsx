import { useEffect, useState } from 'preact/hooks'
import { timeShown } from '../../figures/period.js'
import { agoShown } from '../../figures/shown.js'

interface InstantProps {
  readonly ms: number
  readonly zone: string
  /** Where many come within a minute. */
  readonly hasSeconds?: boolean
}

/** An instant in the viewer's zone, with UTC on hover. */
export const Instant = ({ ms, zone, hasSeconds = false }: InstantProps) => (
  <time dateTime={new Date(ms).toISOString()} title={new Date(ms).toISOString()}>
    {timeShown(ms, zone, { hasSeconds })}
  </time>
)

/** "3 s ago", ticking. */
export function Ago({ ms }: { readonly ms: number }) {
  const [nowMs, setNowMs] = useState(Date.now)
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  return (
    <time dateTime={new Date(ms).toISOString()} title={new Date(ms).toISOString()}>
      {agoShown(nowMs - ms)}
    </time>
  )
}
