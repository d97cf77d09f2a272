import { useState } from 'preact/hooks'
import { instantText } from '../../../figures/days.js'
import { countShown } from '../../../figures/shown.js'
import { wordOf } from '../../../figures/words.js'
import { change } from '../../parts/change.js'
import { Choice, Field } from '../../parts/field.js'
import { textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { Ago, Instant } from '../../parts/instant.js'
import { useDoing } from '../../parts/use-doing.js'
import { Deliveries } from './deliveries.js'
import { type Endpoint, WEBHOOKS_PATH, type WithSecret } from './endpoint.js'
import { ChangeEvents } from './register.js'

interface DetailsProps {
  readonly endpoint: Endpoint
  readonly zone: string
  readonly onChanged: () => void
  readonly onSecret: (secret: string) => void
}

type Asked = 'confirm' | 'events' | 'replay' | 'rotate' | 'remove'

/** One endpoint: its health, what was sent to it, and what can be done about it. */
export function Details({ endpoint, zone, onChanged, onSecret }: DetailsProps) {
  const [open, setOpen] = useState<Asked | undefined>()
  const { doing, outcome, isBusy } = useDoing()
  const path = `${WEBHOOKS_PATH}/${endpoint.id}`
  const close = (): void => setOpen(undefined)
  const challenge = () =>
    doing(async () => {
      await change('POST', `${path}/verify`)
      return 'A new challenge is on its way. It is sent five times within ten minutes, until it is answered.'
    })
  const confirm = async (fields: FormData): Promise<void> => {
    await change('POST', `${path}/verify`, { challenge: textOf(fields, 'challenge') })
    onChanged()
  }
  const replay = (selection: object) =>
    doing(async () => {
      await change('POST', `${path}/replay`, selection)
      return 'Queued. What is sent again says so, and shows in the log below.'
    })
  const rotate = async (): Promise<void> => {
    const { signing_secret: secret } = await change<WithSecret>('POST', `${path}/rotate-secret`)
    onSecret(secret)
    onChanged()
  }
  const remove = async (): Promise<void> => {
    await change('DELETE', path)
    onChanged()
  }
  const buttons: readonly (readonly [string, () => void])[] = [
    ...(endpoint.status === 'pending'
      ? ([
          ['Send a new challenge', () => void challenge()],
          ['Confirm a challenge', () => setOpen('confirm')],
        ] as const)
      : ([['Send events again', () => setOpen('replay')]] as const)),
    ['Change the events', () => setOpen('events')],
    ['Replace the secret', () => setOpen('rotate')],
    ['Remove it', () => setOpen('remove')],
  ]
  return (
    <>
      <Facts endpoint={endpoint} zone={zone} />
      <p class="actions">
        {buttons.map(([words, act]) => (
          <button key={words} type="button" disabled={isBusy} onClick={act}>
            {words}
          </button>
        ))}
      </p>
      {outcome}
      <Deliveries endpoint={endpoint} zone={zone} onReplay={(id) => void replay({ event_id: id })} />
      {open === 'confirm' && (
        <FormDialog title="Confirm a challenge" verb="Confirm it" onClose={close} send={confirm}>
          <p>For a receiver that cannot answer it: it is in the data of the event webhook.verification, in its log.</p>
          <Field label="Challenge" name="challenge" required />
        </FormDialog>
      )}
      {open === 'events' && <ChangeEvents endpoint={endpoint} onClose={close} onChanged={onChanged} />}
      {open === 'replay' && <Replay zone={zone} onClose={close} send={replay} />}
      {open === 'rotate' && (
        <FormDialog title="Replace the signing secret" verb="Replace it" onClose={close} send={rotate}>
          <p>For 24 hours, events are signed with the old secret and the new one.</p>
        </FormDialog>
      )}
      {open === 'remove' && (
        <FormDialog title="Remove the webhook" verb="Remove it" onClose={close} send={remove}>
          <p>Nothing more is sent to it, not even what waits for a retry.</p>
        </FormDialog>
      )}
    </>
  )
}

function Facts({ endpoint: { events, health, ...endpoint }, zone }: Pick<DetailsProps, 'endpoint' | 'zone'>) {
  return (
    <dl class="ledger">
      <dt>events</dt>
      <dd>{events.join(', ')}</dd>
      <dt>health</dt>
      <dd>
        {health.status === 'failing'
          ? `failing: the last ${countShown(health.consecutive_failures)} attempts`
          : wordOf(health.status)}
        {health.last_failure !== null && health.last_failure_at !== null && (
          <>
            , last failure <Ago ms={Date.parse(health.last_failure_at)} />: {wordOf(health.last_failure.reason)}
            {health.last_failure.response_status !== null && ` ${health.last_failure.response_status}`}
          </>
        )}
        {health.last_success_at !== null && (
          <>
            , last success <Ago ms={Date.parse(health.last_success_at)} />
          </>
        )}
      </dd>
      {endpoint.previous_secret_expires_at !== null && (
        <>
          <dt>old secret</dt>
          <dd>
            valid until <Instant ms={Date.parse(endpoint.previous_secret_expires_at)} zone={zone} />
          </dd>
        </>
      )}
    </dl>
  )
}

const WHICH = {
  dead_letters: 'the dead letters: what was given up',
  time: 'everything of a time',
  event: 'one event',
} as const

interface ReplayProps {
  readonly zone: string
  readonly onClose: () => void
  readonly send: (selection: object) => Promise<void>
}

function Replay({ zone, onClose, send }: ReplayProps) {
  const submit = (fields: FormData): Promise<void> => {
    const instant = (name: string): string | undefined => instantText(textOf(fields, name) ?? '', zone)
    switch (fields.get('which') as keyof typeof WHICH) {
      case 'dead_letters':
        return send({ dead_letters: true })
      case 'time':
        return send({ from: instant('from'), to: instant('to') })
      case 'event':
        return send({ event_id: textOf(fields, 'event_id') })
    }
  }
  return (
    <FormDialog title="Send events again" verb="Send them again" onClose={onClose} send={submit}>
      <p>Their ids stay the same: a receiver that has processed one ignores it.</p>
      <Choice label="Which" name="which" choices={WHICH} />
      <div class="pair">
        <Field label="From" hint={`(${zone})`} name="from" type="datetime-local" />
        <Field label="To" hint={`(${zone})`} name="to" type="datetime-local" />
        <Field label="Event" name="event_id" placeholder="evt_…" />
      </div>
    </FormDialog>
  )
}
