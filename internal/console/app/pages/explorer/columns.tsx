import { SORT_FIELDS } from '../../../../filters/filter-fields.js'
import { countShown, decimalShown } from '../../../figures/shown.js'
import { confidenceShown } from '../../../figures/trust.js'
import { fieldShown, wordOf } from '../../../figures/words.js'
import type { Tag } from '../../api/use-tags.js'
import type { RecordRow } from '../../card/record.js'
import type { Column } from '../../parts/columns.js'
import { Confidence } from '../../parts/confidence.js'
import { Instant } from '../../parts/instant.js'
import { Name, Party } from '../../parts/name.js'

/** The columns of the explorer, beside that of the time, which is always there. */

export interface CallColumn extends Column<RecordRow> {
  /** May be long: it goes on in the next line before the table becomes wider than the page. */
  readonly isName?: true
  /** What a file has of it, exact: the heads of its columns, and their values. */
  readonly csv: Readonly<Record<string, (row: RecordRow) => string | number | null>>
}

const isSortable = (name: string): boolean => SORT_FIELDS.some((field) => field === name)

/** Members of a record that are texts. */
type TextMember = {
  [M in keyof RecordRow]: RecordRow[M] extends string | null ? M : never
}[keyof RecordRow]

const named = (name: TextMember, isUsual: boolean, title = fieldShown(name)): CallColumn => ({
  name,
  title,
  isUsual,
  isSortable: isSortable(name),
  cell: (row) => <Name>{row[name] ?? '–'}</Name>,
  csv: { [name]: (row) => row[name] },
})

const party = (name: 'service' | 'owner'): CallColumn => ({
  ...named(name, true),
  isName: true,
  cell: (row) => <Party>{row[name]}</Party>,
})

/** Of a closed list. */
const worded = (name: string, title: string, isUsual: boolean, of: (row: RecordRow) => string | null): CallColumn => ({
  name,
  title,
  isUsual,
  isSortable: isSortable(name),
  cell: (row) => wordOf(of(row) ?? '–'),
  csv: { [name]: of },
})

const amount = (name: 'energy_wh' | 'carbon_gco2e', decimals: number): CallColumn => ({
  name,
  title: fieldShown(name),
  isUsual: false,
  isNumber: true,
  isSortable: true,
  cell: (row) => decimalShown(row[name], decimals),
  csv: { [name]: (row) => row[name] },
})

const FOOTPRINT_DECIMALS = 4

/** Of a declared tag. */
const tagged = ({ name, key }: Tag): CallColumn => ({
  name,
  title: fieldShown(name),
  isUsual: false,
  isSortable: false,
  cell: ({ tags }) => <Name>{tags[key] ?? '–'}</Name>,
  csv: { [name]: ({ tags }) => tags[key] ?? null },
})

/**
 * @param decimals of amounts of money, the same for all rows
 * @param tags that the tenant has declared
 */
export const callColumns = (zone: string, decimals: number, tags: readonly Tag[]): readonly CallColumn[] => [
  party('service'),
  party('owner'),
  named('provider', true),
  { ...named('served_model', true), isName: true },
  { ...named('requested_model', false), isName: true },
  {
    name: 'tokens',
    title: 'tokens in, out',
    isUsual: true,
    isNumber: true,
    isSortable: false,
    cell: ({ input_tokens: input, output_tokens: output }) =>
      `${input === null ? '?' : countShown(input)}, ${output === null ? '?' : countShown(output)}`,
    csv: { input_tokens: (row) => row.input_tokens, output_tokens: (row) => row.output_tokens },
  },
  {
    name: 'cost_usd',
    title: 'cost USD',
    isUsual: true,
    isNumber: true,
    isSortable: true,
    cell: (row) => (
      <>
        {row.cost_bound === 'upper' && '≤ '}
        {row.cost_basis === 'unpriced' ? 'no price' : decimalShown(row.cost_usd, decimals)}
      </>
    ),
    csv: { cost_usd: (row) => row.cost_usd, cost_basis: (row) => row.cost_basis, cost_bound: (row) => row.cost_bound },
  },
  amount('energy_wh', FOOTPRINT_DECIMALS),
  amount('carbon_gco2e', FOOTPRINT_DECIMALS),
  {
    name: 'confidence',
    title: 'confidence',
    isUsual: true,
    isSortable: true,
    cell: ({ interpretation: how }) => (
      <>
        {confidenceShown(how.confidence)} <Confidence call={how} />
      </>
    ),
    csv: {
      confidence: ({ interpretation }) => interpretation.confidence,
      confidence_band: ({ interpretation }) => interpretation.confidence_band,
    },
  },
  worded('output_state', 'how', true, (row) => row.output_state),
  worded('evidence_basis', 'evidence', false, (row) => row.interpretation.evidence_basis),
  {
    ...worded('export_eligibility', 'charged back', true, (row) => row.interpretation.export_eligibility),
    cell: ({ interpretation: { export_eligibility: eligibility } }) =>
      eligibility === 'eligible' ? 'yes' : `no: ${wordOf(eligibility)}`,
  },
  worded('outcome', 'ended', false, (row) => row.outcome),
  worded('usage_basis', 'counts are', false, (row) => row.usage_basis),
  worded('pathway_category', 'pathway', false, (row) => row.pathway_category),
  named('trace_id', false, 'trace'),
  {
    ...named('materialized_at', false),
    cell: (row) => <Instant ms={Date.parse(row.materialized_at)} zone={zone} />,
  },
  ...tags.map(tagged),
]
