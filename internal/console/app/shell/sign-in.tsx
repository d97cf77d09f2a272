import { useEffect, useState } from 'preact/hooks'
import { goToSignIn, rememberedTenant } from '../session/session.js'
import { clientIdOf } from '../session/tokens.js'

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
    const id = tenant.trim()
    if (clientIdOf(id) === '') setFault('A tenant id begins with tnt_ and has 26 letters and digits after it.')
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
        The tenant id is in the link that your administrator gave you, and in credentials.json of your own instance (
        <code>console_url</code>).
      </p>
    </main>
  )
}
