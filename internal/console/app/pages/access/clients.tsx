import type { ClientWithSecret } from 'attribution-service/sdk/api'
import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { namesOf } from '../../../figures/names.js'
import { wordOf } from '../../../figures/words.js'
import { useList } from '../../api/use-list.js'
import { change } from '../../parts/change.js'
import { Does } from '../../parts/does.js'
import { Check, Choice, Field } from '../../parts/field.js'
import { checkedOf, textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Instant } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Id, Name } from '../../parts/name.js'
import { Inside, type Opening, Opens } from '../../parts/opens.js'
import { Secret } from '../../parts/secret.js'
import { CLIENTS_PATH, type Client, limitsOf } from './credential.js'
import { Scopes, Trusts, trustsOf } from './fields.js'

const HEAD = ['client', 'id', 'status', 'kind', 'scopes', 'created']

type WithSecret = Pick<ClientWithSecret, 'id'> & Partial<Pick<ClientWithSecret, 'client_secret'>>

interface ClientsProps {
  readonly opening: Opening
  readonly zone: string
}

/** OAuth clients: programs with short-lived tokens, and apps that sign people in. */
export function Clients({ opening, zone }: ClientsProps) {
  const list = useList<Client>(CLIENTS_PATH)
  const [isAdding, setAdding] = useState(false)
  const [secret, setSecret] = useState<string | undefined>()
  const keep = (made: WithSecret): void => {
    setSecret(made.client_secret)
    list.answer.reload()
  }
  return (
    <>
      <ListSection
        title="OAuth clients"
        what="the clients"
        about="Programs that get short-lived tokens, and apps in which people sign in."
        actions={
          <Does name="client" onDo={() => setAdding(true)}>
            Register a client
          </Does>
        }
        list={list}
        head={HEAD}
        empty="None yet."
        row={(client) => (
          <Fragment key={client.id}>
            <tr class={client.status === 'active' ? undefined : 'apart'}>
              <th scope="row">
                <Opens id={client.id} opening={opening}>
                  <Name>{client.name}</Name>
                </Opens>
              </th>
              <td>
                <Id>{client.id}</Id>
              </td>
              <td>{client.status}</td>
              <td>{client.type === 'public' ? 'public: without a secret' : `secret …${client.last_four}`}</td>
              <td class="wide">{client.scopes.join(', ')}</td>
              <td>
                <Instant ms={Date.parse(client.created_at)} zone={zone} />
              </td>
            </tr>
            {opening.isOpen(client.id) && (
              <Inside columns={HEAD.length}>
                <Details client={client} onChanged={list.answer.reload} onSecret={keep} />
              </Inside>
            )}
          </Fragment>
        )}
      />
      {isAdding && (
        <Register
          onClose={() => setAdding(false)}
          onRegistered={(made) => {
            opening.toggle(made.id)
            keep(made)
          }}
        />
      )}
      {secret !== undefined && (
        <Secret
          title="The client's secret"
          secret={secret}
          about="The client sends it with its id when it asks for a token."
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}

const GRANTS = ['client_credentials', 'authorization_code', 'refresh_token'] as const

const Addresses = ({ uris = [] }: { readonly uris?: readonly string[] }) => (
  <Field
    label="Redirect addresses"
    hint="(for people's sign-ins; comma-separated)"
    name="redirect_uris"
    maxLength={4_096}
    defaultValue={uris.join(', ')}
    placeholder="https://app.example.com/callback"
  />
)

const redirectsOf = (fields: FormData): readonly string[] => namesOf(textOf(fields, 'redirect_uris') ?? '')

interface RegisterProps {
  readonly onClose: () => void
  readonly onRegistered: (made: WithSecret) => void
}

function Register({ onClose, onRegistered }: RegisterProps) {
  const send = async (fields: FormData): Promise<void> => {
    const grants = checkedOf(fields, 'grant_types')
    onRegistered(
      await change<WithSecret>('POST', CLIENTS_PATH, {
        name: textOf(fields, 'name'),
        type: fields.get('type'),
        scopes: checkedOf(fields, 'scopes'),
        redirect_uris: redirectsOf(fields),
        ...(grants.length > 0 && { grant_types: grants }),
        ...trustsOf(fields),
      }),
    )
  }
  return (
    <FormDialog title="Register a client" verb="Register it" onClose={onClose} send={send}>
      <Field label="Name" name="name" required placeholder="Billing job" />
      <Choice
        label="Kind"
        name="type"
        choices={{
          confidential: 'confidential: it keeps a secret',
          public: 'public: an app in a browser or on a device',
        }}
      />
      <Scopes />
      <fieldset>
        <legend>Gets tokens by</legend>
        {GRANTS.map((grant) => (
          <Check key={grant} label={wordOf(grant)} name="grant_types" value={grant} />
        ))}
      </fieldset>
      <Addresses />
      <Trusts />
    </FormDialog>
  )
}

interface DetailsProps {
  readonly client: Client
  readonly onChanged: () => void
  readonly onSecret: (made: WithSecret) => void
}

type Asked = 'change' | 'status' | 'rotate' | 'delete'

/** One client, and what can be done about it. */
function Details({ client, onChanged, onSecret }: DetailsProps) {
  const [asked, setAsked] = useState<Asked | undefined>()
  const close = (): void => setAsked(undefined)
  const path = `${CLIENTS_PATH}/${client.id}`
  const isActive = client.status === 'active'
  const patch = async (body: object): Promise<void> => {
    await change('PATCH', path, body)
    onChanged()
  }
  const buttons: readonly (readonly [Asked, string])[] = [
    ['change', 'Change it'],
    ...(client.type === 'public' ? [] : ([['rotate', 'Replace the secret']] as const)),
    ['status', isActive ? 'Disable it' : 'Enable it'],
    ['delete', 'Delete it'],
  ]
  return (
    <>
      <Facts client={client} />
      <p class="actions">
        {buttons.map(([what, words]) => (
          <button key={what} type="button" onClick={() => setAsked(what)}>
            {words}
          </button>
        ))}
      </p>
      {asked === 'change' && <Change client={client} onClose={close} send={patch} />}
      {asked === 'rotate' && (
        <FormDialog
          title={`Replace the secret of ${client.name}`}
          verb="Replace it"
          onClose={close}
          send={async () => onSecret(await change<WithSecret>('POST', `${path}/rotate-secret`, {}))}
        >
          <p>The old secret is refused at once. Tokens that it obtained stay valid until they expire.</p>
        </FormDialog>
      )}
      {asked === 'status' && (
        <FormDialog
          title={`${isActive ? 'Disable' : 'Enable'} ${client.name}`}
          verb={isActive ? 'Disable it' : 'Enable it'}
          onClose={close}
          send={() => patch({ status: isActive ? 'disabled' : 'active' })}
        >
          <p>{isActive ? 'All its tokens are refused while it is disabled.' : 'Its tokens are accepted again.'}</p>
        </FormDialog>
      )}
      {asked === 'delete' && (
        <FormDialog
          title={`Delete ${client.name}`}
          verb="Delete it"
          onClose={close}
          send={async () => {
            await change('DELETE', path)
            onChanged()
          }}
        >
          <p>Its tokens and sign-ins are invalid at once, and for good.</p>
        </FormDialog>
      )}
    </>
  )
}

const Facts = ({ client }: { readonly client: Client }) => (
  <dl class="ledger">
    <dt>gets tokens by</dt>
    <dd>{client.grant_types.map(wordOf).join(', ')}</dd>
    {client.redirect_uris.length > 0 && (
      <>
        <dt>redirects to</dt>
        <dd>
          {client.redirect_uris.map((uri) => (
            <div key={uri}>
              <Name>{uri}</Name>
            </div>
          ))}
        </dd>
      </>
    )}
    {limitsOf(client).length > 0 && (
      <>
        <dt>as a sender</dt>
        <dd>{limitsOf(client).join('; ')}</dd>
      </>
    )}
  </dl>
)

interface ChangeProps {
  readonly client: Client
  readonly onClose: () => void
  readonly send: (body: object) => Promise<void>
}

const Change = ({ client, onClose, send }: ChangeProps) => (
  <FormDialog
    title={`Change ${client.name}`}
    verb="Change it"
    onClose={onClose}
    send={(fields) =>
      send({
        name: textOf(fields, 'name'),
        scopes: checkedOf(fields, 'scopes'),
        redirect_uris: redirectsOf(fields),
        ...trustsOf(fields),
      })
    }
  >
    <Field label="Name" name="name" required defaultValue={client.name} />
    <Scopes chosen={client.scopes} from={client.scopes} />
    <Addresses uris={client.redirect_uris} />
    <Trusts isGateway={client.is_gateway} trustsCost={client.trusts_cost} billing={client.billing} />
  </FormDialog>
)
