import { useState } from 'preact/hooks'
import { DIMENSIONS as REPORT_FIELDS } from '../../../../filters/report-dimensions.js'
import { NAMED } from '../../../../records/export-names.js'
import { lastMonth } from '../../../figures/days.js'
import { type Filter, statedFilter } from '../../../figures/filters.js'
import { fieldShown } from '../../../figures/words.js'
import { useTags } from '../../api/use-tags.js'
import { change } from '../../parts/change.js'
import { Check, Choice, Field } from '../../parts/field.js'
import { Filters } from '../../parts/filters.js'
import { checkedOf, Form, textOf } from '../../parts/form.js'

/** Besides the month and the provider, which every row has. */
const GROUPINGS = [...NAMED.filter((name) => name !== 'provider'), 'day', 'meter']
const AT_FIRST: readonly string[] = ['owner', 'service', 'served_model']
const FORMATS = { csv: 'CSV, compressed', parquet: 'Parquet' }
const VERSIONS = { '1.4': 'FOCUS 1.4', '1.2': 'FOCUS 1.2' }

/** A form for a new export. */
export function Create({ onCreated }: { readonly onCreated: () => void }) {
  const [filters, setFilters] = useState<readonly Filter[]>([])
  const tags = useTags() ?? []
  const [first, last] = lastMonth(Date.now())
  const send = async (fields: FormData): Promise<void> => {
    const groups = checkedOf(fields, 'group_by')
    await change('POST', '/v1/exports/focus', {
      format: 'focus',
      period: { from: textOf(fields, 'from'), to: textOf(fields, 'to') },
      group_by: groups.length === 0 ? ['provider'] : groups,
      filters: filters.length === 0 ? null : filters.map(statedFilter),
      file_format: fields.get('file_format'),
      focus_version: fields.get('focus_version'),
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
      <Filters fields={REPORT_FIELDS} filters={filters} onChange={setFilters} />
      <Form verb="Create the export" send={send}>
        <div class="pair">
          <Field label="From" name="from" type="date" required defaultValue={first} />
          <Field label="To" hint="(included)" name="to" type="date" required defaultValue={last} />
          <Choice label="File" name="file_format" choices={FORMATS} />
          <Choice label="Version" name="focus_version" choices={VERSIONS} />
        </div>
        <fieldset>
          <legend>
            A row for each month, provider, and <span class="muted">(the coarsest first)</span>
          </legend>
          <div class="checks">
            {[...GROUPINGS, ...tags.map(({ name }) => name)].map((name) => (
              <Check
                key={name}
                label={name === 'meter' ? 'kind of token' : fieldShown(name)}
                name="group_by"
                value={name}
                defaultChecked={AT_FIRST.includes(name)}
              />
            ))}
          </div>
        </fieldset>
      </Form>
    </section>
  )
}
