import { useEffect } from 'preact/hooks'
import type { Answer } from './use-answer.js'

const EVERY_MS = 1_000

/** Loads an answer again, some time after it came, as long as something in it is under way. */
export function usePolling({ value, problem, isLoading, reload }: Answer<unknown>, isUnderWay: boolean): void {
  useEffect(() => {
    if (!isUnderWay || isLoading || value === undefined || problem !== undefined) return
    const timer = setTimeout(reload, EVERY_MS)
    return () => clearTimeout(timer)
  }, [value, problem, isLoading, isUnderWay, reload])
}
