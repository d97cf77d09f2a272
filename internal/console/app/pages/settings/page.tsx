import type { Settings } from 'attribution-service/sdk/api'
import { useState } from 'preact/hooks'
import { linkTo } from '../../../figures/address.js'
import { ask } from '../../api/ask.js'
import { useAnswer } from '../../api/use-answer.js'
import { forgetTags } from '../../api/use-tags.js'
import { change } from '../../parts/change.js'
import { Copies } from '../../parts/copy.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Shown } from '../../parts/states.js'
import type { PageProps } from '../page-props.js'
import { Pending } from './pending.js'
import { GROUPS, type Setting } from './settings.js'

const PATH = '/api/v1/settings'

/** What holds for the whole tenant: each setting with what it costs to change it, and the changes that wait. */
export function Page({ params, zone }: PageProps) {
  const answer = useAnswer(PATH, (signal) => ask<Settings>(PATH, { signal }))
  const [changing, setChanging] = useState<Setting | undefined>()
  const send = async (patch: object): Promise<void> => {
    await change('PATCH', PATH, patch)
    forgetTags()
    answer.reload()
  }
  return (
    <Shown answer={answer} what="the settings" placeholder={<div class="placeholder table-place" />}>
      {(settings) => (
        <>
          <Pending settings={settings} zone={zone} onChanged={answer.reload} />
          {GROUPS.map(({ title, settings: ofGroup }) => (
            <section key={title} class="list" aria-label={title}>
              <header>
                <h2>{title}</h2>
              </header>
              <ul class="each-setting">
                {ofGroup.map((setting) => (
                  <li key={setting.name}>
                    <h3>{setting.title}</h3>
                    <p>
                      {setting.shown(settings)}{' '}
                      <button
                        type="button"
                        class="quiet"
                        aria-label={`Change: ${setting.title}`}
                        onClick={() => setChanging(setting)}
                      >
                        Change
                      </button>
                    </p>
                    <p class="muted">{setting.cost}</p>
                  </li>
                ))}
              </ul>
            </section>
          ))}
          <p class="muted">
            <Copies text={settings.tenant_id} />.{' '}
            {settings.identity_provider === null
              ? 'People sign in by password. '
              : `People sign in at ${settings.identity_provider.name}. `}
            The identity provider is set by the operator of the service: see{' '}
            <a href={linkTo('access', params)}>Access</a>.
          </p>
          {changing !== undefined && (
            <FormDialog
              title={changing.title}
              verb="Change it"
              onClose={() => setChanging(undefined)}
              send={(fields) => send(changing.patchOf(fields, settings))}
            >
              <p>{changing.cost}</p>
              <changing.Fields settings={settings} />
            </FormDialog>
          )}
        </>
      )}
    </Shown>
  )
}
