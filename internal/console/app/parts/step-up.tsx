import { useEffect, useState } from 'preact/hooks'
import { ApiProblem } from '../api/ask.js'
import { prepareSignInAgain, type SignInAgain } from '../session/session.js'
import { Dialog } from './dialog.js'

/** Waits for the dialog's outcome: whether the person signed in again. */
type Waiting = (isSignedIn: boolean) => void
let openDialog: ((waiting: Waiting) => void) | undefined

/**
 * Does what may need a recent sign-in. Where the service asks for one, the person signs in again in a window of their
 * own, and it is done once more.
 *
 * @param change must send the same Idempotency-Key each time
 * @throws ApiProblem STEP_UP_REQUIRED when the person did not sign in
 */
export async function withStepUp<T>(change: () => Promise<T>): Promise<T> {
  try {
    return await change()
  } catch (cause) {
    if (!(cause instanceof ApiProblem) || cause.code !== 'STEP_UP_REQUIRED' || openDialog === undefined) throw cause
    const open = openDialog
    const isSignedIn = await new Promise<boolean>((resolve) => open(resolve))
    if (!isSignedIn) throw cause
    return change()
  }
}

/** The dialog: one for the whole console. */
export function StepUp() {
  const [waiting, setWaiting] = useState<Waiting | undefined>()
  const [again, setAgain] = useState<SignInAgain | undefined>()
  const [isBlocked, setBlocked] = useState(false)
  useEffect(() => {
    openDialog = (resolve) => setWaiting(() => resolve)
    return () => {
      openDialog = undefined
    }
  }, [])
  useEffect(() => {
    if (waiting === undefined) return
    let prepared: SignInAgain | undefined
    void prepareSignInAgain().then((made) => {
      prepared = made
      setAgain(made)
      void made.done.then((isSignedIn) => {
        setWaiting(undefined)
        setAgain(undefined)
        waiting(isSignedIn)
      })
    })
    return () => prepared?.cancel()
  }, [waiting])
  if (waiting === undefined) return null

  return (
    <Dialog title="Sign in again" onClose={() => again?.cancel()}>
      <p>This change needs a sign-in within the last 15 minutes. What you have typed stays here.</p>
      {isBlocked && <p role="alert">The browser blocked the window: allow pop-ups for this address, and try again.</p>}
      <p class="actions">
        <button
          type="button"
          class="primary"
          disabled={again === undefined}
          onClick={() => setBlocked(again?.open() === false)}
        >
          Sign in in a new window
        </button>
        <button type="button" onClick={() => again?.cancel()}>
          Leave it as it is
        </button>
      </p>
    </Dialog>
  )
}
