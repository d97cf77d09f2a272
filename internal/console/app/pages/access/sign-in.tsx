import type { IdentityProviderCheck, Settings } from 'attribution-service/sdk/api'
import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from '../../api/ask.js'
import { useAnswer } from '../../api/use-answer.js'
import { change, messageOf } from '../../parts/change.js'
import { Copies, Copy } from '../../parts/copy.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Name } from '../../parts/name.js'
import { Shown } from '../../parts/states.js'

const PATH = '/api/v1/settings'

/** How people of the tenant sign in. */
export function SignInSettings() {
  const answer = useAnswer(PATH, (signal) => ask<Settings>(PATH, { signal }))
  const [isAsking, setAsking] = useState(false)
  return (
    <section class="list" aria-label="Signing in">
      <header>
        <h2>Signing in</h2>
      </header>
      <Shown answer={answer} what="the settings" placeholder={<div class="placeholder list-place" />}>
        {({ tenant_id: tenant, require_second_factor: isRequired, identity_provider: provider }) => (
          <>
            <dl class="ledger">
              <dt>by password</dt>
              <dd>
                {provider?.only === true
                  ? 'nobody: the identity provider is the only way'
                  : isRequired
                    ? 'with a code from an authenticator app; who has none sets it up at the next sign-in'
                    : 'with a second factor only where a person has set one up'}
                {provider?.only !== true && (
                  <>
                    {' '}
                    <button type="button" onClick={() => setAsking(true)}>
                      {isRequired ? 'Stop asking for a second factor' : 'Ask everybody for a second factor'}
                    </button>
                  </>
                )}
              </dd>
              <dt>identity provider</dt>
              <dd>
                {provider === null ? (
                  'none'
                ) : (
                  <>
                    <Name>{provider.name}</Name>, <Name>{provider.issuer}</Name> <ProviderCheck id={provider.id} />
                  </>
                )}
              </dd>
            </dl>
            <Command tenant={tenant} isSet={provider !== null} />
            {isAsking && (
              <FormDialog
                title={isRequired ? 'Stop asking for a second factor' : 'Ask everybody for a second factor'}
                verb={isRequired ? 'Stop asking' : 'Ask everybody'}
                onClose={() => setAsking(false)}
                send={async () => {
                  await change('PATCH', PATH, { require_second_factor: !isRequired })
                  answer.reload()
                }}
              >
                <p>
                  {isRequired
                    ? 'Who has set one up is still asked for it, until it is reset.'
                    : 'Everybody who signs in by password sets up an authenticator app at their next sign-in.'}
                </p>
              </FormDialog>
            )}
          </>
        )}
      </Shown>
    </section>
  )
}

const VERDICTS = { works: 'works', depends: 'depends', does_not_work: 'does not work' } as const

/** What of the provider will and will not work, before the first person meets it. */
function ProviderCheck({ id }: { readonly id: string }) {
  const [found, setFound] = useState<IdentityProviderCheck | undefined>()
  const [said, setSaid] = useState('')
  const check = (): void => {
    setSaid('Asking the provider …')
    change<IdentityProviderCheck>('POST', `/api/v1/identity-providers/${id}/check`).then(
      (answer) => {
        setFound(answer)
        setSaid('')
      },
      (cause: unknown) => setSaid(messageOf(cause)),
    )
  }
  return (
    <>
      <button type="button" onClick={check}>
        Check the set-up
      </button>
      <span role="status">{said}</span>
      {found !== undefined && (
        <dl class="ledger" aria-label="What works">
          {found.findings.map(({ aspect, verdict, detail }) => (
            <Fragment key={aspect}>
              <dt>{aspect.replaceAll('_', ' ')}</dt>
              <dd>
                <strong>{VERDICTS[verdict]}</strong>: {detail}
              </dd>
            </Fragment>
          ))}
        </dl>
      )}
    </>
  )
}

/** Only the operator may set a provider: its addresses are called from inside the network of the service. */
function Command({ tenant, isSet }: { readonly tenant: string; readonly isSet: boolean }) {
  const files = '--file provider.json --client-secret-file provider-secret'
  const lines = `npx attribution identity-provider set ${tenant} ${files}`
  return (
    <details class="behind">
      <summary>{isSet ? 'Change the identity provider' : 'Let people sign in with their company’s account'}</summary>
      <p>
        The operator of the service does this, on its machine (<Copies text="deploy/docs/sign-in.md" />
        ):
      </p>
      <pre class="block">{lines}</pre>
      <p class="actions">
        <Copy text={lines} />
      </p>
    </details>
  )
}
