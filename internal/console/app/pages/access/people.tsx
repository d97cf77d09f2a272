import { Fragment } from 'preact'
import { useState } from 'preact/hooks'
import { addressOf } from '../../../figures/address.js'
import { useList } from '../../api/use-list.js'
import { change } from '../../parts/change.js'
import { Copy } from '../../parts/copy.js'
import { Dialog } from '../../parts/dialog.js'
import { Does } from '../../parts/does.js'
import { Check, Field } from '../../parts/field.js'
import { checkedOf, textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Instant } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { Inside, type Opening, Opens } from '../../parts/opens.js'
import { currentTokens } from '../../session/session.js'
import { PEOPLE_PATH, type Person } from './credential.js'
import { Scopes } from './fields.js'

const HEAD = ['person', 'status', 'signs in by', 'second factor', 'scopes', 'added']

interface PeopleProps {
  readonly opening: Opening
  readonly zone: string
}

/** People who may sign in, and what they may do. */
export function People({ opening, zone }: PeopleProps) {
  const list = useList<Person>(PEOPLE_PATH)
  const [isAdding, setAdding] = useState(false)
  const [added, setAdded] = useState<Added | undefined>()
  return (
    <>
      <ListSection
        title="People"
        what="the people"
        about="An owner may give others more than they hold themselves."
        actions={
          <Does name="person" onDo={() => setAdding(true)}>
            Add a person
          </Does>
        }
        list={list}
        head={HEAD}
        empty="None yet."
        row={(person) => (
          <Fragment key={person.id}>
            <tr class={person.status === 'active' ? undefined : 'apart'}>
              <th scope="row">
                <Opens id={person.id} opening={opening}>
                  <Name>{person.username}</Name>
                </Opens>
                {person.owner && <span class="muted"> · owner</span>}
                {person.id === currentTokens()?.userId && <span class="muted"> · you</span>}
              </th>
              <td>{person.status === 'active' ? 'active' : 'deactivated'}</td>
              <td>{person.signs_in_by === 'password' ? 'password' : 'identity provider'}</td>
              <td>{secondFactorOf(person)}</td>
              <td class="wide">{person.scopes.join(', ')}</td>
              <td>
                <Instant ms={Date.parse(person.created_at)} zone={zone} />
              </td>
            </tr>
            {opening.isOpen(person.id) && (
              <Inside columns={HEAD.length}>
                <Details person={person} onChanged={list.answer.reload} />
              </Inside>
            )}
          </Fragment>
        )}
      />
      {isAdding && (
        <Add
          onClose={() => setAdding(false)}
          onAdded={(person) => {
            setAdded(person)
            list.answer.reload()
          }}
        />
      )}
      {added !== undefined && <ToSend {...added} onClose={() => setAdded(undefined)} />}
    </>
  )
}

const secondFactorOf = ({ second_factor: has, signs_in_by: by }: Person): string =>
  by === 'identity_provider' ? 'at the provider' : has ? 'set up' : 'none'

interface Added {
  readonly username: string
  /** A generated one. */
  readonly password?: string
}

/** What the new person needs. The password is in memory while this dialog is open, and nowhere else. */
function ToSend({ username, password, onClose }: Added & { readonly onClose: () => void }) {
  const address = location.origin + addressOf('', new URLSearchParams())
  return (
    <Dialog title={`${username} can sign in`} onClose={onClose}>
      <p>Send them the address of the console:</p>
      <pre class="block address">{address}</pre>
      <p class="actions">
        <Copy text={address} label="Copy the address" />
      </p>
      {password !== undefined && (
        <>
          <p>Give them their first password over another, safe way. It is shown only once.</p>
          <pre class="block secret">{password}</pre>
          <p class="actions">
            <Copy text={password} label="Copy the password" />
          </p>
        </>
      )}
      <p class="actions">
        <button type="button" class="primary" onClick={onClose}>
          I have it
        </button>
      </p>
    </Dialog>
  )
}

interface AddProps {
  readonly onClose: () => void
  readonly onAdded: (person: Added) => void
}

