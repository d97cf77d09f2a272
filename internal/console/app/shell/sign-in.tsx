import { useEffect, useState } from 'preact/hooks'
import { goToSignIn, rememberedTenant, tenantOf } from '../session/session.js'
import { clientIdOf } from '../session/tokens.js'

const UNKNOWN =
  'Nobody has signed in there in this browser: give its id, which begins with tnt_ and has 26 letters and digits after it.'

/** What one person has begun here must not be done in the name of another. */
export const SomebodyElse = ({ username }: { readonly username: string }) => (
  <main class="sign-in">
    <h1>Attribution</h1>
    <p role="alert">
      <strong>{username}</strong> has signed in in this browser. What was not finished on this page was not sent.
    </p>
    <button type="button" class="primary" onClick={() => location.reload()}>
      Go on as {username}
    </button>
  </main>
)

/**
 * @param reason why the last sign-in ended or failed; empty when there was none
 * @param goesOn whether the sign-in page of the service is opened at once, since the person has just come here
 */
export function SignIn({ reason, goesOn }: { readonly reason: string; readonly goesOn: boolean }) {
  const known = rememberedTenant()
  const [tenant, setTenant] = useState(known)
  const [fault, setFault] = useState('')
  const isGoing = goesOn && clientIdOf(known) !== ''
  useEffect(() => {
    if (isGoing) void goToSignIn(known)
  }, [isGoing, known])
  if (isGoing) return <p class="waiting">Opening the sign-in page …</p>

  const submit = (event: Event): void => {
    event.preventDefault()
    const id = tenantOf(tenant)
    if (clientIdOf(id) === '') setFault(UNKNOWN)
    else void goToSignIn(id)
  }
  return (
    <main class="sign-in">
      <h1>Attribution</h1>
      <p>Who and what caused the cost, energy and carbon of every model call.</p>
      {reason !== '' && <p role="alert">{reason}</p>}
      <form onSubmit={submit}>
        <label>
          Tenant
          <input
            value={tenant}
            onInput={({ currentTarget }) => setTenant(currentTarget.value)}
            placeholder="tnt_…"
            spellcheck={false}
            autocapitalize="none"
            required
            aria-describedby="tenant-fault"
          />
        </label>
        <p id="tenant-fault" class="fault" role={fault === '' ? undefined : 'alert'}>
          {fault}
        </p>
        <button type="submit" class="primary">
          Sign in
        </button>
      </form>
      <p class="muted">
        The address that your administrator gave you has it, and credentials.json of your own instance (
        <code>console_url</code>). Where you have signed in before, its name does as well.
      </p>
    </main>
  )
}
