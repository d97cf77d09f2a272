import { DIMENSIONS as REPORT_FIELDS } from '../../../../filters/report-dimensions.js'
import { NAMED } from '../../../../records/export-names.js'
import { type Filter, statedFilter } from '../../../figures/filters.js'
import { fieldShown } from '../../../figures/words.js'
import { useTags } from '../../api/use-tags.js'
import { Check, Choice } from '../../parts/field.js'
import { Filters } from '../../parts/filters.js'
import { checkedOf } from '../../parts/form.js'

/** What a FOCUS file is like: asked for by the form of an export and by that of a schedule. */

/** Besides the month and the provider, which every row has. */
const GROUPINGS = [...NAMED.filter((name) => name !== 'provider'), 'day', 'meter']
const AT_FIRST: readonly string[] = ['owner', 'service', 'served_model']

export const FileKind = () => (
  <>
    <Choice label="File" name="file_format" choices={{ csv: 'CSV, compressed', parquet: 'Parquet' }} />
    <Choice label="Version" name="focus_version" choices={{ '1.4': 'FOCUS 1.4', '1.2': 'FOCUS 1.2' }} />
  </>
)

export function RowsOfFile() {
  const tags = useTags() ?? []
  return (
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
  )
}

interface CallsProps {
  readonly filters: readonly Filter[]
  readonly onChange: (filters: readonly Filter[]) => void
}

export const CallsOfFile = (props: CallsProps) => (
  <fieldset>
    <legend>
      Calls in the file <span class="muted">(without a filter: all that may be charged)</span>
    </legend>
    <Filters fields={REPORT_FIELDS} {...props} />
  </fieldset>
)

/** The members of a request that these fields and the filters state. */
export function fileOf(fields: FormData, filters: readonly Filter[]) {
  const groups = checkedOf(fields, 'group_by')
  return {
    format: 'focus',
    group_by: groups.length === 0 ? ['provider'] : groups,
    filters: filters.length === 0 ? null : filters.map(statedFilter),
    file_format: fields.get('file_format'),
    focus_version: fields.get('focus_version'),
  }
}
