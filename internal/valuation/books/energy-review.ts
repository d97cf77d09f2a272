import type { Quantity } from '../../units/quantity.js'
import { meanForm } from '../energy/closed-form.js'
import type { EnergyFile, ModelRow } from '../energy/energy-models.js'
import type { DoubtedRow } from './proposals.js'
import { type EcologitsRows, tableKey, tableRow, type UncheckedRow } from './sources/ecologits.js'

/**
 * Merges the rows of a new edition of EcoLogits onto the energy table in force, and keeps wrong rows out of it.
 *
 * What EcoLogits does not have stays ours: operators, families, constants. A model that it no longer lists stays, too,
 * marked with the last edition that listed it: calls of it still come in, and old ones stay explained.
 */
export type EnergyDoubt =
  /** Parameters of 0 or less, or beyond any model; tokens per second of 0 or less; a delay below 0. Never accepted. */
  | 'not_a_quantity'
  /** A minimum above its maximum. Never accepted. */
  | 'range_reversed'
  /** Below 1e7 or above 2e13 parameters. */
  | 'parameters_out_of_bounds'
  | 'active_above_total'
  /** Below 0.5 or above 5,000 tokens per second. */
  | 'speed_out_of_bounds'
  /** More than two minutes to the first token. */
  | 'delay_out_of_bounds'
  /** The energy of a call changes by more than a factor of five. */
  | 'jump'

export interface EnergyReview {
  /** The table to propose. */
  readonly file: EnergyFile
  /** Rows with doubts: their models keep their row in force, if any. */
  readonly held: readonly DoubtedRow[]
}

export interface Edition {
  /** The day from which calls are computed by the table, unless the person who accepts it says otherwise. */
  readonly asOf: string
  /** Such as `0.11.3`. */
  readonly edition?: string | undefined
  /** Where the rows are from, for an auditor. */
  readonly source: string
}

const NEVER_ACCEPTED: ReadonlySet<EnergyDoubt> = new Set(['not_a_quantity', 'range_reversed'])
const JUMP = 5n

/** @param accepted names of rows (`vendor/model`) that a person has accepted in spite of their doubts */
export function reviewTable(
  rows: EcologitsRows,
  inForce: EnergyFile,
  { asOf, edition, source }: Edition,
  accepted: ReadonlySet<string>,
): EnergyReview {
  const held: DoubtedRow[] = []
  const before = rowsByName(inForce)
  const heldNames = new Set<string>()
  const taken = new Map<string, ModelRow>()
  for (const row of rows.models) {
    const key = tableKey(row.provider, row.model)
    const doubts = doubtsOf(row, before.get(key))
    const isHeld = doubts.some((doubt) => NEVER_ACCEPTED.has(doubt)) || (doubts.length > 0 && !accepted.has(key))
    if (isHeld) {
      held.push({ name: key, doubts })
      heldNames.add(key)
    } else taken.set(key, tableRow(row))
  }
  const lastEdition = inForce.edition ?? inForce.as_of
  const renamed = new Set(
    rows.aliases
      .map(({ provider, alias, model }) => ({ key: tableKey(provider, alias), target: tableKey(provider, model) }))
      .filter(({ target }) => taken.has(target) || before.has(target))
      .map(({ key }) => key),
  )
  const kept = inForce.models.flatMap((row) => {
    const key = tableKey(row.provider, row.model)
    const now = taken.get(key)
    taken.delete(key)
    if (now !== undefined) return [isSameRow(row, now) ? row : now]
    if (heldNames.has(key)) return [row]
    return renamed.has(key) ? [] : [{ ...row, data: row.data ?? lastEdition }]
  })
  const models = [...kept, ...taken.values()]
  return {
    file: {
      ...inForce,
      as_of: asOf,
      ...(edition !== undefined && { edition }),
      source: { ...inForce.source, models: source },
      aliases: aliasesOf(rows, inForce, models),
      models,
    },
    held,
  }
}

