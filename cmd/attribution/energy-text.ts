import { formatInstant } from '../../internal/units/instant.js'
import { formatQuantity, type Quantity } from '../../internal/units/quantity.js'
import {
  type ChangedRow,
  type EnergyDifference,
  isSameTable,
} from '../../internal/valuation/books/energy-difference.js'
import { ENERGY_SHOWN_TOKENS } from '../../internal/valuation/books/energy-review.js'
import type { DoubtedRow } from '../../internal/valuation/books/proposals.js'
import type { EnergyFile } from '../../internal/valuation/energy/energy-models.js'
import type { ShownFootprintChanges, ShownFootprintSums } from './footprint-changes.js'
import type { Window } from './tenant-records.js'

/** What a person reads before a yes or a no: how a proposed energy table differs, and what it would change. */
export interface EnergyProposal {
  /** Null when nothing differs: then there is nothing to accept. */
  readonly id: string | null
  readonly before: EnergyFile
  readonly file: EnergyFile
  readonly difference: EnergyDifference
  readonly held: readonly DoubtedRow[]
  readonly effect: ShownFootprintChanges & { readonly period: Window }
}

export function proposalJson({ id, before, file, difference, held, effect }: EnergyProposal) {
  const { added, changed, dropped, removed, aliases, parts } = difference
  const shown = (rows: readonly ChangedRow[]) =>
    rows.map(({ name, before: was, after, members }) => ({
      name,
      wh_before: was === undefined ? null : formatQuantity(was),
      wh_after: after === undefined ? null : formatQuantity(after),
      members,
    }))
  const { period, models, total } = effect
  return {
    proposal: id,
    as_of: file.as_of,
    edition: file.edition ?? null,
    rows: file.models.length,
    compared_with: { as_of: before.as_of, edition: before.edition ?? null, rows: before.models.length },
    wh_of_output_tokens: ENERGY_SHOWN_TOKENS,
    added: shown(added),
    changed: shown(changed),
    dropped: shown(dropped),
    removed: shown(removed),
    aliases,
    parts,
    held,
    period: { from: formatInstant(period.fromMs), to: formatInstant(period.toMs) },
    footprints: models,
    total,
  }
}

export function proposalText({ id, before, file, difference, held, effect }: EnergyProposal): string {
  const { added, changed, dropped, removed, aliases, parts } = difference
  const { period, models, total } = effect
  const lines = [
    `energy table as of ${named(file)}, ${file.models.length} rows; compared with that of ${named(before)}`,
    `${added.length} models added, ${changed.length} changed, ${dropped.length} no longer listed (their rows stay)` +
      `${isSameTable(difference) ? '' : `; Wh per ${ENERGY_SHOWN_TOKENS} output tokens:`}`,
    ...mostFirst(added).map((row) => `  + ${rowText(row)}`),
    ...mostFirst(changed).map((row) => `  ~ ${rowText(row)}`),
    ...dropped.map((row) => `  - ${rowText(row)}`),
    ...section('rows that are an alias of another model now', removed.map(rowText)),
    ...section('aliases', aliases),
    ...section('parts of a newer release', parts),
    ...section(
      'rows held back, their models keep the row in force; accept them with --accept',
      held.map(({ name, doubts }) => `${name}  ${doubts.join(', ')}`),
    ),
    `records from ${formatInstant(period.fromMs)} to ${formatInstant(period.toMs)} whose energy or carbon would ` +
      'differ, had this table computed them:',
    ...models.map((each) => `  ${each.provider}/${each.served_model}: ${sumsText(each)}`),
    `  ${models.length === 0 ? 'none' : `total: ${sumsText(total)}`}`,
    id === null ? 'nothing to accept: no row differs' : `${id}: attribution energy accept ${id}`,
  ]
  return `${lines.join('\n')}\n`
}

const named = ({ as_of: asOf, edition }: EnergyFile): string =>
  edition === undefined ? asOf : `${asOf} (EcoLogits ${edition})`

const section = (title: string, rows: readonly string[]): string[] =>
  rows.length === 0 ? [] : [`${rows.length} ${title}:`, ...rows.map((row) => `  ${row}`)]

function rowText({ name, before, after, members }: ChangedRow): string {
  const amounts = [before, after].flatMap((amount) => (amount === undefined ? [] : [wattHours(amount)]))
  const change = before === undefined || after === undefined || before === after ? '' : ` (${percent(before, after)})`
  const shown = before === after ? amounts.slice(0, 1) : amounts
  return `${name}  ${shown.join(' -> ')}${change}${members.length === 0 ? '' : `: ${members.join(', ')}`}`
}

/** To six decimals, without rounding: for people to compare. */
const wattHours = (amount: Quantity<'Wh'>): string => formatQuantity(amount).replace(/(\.\d{6})\d+$/, '$1')

function percent(before: bigint, after: bigint): string {
  const change = Number(((after - before) * 10_000n) / before) / 100
  return `${change < 0 ? '' : '+'}${change} %`
}

/** The row whose energy changes by the largest factor comes first. */
function mostFirst(rows: readonly ChangedRow[]): readonly ChangedRow[] {
  const factor = ({ before, after }: ChangedRow): number =>
    before === undefined || after === undefined ? 0 : Math.abs(Math.log(Number(after) / Number(before)))
  return [...rows].sort((one, other) => factor(other) - factor(one) || (one.name < other.name ? -1 : 1))
}

const signed = (difference: string): string => (difference.startsWith('-') ? difference : `+${difference}`)

const sumsText = (sums: ShownFootprintSums): string =>
  `${sums.records} records, ${sums.old_energy_wh} -> ${sums.new_energy_wh} Wh (${signed(sums.energy_wh_difference)}), ` +
  `${sums.old_carbon_gco2e} -> ${sums.new_carbon_gco2e} gCO2e (${signed(sums.carbon_gco2e_difference)})` +
  `${sums.newly_known > 0 ? `, ${sums.newly_known} newly known` : ''}` +
  `${sums.newly_unknown > 0 ? `, ${sums.newly_unknown} newly unknown` : ''}`
