import { useEffect, useState } from 'preact/hooks'
import { ApiProblem } from '../api/ask.js'
import { onExpiry, prepareSignInAgain, type SignInAgain } from '../session/session.js'
import { Dialog } from './dialog.js'

/** Why a person is asked to sign in again: a change needs a recent sign-in, or theirs has ended. */
type Why = 'recent' | 'ended'

const WORDS: Readonly<Record<Why, { readonly title: string; readonly means: string; readonly leave: string }>> = {
  recent: {
    title: 'Sign in again',
    means: 'This change needs a sign-in within the last 15 minutes. What you have typed stays here.',
    leave: 'Cancel',
  },
  ended: {
    title: 'Your sign-in has ended',
    means: 'Sign in again, and the page goes on where it is. What you have typed stays here.',
    leave: 'Sign out',
  },
}

interface Waiting {
  readonly why: Why
  /** Waits for the dialog's outcome. */
  readonly settle: (isSignedIn: boolean) => void
}
let openDialog: ((waiting: Waiting) => void) | undefined

/** @returns whether the person has signed in again; false where there is no dialog */
const askToSignIn = (why: Why): Promise<boolean> =>
  new Promise((settle) => (openDialog === undefined ? settle(false) : openDialog({ why, settle })))

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
    if (!(cause instanceof ApiProblem) || cause.code !== 'STEP_UP_REQUIRED') throw cause
    if (!(await askToSignIn('recent'))) throw cause
    return change()
  }
}

/** The dialog: one for the whole console. */
export function StepUp() {
  const [waiting, setWaiting] = useState<Waiting | undefined>()
  const [again, setAgain] = useState<SignInAgain | undefined>()
  const [isBlocked, setBlocked] = useState(false)
  const [round, setRound] = useState(0)
  useEffect(() => {
    openDialog = setWaiting
    onExpiry(() => askToSignIn('ended'))
    return () => {
      openDialog = undefined
      onExpiry(undefined)
    }
  }, [])
  useEffect(() => {
    if (waiting === undefined) return
    const prepared = prepareSignInAgain(waiting.why === 'recent')
    void prepared.then((made) => {
      setAgain(made)
      return made.done.then((isSignedIn) => {
        setWaiting((now) => (now === waiting ? undefined : now))
        waiting.settle(isSignedIn)
      })
    })
    // A sign-in that ends while a change waits for a recent one is the first thing to ask.
    return () => {
      setAgain(undefined)
      setBlocked(false)
      void prepared.then((made) => made.cancel())
    }
  }, [waiting])
  if (waiting === undefined) return null

  const { title, means, leave } = WORDS[waiting.why]
  // To leave what has ended is to lose what was typed: the dialog opens again, and only its button does that.
  const close = (): void => (waiting.why === 'recent' ? again?.cancel() : setRound((before) => before + 1))
  return (
    <Dialog key={round} title={title} onClose={close}>
      <p>{means}</p>
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
          {leave}
        </button>
      </p>
    </Dialog>
  )
}
