import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { SignInRefused } from '../session/tokens.js'
import { ApiProblem, isPassing } from './ask.js'

/** Figures on their way. What was there before stays while newer ones come, so that nothing jumps. */
export interface Answer<T> {
  readonly value: T | undefined
  /** Of the last attempt. */
  readonly problem: ApiProblem | undefined
  readonly isLoading: boolean
  /** Whether the value answers an earlier question: the one that was asked last is on its way. */
  readonly isEarlier: boolean
  /** Loading for so long that the page says what it waits for. */
  readonly isSlow: boolean
  /** During a load it follows that one: reloads that come faster than answers would else end each of them. */
  readonly reload: () => void
}

const SLOW_MS = 2_000

/**
 * Loads when `key` changes and when `reload` is called.
 *
 * @param key what is asked; an empty one asks nothing
 * @param load must not depend on anything that the key leaves out
 */
export function useAnswer<T>(key: string, load: (signal: AbortSignal) => Promise<T>): Answer<T> {
  const [state, setState] = useState<{ key: string; value?: T; problem?: ApiProblem | undefined }>({ key: '' })
  const [round, setRound] = useState(0)
  const [isLoading, setLoading] = useState(key !== '')
  const [isSlow, setSlow] = useState(false)
  const loader = useRef(load)
  loader.current = load
  const underWay = useRef<'nothing' | 'load' | 'load and another'>('nothing')

  // From now on, though the load begins once the page is drawn: a reload until then would end it.
  const again = useCallback(() => {
    underWay.current = 'load'
    setRound((before) => before + 1)
  }, [])

  // A round is one more attempt at the same key.
  useEffect(() => {
    if (key === '') {
      underWay.current = 'nothing'
      return
    }
    const abort = new AbortController()
    underWay.current = 'load'
    setLoading(true)
    const slow = setTimeout(() => setSlow(true), SLOW_MS)
    const settle = (next: { value?: T; problem?: ApiProblem }): void => {
      if (abort.signal.aborted) return
      if (underWay.current === 'load and another') again()
      else {
        underWay.current = 'nothing'
        setLoading(false)
      }
      setState((before) => ({ ...(before.key === key ? before : {}), key, problem: undefined, ...next }))
    }
    loader
      .current(abort.signal)
      .then(
        (value) => settle({ value }),
        (cause: unknown) => {
          // The shell shows the sign-in page.
          if (!(cause instanceof SignInRefused)) settle({ problem: asProblem(cause) })
        },
      )
      .finally(() => {
        clearTimeout(slow)
        if (!abort.signal.aborted) setSlow(false)
      })
    return () => {
      abort.abort()
      underWay.current = 'nothing'
      clearTimeout(slow)
      setSlow(false)
    }
  }, [key, round, again])

  const reload = useCallback(() => {
    if (underWay.current === 'nothing') again()
    else underWay.current = 'load and another'
  }, [again])
  const isEarlier = state.key !== key
  const problem = isEarlier ? undefined : state.problem
  useEffect(() => {
    if (problem === undefined || !isPassing(problem)) return
    const timer = setTimeout(reload, Math.max(problem.retryAfterMs ?? 0, AGAIN_MS))
    return () => clearTimeout(timer)
  }, [problem, reload])
  return { value: state.value, problem, isLoading, isEarlier, isSlow, reload }
}

/** Until it is loaded again after a failure that may pass by itself. */
const AGAIN_MS = 5_000

const asProblem = (cause: unknown): ApiProblem =>
  cause instanceof ApiProblem ? cause : new ApiProblem(0, 'UNEXPECTED', cause instanceof Error ? cause.message : '')
