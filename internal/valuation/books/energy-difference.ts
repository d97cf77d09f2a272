import type { Quantity } from '../../units/quantity.js'
import type { EnergyFile, ModelRow } from '../energy/energy-models.js'
import { energyOfRow, isSameRow } from './energy-review.js'
import { tableKey } from './sources/ecologits.js'

/** How one energy table differs from another, for the person who accepts it. */
export interface EnergyDifference {
  readonly added: readonly ChangedRow[]
  readonly changed: readonly ChangedRow[]
  /** Models that EcoLogits no longer lists; their rows stay. */
  readonly dropped: readonly ChangedRow[]
  /** Rows that have become an alias of another model. */
  readonly removed: readonly ChangedRow[]
  readonly aliases: readonly string[]
  /** Other parts of the table that differ, such as `families`: those of a newer release. */
  readonly parts: readonly string[]
}

export interface ChangedRow {
  /** `vendor/model` */
  readonly name: string
  /** Wh of 1,000 output tokens (`energyOfRow`); undefined where the table has no row. */
  readonly before: Quantity<'Wh'> | undefined
  readonly after: Quantity<'Wh'> | undefined
  /** `tps 41 -> 53`, one per member that differs. */
  readonly members: readonly string[]
}

export function energyDifference(before: EnergyFile, after: EnergyFile): EnergyDifference {
  const old = rowsOf(before)
  const now = rowsOf(after)
  const changes = after.models.flatMap((row) => {
    const key = tableKey(row.provider, row.model)
    const was = old.get(key)
    return was !== undefined && isSameRow(was, row) ? [] : [{ was, row, shown: shown(key, was, row) }]
  })
  const isDropped = ({ was, row }: (typeof changes)[number]): boolean =>
    was?.data === undefined && row.data !== undefined
  return {
    added: changes.filter(({ was }) => was === undefined).map(({ shown: row }) => row),
    changed: changes.filter((each) => each.was !== undefined && !isDropped(each)).map(({ shown: row }) => row),
    dropped: changes.filter((each) => each.was !== undefined && isDropped(each)).map(({ shown: row }) => row),
    removed: [...old].filter(([key]) => !now.has(key)).map(([key, row]) => shown(key, row, undefined)),
    aliases: aliasChanges(before, after),
    parts: [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
      (part) => !OTHERWISE_SHOWN.has(part) && partOf(before, part) !== partOf(after, part),
    ),
  }
}

export const isSameTable = ({ added, changed, dropped, removed, aliases, parts }: EnergyDifference): boolean =>
  [added, changed, dropped, removed, aliases, parts].every(({ length }) => length === 0)

/** Rows and aliases are compared one by one; the others change no value. */
const OTHERWISE_SHOWN: ReadonlySet<string> = new Set([
  'models',
  'aliases',
  'as_of',
  'edition',
  'source',
  'title',
  'notes',
])
const partOf = (file: EnergyFile, part: string): string | undefined => JSON.stringify(file[part as keyof EnergyFile])

const rowsOf = ({ models }: EnergyFile): ReadonlyMap<string, ModelRow> =>
  new Map(models.map((row) => [tableKey(row.provider, row.model), row]))

function shown(name: string, was: ModelRow | undefined, row: ModelRow | undefined): ChangedRow {
  const members = COMPARED.flatMap((member) => {
    const [from, to] = [textOf(was?.[member]), textOf(row?.[member])]
    return from === to || was === undefined || row === undefined ? [] : [`${member} ${from} -> ${to}`]
  })
  return { name, before: was && energyOfRow(was), after: row && energyOfRow(row), members }
}

const COMPARED = ['active', 'total', 'tps', 'ttft', 'warnings', 'data'] as const

function textOf(value: string | readonly string[] | undefined): string {
  if (value === undefined || typeof value === 'string') return value ?? 'none'
  return value.length === 2 && value[0] === value[1] ? String(value[0]) : value.join(' to ')
}

function aliasChanges(before: EnergyFile, after: EnergyFile): string[] {
  const old = aliasesOf(before)
  const now = aliasesOf(after)
  return [...new Set([...old.keys(), ...now.keys()])].flatMap((alias) => {
    const [from, to] = [old.get(alias), now.get(alias)]
    return from === to ? [] : [`${alias}: ${from ?? 'none'} -> ${to ?? 'none'}`]
  })
}

const aliasesOf = ({ aliases }: EnergyFile): ReadonlyMap<string, string> =>
  new Map(aliases.map(({ provider, alias, model }) => [tableKey(provider, alias), model.toLowerCase()]))
