import { createContext } from 'preact'
import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
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

/** Whether the figures around are of an earlier question, and those of the last one on their way. */
export const IsEarlier = createContext(false)

/**
 * Loads when `key` changes and when `reload` is called; but not within figures that are of an earlier question: a load
 * ends there, since the figures that are on their way need the store more, and begins again if it is still wanted then.
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
  const waits = useContext(IsEarlier)
  // The attempt whose answer is there: it is not asked again where it only had to wait.
  const answered = useRef('')

  // From now on, though the load begins once the page is drawn: a reload until then would end it.
  const again = useCallback(() => {
    underWay.current = 'load'
    setRound((before) => before + 1)
  }, [])

  // A round is one more attempt at the same key.
  useEffect(() => {
    const attempt = key === '' ? '' : `${round} ${key}`
    const isDone = answered.current === attempt || key === ''
    if (!waits) answered.current = isDone ? attempt : ''
    setLoading(!isDone)
    underWay.current = isDone || waits ? 'nothing' : 'load'
    if (isDone || waits) return
    const abort = new AbortController()
    const slow = setTimeout(() => setSlow(true), SLOW_MS)
    const settle = (next: { value?: T; problem?: ApiProblem }): void => {
      if (abort.signal.aborted) return
      answered.current = attempt
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
  }, [key, round, waits, again])

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
