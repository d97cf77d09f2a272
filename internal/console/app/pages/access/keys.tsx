import { useState } from 'preact/hooks'
import { startOfDayText } from '../../../figures/days.js'
import { layersShown } from '../../../figures/layers.js'
import { namesOf } from '../../../figures/names.js'
import { KEYS_PATH, type Key } from '../../api/keys.js'
import { useList } from '../../api/use-list.js'
import { change } from '../../parts/change.js'
import { Does } from '../../parts/does.js'
import { Choice, Field } from '../../parts/field.js'
import { checkedOf, textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Ago, Instant } from '../../parts/instant.js'
import { ListSection } from '../../parts/list-section.js'
import { Name } from '../../parts/name.js'
import { Secret } from '../../parts/secret.js'
import { limitsOf } from './credential.js'
import { Scopes, Trusts, trustsOf } from './fields.js'

type Open = { readonly what: 'create' } | { readonly what: 'rotate' | 'revoke'; readonly key: Key }

const HEAD = ['key', 'status', 'scopes', 'sends', 'last used', 'expires', 'created', '']

/** Keys of programs: created, replaced and revoked. */
export function Keys({ zone }: { readonly zone: string }) {
  const list = useList<Key>(KEYS_PATH)
  const [open, setOpen] = useState<Open | undefined>()
  const [secret, setSecret] = useState<string | undefined>()
  const close = (): void => setOpen(undefined)
  const showSecret = (created: { readonly secret: string }): void => {
    setSecret(created.secret)
    list.answer.reload()
  }
  return (
    <>
      <ListSection
        title="API keys"
        what="the keys"
        about="For programs: sent as X-API-Key. The service keeps no secret, and shows each only once."
        actions={
          <Does name="key" onDo={() => setOpen({ what: 'create' })}>
            Create a key
          </Does>
        }
        list={list}
        head={HEAD}
        empty="None yet."
        row={(key) => <Row key={key.id} shown={key} zone={zone} onAct={(what) => setOpen({ what, key })} />}
      />
      {open?.what === 'create' && <Create zone={zone} onClose={close} onCreated={showSecret} />}
      {open?.what === 'rotate' && <Rotate shown={open.key} onClose={close} onCreated={showSecret} />}
      {open?.what === 'revoke' && (
        <FormDialog
          title={`Revoke ${open.key.name}`}
          verb="Revoke it"
          onClose={close}
          send={async () => {
            await change('DELETE', `${KEYS_PATH}/${open.key.id}`)
            list.answer.reload()
          }}
        >
          <p>Whatever uses it is refused at once, and for good. What it has sent stays.</p>
        </FormDialog>
      )}
      {secret !== undefined && (
        <Secret
          title="The new key"
          secret={secret}
          about="Put it where the program reads its secrets."
          onClose={() => setSecret(undefined)}
        />
      )}
    </>
  )
}

interface RowProps {
  readonly shown: Key
  readonly zone: string
  readonly onAct: (what: 'rotate' | 'revoke') => void
}

function Row({ shown: key, zone, onAct }: RowProps) {
  const limits = limitsOf(key)
  return (
    <tr class={key.status === 'active' ? undefined : 'apart'}>
      <th scope="row">
        <Name>{key.name}</Name> <span class="muted of-key">…{key.last_four}</span>
      </th>
      <td>{key.status}</td>
      <td class="wide">{key.scopes.join(', ')}</td>
      <td class="wide">{[layersShown(key.ingestion_layers), ...limits].join('; ')}</td>
      <td>{key.last_used_at === null ? 'never' : <Ago ms={Date.parse(key.last_used_at)} />}</td>
      <td>{key.expires_at === null ? 'never' : <Instant ms={Date.parse(key.expires_at)} zone={zone} />}</td>
      <td>
        <Instant ms={Date.parse(key.created_at)} zone={zone} />
      </td>
      <td>
        {key.status === 'active' && (
          <>
            <button type="button" class="quiet" onClick={() => onAct('rotate')}>
              Replace
            </button>
            <button type="button" class="quiet" onClick={() => onAct('revoke')}>
              Revoke
            </button>
          </>
        )}
      </td>
    </tr>
  )
}

interface CreateProps {
  readonly onClose: () => void
  readonly onCreated: (created: { readonly secret: string }) => void
}

const SENDS = { all: 'calls of every layer', none: 'no calls', some: 'calls of these layers:' } as const

function Create({ zone, onClose, onCreated }: CreateProps & { readonly zone: string }) {
  const send = async (fields: FormData): Promise<void> => {
    const layers = { all: null, none: [], some: namesOf(textOf(fields, 'layers') ?? '') }
    const endsOn = textOf(fields, 'expires')
    onCreated(
      await change('POST', KEYS_PATH, {
        name: textOf(fields, 'name'),
        scopes: checkedOf(fields, 'scopes'),
        ingestion_layers: layers[fields.get('sends') as keyof typeof SENDS],
        ...(endsOn !== undefined && { expires_at: startOfDayText(endsOn, zone) }),
        ...trustsOf(fields),
      }),
    )
  }
  return (
    <FormDialog title="Create a key" verb="Create it" onClose={onClose} send={send}>
      <Field label="Name" hint="(of the program that has it)" name="name" required placeholder="Nightly export" />
      <Scopes />
      <div class="pair">
        <Choice label="May send" name="sends" choices={SENDS} />
        <Field label="Layers" name="layers" placeholder="gateway, proxy" />
      </div>
      <Trusts />
      <Field label="Ends on" hint="(else as late as the tenant allows)" name="expires" type="date" />
    </FormDialog>
  )
}

const OVERLAPS = { '0': 'at once', '3600': 'in an hour', '86400': 'in 24 hours' } as const

function Rotate({ shown: key, onClose, onCreated }: CreateProps & { readonly shown: Key }) {
  const send = async (fields: FormData): Promise<void> =>
    onCreated(await change('POST', `${KEYS_PATH}/${key.id}/rotate`, { overlap_seconds: Number(fields.get('overlap')) }))
  return (
    <FormDialog title={`Replace ${key.name}`} verb="Replace it" onClose={onClose} send={send}>
      <p>A new key with the same scopes and the same end takes its place.</p>
      <Choice label="The old one ends" name="overlap" choices={OVERLAPS} defaultValue="3600" />
    </FormDialog>
  )
}
