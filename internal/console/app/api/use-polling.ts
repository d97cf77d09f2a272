import { useEffect, useRef } from 'preact/hooks'
import type { Answer } from './use-answer.js'

const EVERY_MS = 1_000

/** Of the time that an answer took: a busy service is asked less often. */
const PAUSE_OF_ANSWER = 4

/**
 * Loads an answer again, some time after it came, as long as something in it is under way and the page is looked at.
 */
export function usePolling(answer: Answer<unknown>, isUnderWay: boolean, everyMs = EVERY_MS): void {
  const { value, problem, isLoading, reload } = answer
  const asked = useRef({ atMs: 0, tookMs: 0 })
  useEffect(() => {
    const nowMs = performance.now()
    if (isLoading) asked.current.atMs = nowMs
    else asked.current.tookMs = nowMs - asked.current.atMs
  }, [isLoading])
  useEffect(() => {
    if (!isUnderWay || isLoading || value === undefined || problem !== undefined) return
    const pauseMs = Math.max(everyMs, PAUSE_OF_ANSWER * asked.current.tookMs)
    const timer = setInterval(() => document.visibilityState === 'visible' && reload(), pauseMs)
    return () => clearInterval(timer)
  }, [value, problem, isLoading, isUnderWay, everyMs, reload])
}
