import { useState } from 'preact/hooks'
import type { Filter } from '../../../figures/filters.js'
import { change } from '../../parts/change.js'
import { Dialog } from '../../parts/dialog.js'
import { Check, Choice, Field } from '../../parts/field.js'
import { Form, textOf } from '../../parts/form.js'
import { FormDialog } from '../../parts/form-dialog.js'
import { CallsOfFile, FileKind, fileOf, RowsOfFile } from '../exports/file-fields.js'
import { CADENCES, SCHEDULES_PATH, type Schedule } from './schedule.js'

interface FormProps {
  readonly onClose: () => void
  readonly onSaved: () => void
}

/** A new schedule: its columns and filters stay as they are from then on. */
export function AddSchedule({ onClose, onSaved }: FormProps) {
  const [filters, setFilters] = useState<readonly Filter[]>([])
  const send = async (fields: FormData): Promise<void> => {
    await change('POST', SCHEDULES_PATH, {
      name: textOf(fields, 'name'),
      cadence: fields.get('cadence'),
      ...fileOf(fields, filters),
      destination: destinationOf(fields),
    })
    onSaved()
    onClose()
  }
  return (
    <Dialog title="A new schedule" onClose={onClose}>
      <p class="muted">
        Some hours after each day or month has ended (UTC), its file is written to your bucket, then its manifest. When
        records of it change, it is delivered again as a new revision, at most once per day.
      </p>
      <Form verb="Add the schedule" send={send} onLeave={onClose}>
        <div class="pair">
          <Field label="Name" name="name" required placeholder="For the FinOps lake" />
          <Choice label="A file for" name="cadence" choices={CADENCES} />
          <FileKind />
        </div>
        <RowsOfFile />
        <CallsOfFile filters={filters} onChange={setFilters} />
        <Destination of={undefined} />
      </Form>
    </Dialog>
  )
}

/** Another bucket, or another key of it: the secret is stated anew, since nobody can read the one before. */
export const MoveSchedule = ({ schedule, onClose, onSaved }: FormProps & { readonly schedule: Schedule }) => (
  <FormDialog
    title={`Where ${schedule.name} goes`}
    verb="Deliver there"
    onClose={onClose}
    send={async (fields) => {
      await change('PATCH', `${SCHEDULES_PATH}/${schedule.id}`, { destination: destinationOf(fields) })
      onSaved()
    }}
  >
    <Destination of={schedule.destination} />
    <p class="muted">What is in the bucket before stays there. In another one, revisions start at 1.</p>
  </FormDialog>
)

const Destination = ({ of }: { readonly of: Schedule['destination'] | undefined }) => (
  <fieldset>
    <legend>The bucket</legend>
    <div class="pair">
      <Field label="Bucket" name="bucket" required defaultValue={of?.bucket} placeholder="acme-finops" />
      <Field label="Region" name="region" required defaultValue={of?.region} placeholder="eu-central-1" />
      <Field label="Prefix" hint="(none)" name="prefix" defaultValue={of?.prefix} placeholder="chargeback" />
      <Field label="Endpoint" hint="(AWS S3)" name="endpoint" defaultValue={of?.endpoint} />
      <Field label="Access key id" name="access_key_id" required defaultValue={of?.access_key_id} />
      <Field label="Secret access key" name="secret_access_key" type="password" required />
    </div>
    <Check
      label="The bucket is in the path of addresses"
      hint="as of MinIO"
      name="path_style"
      defaultChecked={of?.path_style === true}
    />
  </fieldset>
)

const destinationOf = (fields: FormData): object => ({
  bucket: textOf(fields, 'bucket'),
  region: textOf(fields, 'region'),
  prefix: textOf(fields, 'prefix') ?? null,
  endpoint: textOf(fields, 'endpoint') ?? null,
  access_key_id: textOf(fields, 'access_key_id'),
  secret_access_key: fields.get('secret_access_key'),
  path_style: fields.has('path_style'),
})
