import { EVENT_CAUSES } from '../../../../events/event-catalogue.js'
import { change } from '../../parts/change.js'
import { Check, Field } from '../../parts/field.js'
import { checkedOf, textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { type Endpoint, WEBHOOKS_PATH, type WithSecret } from './endpoint.js'

interface RegisterProps {
  readonly onClose: () => void
  readonly onRegistered: (registered: WithSecret) => void
}

export function Register({ onClose, onRegistered }: RegisterProps) {
  const send = async (fields: FormData): Promise<void> => {
    const body = { url: textOf(fields, 'url'), events: checkedOf(fields, 'events') }
    onRegistered(await change<WithSecret>('POST', WEBHOOKS_PATH, body))
  }
  return (
    <FormDialog title="Register a webhook" verb="Register it" onClose={onClose} send={send}>
      <Field
        label="Address"
        hint="(https, of a public host)"
        name="url"
        required
        maxLength={2_048}
        placeholder="https://hooks.example.com/attribution"
      />
      <Events chosen={['budget.threshold.crossed']} />
      <p class="muted">
        It gets one event at once, with a challenge to answer: until then it is pending, and gets nothing else.
      </p>
    </FormDialog>
  )
}

interface ChangeProps {
  readonly endpoint: Endpoint
  readonly onClose: () => void
  readonly onChanged: () => void
}

export function ChangeEvents({ endpoint, onClose, onChanged }: ChangeProps) {
  const send = async (fields: FormData): Promise<void> => {
    await change('PATCH', `${WEBHOOKS_PATH}/${endpoint.id}`, { events: checkedOf(fields, 'events') })
    onChanged()
  }
  return (
    <FormDialog title="Events of the webhook" verb="Change the events" onClose={onClose} send={send}>
      <Events chosen={endpoint.events} />
      <p class="muted">The address cannot be changed: register another webhook.</p>
    </FormDialog>
  )
}

const Events = ({ chosen }: { readonly chosen: readonly string[] }) => (
  <fieldset>
    <legend>Events</legend>
    {Object.entries(EVENT_CAUSES).map(([type, words]) => (
      <Check key={type} label={type} hint={words} name="events" value={type} defaultChecked={chosen.includes(type)} />
    ))}
  </fieldset>
)
