import { useState } from 'preact/hooks'
import { messageOf } from './change.js'

/** One thing that is done at a time, without a form, and what came of it. */
export function useDoing() {
  const [said, setSaid] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  /** @param work returns what to say of it */
  const doing = async (work: () => Promise<string>): Promise<void> => {
    setBusy(true)
    setSaid('')
    setProblem('')
    try {
      setSaid(await work())
    } catch (cause) {
      setProblem(messageOf(cause))
    } finally {
      setBusy(false)
    }
  }
  const outcome = (
    <>
      {said !== '' && <p role="status">{said}</p>}
      {problem !== '' && <p role="alert">{problem}</p>}
    </>
  )
  return { doing, outcome, isBusy, said }
}
