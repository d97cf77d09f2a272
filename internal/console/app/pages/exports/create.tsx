import { useState } from 'preact/hooks'
import { lastMonth } from '../../../figures/days.js'
import type { Filter } from '../../../figures/filters.js'
import { change } from '../../parts/change.js'
import { Field } from '../../parts/field.js'
import { Form, textOf } from '../../parts/form.js'
import { CallsOfFile, FileKind, fileOf, RowsOfFile } from './file-fields.js'

/** A form for a new export. */
export function Create({ onCreated }: { readonly onCreated: () => void }) {
  const [filters, setFilters] = useState<readonly Filter[]>([])
  const [first, last] = lastMonth(Date.now())
  const send = async (fields: FormData): Promise<void> => {
    await change('POST', '/v1/exports/focus', {
      period: { from: textOf(fields, 'from'), to: textOf(fields, 'to') },
      ...fileOf(fields, filters),
    })
    onCreated()
  }
  return (
    <section class="list create" aria-label="New export">
      <header>
        <h2>A new export</h2>
        <p class="muted">
          A FOCUS file of the calls that may be charged back. Small groups are in it together, and its manifest lists
          what was excluded, and why.
        </p>
      </header>
      <Form verb="Create the export" send={send}>
        <div class="pair">
          <Field label="From" name="from" type="date" required defaultValue={first} />
          <Field label="To" hint="(included)" name="to" type="date" required defaultValue={last} />
          <FileKind />
        </div>
        <RowsOfFile />
        <CallsOfFile filters={filters} onChange={setFilters} />
      </Form>
    </section>
  )
}
