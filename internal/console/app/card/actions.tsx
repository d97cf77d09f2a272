import { useState } from 'preact/hooks'
import { addressOf } from '../../figures/address.js'
import { change, messageOf } from '../parts/change.js'
import { Field } from '../parts/field.js'
import { FormDialog } from '../parts/form-dialog.js'
import { hasScope } from '../session/session.js'
import type { Explained } from './record.js'

interface ActionsProps {
  readonly record: Explained
  readonly onChanged: () => void
}

/** What a person can do about a record. Each can be undone. */
export function Actions({ record, onChanged }: ActionsProps) {
  const [open, setOpen] = useState<'override' | 'dispute' | undefined>()
  const [said, setSaid] = useState('')
  const isOverridden = record.interpretation.evidence_basis === 'manual_override'
  const isDisputed = record.interpretation.export_eligibility === 'disputed'
  const send = async (what: 'override' | 'dispute', body?: object): Promise<void> => {
    const path = `/v1/attribution/${record.id}/${what}`
    const answer = await change<{ readonly status?: string } | undefined>(
      body === undefined ? 'DELETE' : 'POST',
      path,
      body,
    )
    setSaid(answer?.status === 'queued' ? 'Stored; it takes effect soon.' : 'Done.')
    setOpen(undefined)
    onChanged()
  }
  const undo = (what: 'override' | 'dispute') => (): void => {
    send(what).catch((cause: unknown) => setSaid(messageOf(cause)))
  }
  const copy = async (): Promise<void> => {
    const address = addressOf('explorer', new URLSearchParams({ record: record.id }))
    await navigator.clipboard.writeText(location.origin + address)
    setSaid('The link is in the clipboard.')
  }
  const mayChange = hasScope('admin:config')
  return (
    <footer class="actions">
      {mayChange && (
        <>
          {isOverridden ? (
            <button type="button" onClick={undo('override')}>
              Undo the override
            </button>
          ) : (
            <button type="button" onClick={() => setOpen('override')}>
              Give it to …
            </button>
          )}
          {isDisputed ? (
            <button type="button" onClick={undo('dispute')}>
              Withdraw the dispute
            </button>
          ) : (
            <button type="button" onClick={() => setOpen('dispute')}>
              Dispute
            </button>
          )}
        </>
      )}
      <button type="button" class="quiet" onClick={() => void copy()}>
        Copy link
      </button>
      <span role="status">{said}</span>
      {open === 'override' && (
        <OverrideForm record={record} onClose={() => setOpen(undefined)} send={(body) => send('override', body)} />
      )}
      {open === 'dispute' && <DisputeForm onClose={() => setOpen(undefined)} send={(body) => send('dispute', body)} />}
    </footer>
  )
}

interface FormProps {
  readonly onClose: () => void
  readonly send: (body: object) => Promise<void>
}

const Reason = () => <Field label="Why" hint="(shown with the record; no text of the call)" name="reason" required />

function OverrideForm({ record, onClose, send }: FormProps & { readonly record: Explained }) {
  const [service, setService] = useState('')
  const suggested = record.explanation.suggested_services
  return (
    <FormDialog
      title="Give the call to another service"
      verb={service === '' ? 'Give it' : `Give it to ${service}`}
      onClose={onClose}
      send={(fields) =>
        send(Object.fromEntries(['service', 'owner', 'reason'].map((name) => [name, fields.get(name)])))
      }
    >
      <label>
        Service
        <input
          name="service"
          required
          maxLength={256}
          list="services"
          value={service}
          onInput={({ currentTarget }) => setService(currentTarget.value)}
        />
      </label>
      <datalist id="services">
        {suggested.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <Field label="Owner" name="owner" required />
      <Reason />
    </FormDialog>
  )
}

const DisputeForm = ({ onClose, send }: FormProps) => (
  <FormDialog
    title="Dispute the record"
    verb="Dispute it"
    onClose={onClose}
    send={(fields) => send({ reason: fields.get('reason') })}
  >
    <p>It keeps its service and owner, and is not charged back until the dispute is withdrawn.</p>
    <Reason />
  </FormDialog>
)