function Add({ onClose, onAdded }: AddProps) {
  const send = async (fields: FormData): Promise<void> => {
    const person = await change<Added>('POST', PEOPLE_PATH, {
      username: textOf(fields, 'username'),
      scopes: checkedOf(fields, 'scopes'),
      // Absent: the first administrator becomes the owner.
      ...(fields.has('owner') && { owner: true }),
      ...(textOf(fields, 'password') !== undefined && { password: fields.get('password') }),
    })
    onAdded(person)
  }
  return (
    <FormDialog title="Add a person" verb="Add the person" onClose={onClose} send={send}>
      <Field label="User name" name="username" required maxLength={128} placeholder="ada@example.com" />
      <Scopes />
      <Check label="An owner of the tenant" name="owner" />
      <Password hint="(else one is generated, and shown only once)" isRequired={false} />
    </FormDialog>
  )
}

const Password = ({ hint, isRequired }: { readonly hint: string; readonly isRequired: boolean }) => (
  <Field label="Password" hint={hint} name="password" type="password" minLength={12} required={isRequired} />
)

interface DetailsProps {
  readonly person: Person
  readonly onChanged: () => void
}

/** Everything that is asked before it is done: the title and button of its dialog, and what it means. */
const ASKED = {
  change: ['Change', 'Change it', ''],
  password: ['A new password for', 'Set the password', 'It ends all their sign-ins.'],
  second_factor: [
    'Reset the second factor of',
    'Reset it',
    'For who has lost their authenticator app. It ends all their sign-ins; where the tenant asks for a second ' +
      'factor, they set up another one at the next.',
  ],
  deactivate: [
    'Deactivate',
    'Deactivate',
    'All their sign-ins end at once, and they cannot sign in until they are activated.',
  ],
  activate: ['Activate', 'Activate', 'They can sign in again.'],
  delete: ['Delete', 'Delete', 'All their sign-ins end at once. What they have done stays in the audit log.'],
} as const
type Asked = keyof typeof ASKED

function Details({ person, onChanged }: DetailsProps) {
  const [asked, setAsked] = useState<Asked | undefined>()
  const send = async (fields: FormData): Promise<void> => {
    const path = `${PEOPLE_PATH}/${person.id}`
    if (asked === 'delete') await change('DELETE', path)
    else if (asked !== undefined) await change('PATCH', path, patchOf(asked, fields, person))
    onChanged()
  }
  const hasPassword = person.signs_in_by === 'password'
  const buttons: readonly (readonly [Asked, string])[] = [
    ['change', 'Change what they may do'],
    ...(hasPassword ? ([['password', 'Set a new password']] as const) : []),
    ...(person.second_factor ? ([['second_factor', 'Reset the second factor']] as const) : []),
    person.status === 'active' ? ['deactivate', 'Deactivate'] : ['activate', 'Activate'],
    ['delete', 'Delete'],
  ]
  const [title = '', verb = '', means = ''] = asked === undefined ? [] : ASKED[asked]
  return (
    <>
      <p class="actions">
        {buttons.map(([what, words]) => (
          <button key={what} type="button" onClick={() => setAsked(what)}>
            {words}
          </button>
        ))}
      </p>
      {asked !== undefined && (
        <FormDialog title={`${title} ${person.username}`} verb={verb} onClose={() => setAsked(undefined)} send={send}>
          {means !== '' && <p>{means}</p>}
          {asked === 'password' && <Password hint="(at least 12 characters)" isRequired />}
          {asked === 'change' && (
            <>
              <Scopes chosen={person.scopes} />
              <Check label="An owner of the tenant" name="owner" defaultChecked={person.owner} />
            </>
          )}
        </FormDialog>
      )}
    </>
  )
}

function patchOf(asked: Exclude<Asked, 'delete'>, fields: FormData, person: Person): object {
  switch (asked) {
    case 'change': {
      const owner = fields.has('owner')
      return { scopes: checkedOf(fields, 'scopes'), ...(owner !== person.owner && { owner }) }
    }
    case 'password':
      return { password: fields.get('password') }
    case 'second_factor':
      return { second_factor: false }
    case 'deactivate':
      return { status: 'disabled' }
    case 'activate':
      return { status: 'active' }
  }
}