/** Rows by every name that they are found by. */
const rowsByName = ({ models, aliases }: EnergyFile): ReadonlyMap<string, ModelRow> => {
  const rows = new Map(models.map((row) => [tableKey(row.provider, row.model), row]))
  for (const { provider, alias, model } of aliases) {
    const row = rows.get(tableKey(provider, model))
    if (row !== undefined && !rows.has(tableKey(provider, alias))) rows.set(tableKey(provider, alias), row)
  }
  return rows
}

/**
 * The table in force, upon what a newer release of the product has: its operators, families, constants and rows, which
 * the imported table hides.
 */
export function uponRelease(inForce: EnergyFile, release: EnergyFile): EnergyFile {
  if (release.as_of <= inForce.as_of) return inForce
  const names = new Set(release.models.map(({ provider, model }) => tableKey(provider, model)))
  const models = [
    ...release.models,
    ...inForce.models.filter(({ provider, model }) => !names.has(tableKey(provider, model))),
  ]
  return { ...release, models, aliases: aliasesOf(release, inForce, models) }
}

/** Those of the newer one; then those in force that it does not have. An alias of a name that has a row is never used. */
function aliasesOf(
  rows: Pick<EnergyFile, 'aliases'>,
  inForce: EnergyFile,
  models: readonly ModelRow[],
): EnergyFile['aliases'] {
  const names = new Set(models.map(({ provider, model }) => tableKey(provider, model)))
  const aliases = new Map(
    [...inForce.aliases, ...rows.aliases].map((each) => [tableKey(each.provider, each.alias), each] as const),
  )
  return [...aliases.values()].filter(
    ({ provider, alias, model }) => names.has(tableKey(provider, model)) && !names.has(tableKey(provider, alias)),
  )
}

/** What a row computes, and what is shown of it: where it is from may differ. */
export const isSameRow = (one: ModelRow, other: ModelRow): boolean => computedBy(one) === computedBy(other)

const computedBy = ({ active, total, tps, ttft, warnings, data }: ModelRow): string =>
  JSON.stringify([active, total, tps, ttft, warnings ?? [], data])

function doubtsOf(row: UncheckedRow, before: ModelRow | undefined): EnergyDoubt[] {
  const { active, total, tps, ttft } = row
  const counts = [...active, ...total]
  const isReversed = active[0] > active[1] || total[0] > total[1]
  const isNone = (amount: number): boolean => !(amount >= 1e-6 && amount <= 1e9)
  if (counts.some(isNone) || (tps !== undefined && isNone(tps)) || (ttft !== undefined && isNoDelay(ttft))) {
    return ['not_a_quantity']
  }
  if (isReversed) return ['range_reversed']
  const doubts: EnergyDoubt[] = []
  if (counts.some((billions) => billions < 0.01 || billions > 20_000)) doubts.push('parameters_out_of_bounds')
  if (active[0] > total[0] || active[1] > total[1]) doubts.push('active_above_total')
  if (tps !== undefined && (tps < 0.5 || tps > 5_000)) doubts.push('speed_out_of_bounds')
  if (ttft !== undefined && ttft > 120) doubts.push('delay_out_of_bounds')
  if (before !== undefined && isJump(energyOfRow(before), energyOfRow(tableRow(row)))) doubts.push('jump')
  return doubts
}

const isNoDelay = (seconds: number): boolean => seconds !== 0 && !(seconds >= 1e-6 && seconds <= 1e9)

const isJump = (was: bigint, is: bigint): boolean => is > was * JUMP || was > is * JUMP

/** Of so many output tokens, with the modelled duration, without the overhead of a data centre. */
export const ENERGY_SHOWN_TOKENS = 1_000

/** By which rows are compared. */
export const energyOfRow = ({ active, total, tps, ttft }: ModelRow): Quantity<'Wh'> =>
  meanForm({
    activeB: active,
    totalB: total,
    tokensPerSecond: tps,
    firstTokenS: ttft,
    pue: ['1', '1'],
  }).energyWh(ENERGY_SHOWN_TOKENS, undefined)
