import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { wordOf } from '../../../figures/words.js'
import { useList } from '../../api/use-list.js'
import { usePolling } from '../../api/use-polling.js'
import { Does } from '../../parts/does.js'
import { Ago, Instant } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { Inside, Opens, openingOf } from '../../parts/opens.js'
import { Secret } from '../../parts/secret.js'
import { hasScope } from '../../session/session.js'
import type { PageProps } from '../page-props.js'
import { Details } from './details.js'
import { type Endpoint, WEBHOOKS_PATH } from './endpoint.js'
import { Register } from './register.js'

const HEAD = ['address', 'status', '#events', 'health', 'last success', 'registered']

/** Where events are sent, and whether they arrive. */
export function Page({ params, zone }: PageProps) {
  const list = useList<Endpoint>(WEBHOOKS_PATH)
  usePolling(
    list.answer,
    list.rows.some(({ status }) => status === 'pending'),
  )
  const [isAdding, setAdding] = useState(false)
  const [secret, setSecret] = useState<string | undefined>()
  const opening = openingOf(params, 'webhook')
  const mayAdd = hasScope('admin:config')
  return (
    <>
      <ListSection
        title="Webhooks"
        what="the webhooks"
        about="Events are sent to these addresses, signed, until they are acknowledged."
        actions={
          mayAdd ? (
            <Does name="endpoint" onDo={() => setAdding(true)}>
              Register a webhook
            </Does>
          ) : (
            <p class="muted">
              To register one needs <code>admin:config</code>.
            </p>
          )
        }
        list={list}
        head={HEAD}
        empty="None yet: no event about budgets, exports or coverage is sent anywhere."
        row={(endpoint) => (
          <Fragment key={endpoint.id}>
            <tr>
              <th scope="row">
                <Opens id={endpoint.id} opening={opening}>
                  <Name>{endpoint.url}</Name>
                </Opens>
              </th>
              <td>{endpoint.status === 'pending' ? 'pending: its challenge is not answered' : 'verified'}</td>
              <td class="number">{endpoint.events.length}</td>
              <td>{wordOf(endpoint.health.status)}</td>
              <td>
                {endpoint.health.last_success_at === null ? (
                  'never'
                ) : (
                  <Ago ms={Date.parse(endpoint.health.last_success_at)} />
                )}
              </td>
              <td>
                <Instant ms={Date.parse(endpoint.created_at)} zone={zone} />
              </td>
            </tr>
            {opening.isOpen(endpoint.id) && (
              <Inside columns={HEAD.length}>
                <Details endpoint={endpoint} zone={zone} onChanged={list.answer.reload} onSecret={setSecret} />
              </Inside>
            )}
          </Fragment>
        )}
      />
      {isAdding && (
        <Register
          onClose={() => setAdding(false)}
          onRegistered={(registered) => {
            setSecret(registered.signing_secret)
            opening.toggle(registered.id)
            list.answer.reload()
          }}
        />
      )}
      {secret !== undefined && (
        <Secret
          title="The signing secret"
          secret={secret}
          about={
            'Configure it at the receiver, which checks with it that events come from here. ' +
            'Then send a new challenge.'
          }
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}
