import { readFile, stat } from 'node:fs/promises'
import { InvalidArgumentError, Option } from 'commander'
import { ConfigError } from '../../internal/config/settings.js'
import { formatInstant, parseInstant } from '../../internal/units/instant.js'
import type { Window } from './tenant-records.js'

/** What commands on price books and energy tables have in common. */

export function readInstant(text: string): string {
  const instant = parseInstant(text)
  if (instant === undefined) throw new InvalidArgumentError('It must be a time such as 2026-12-01T00:00:00Z.')
  return formatInstant(instant)
}

export function readDay(text: string): string {
  const isDay = /^\d{4}-\d\d-\d\d$/.test(text) && !Number.isNaN(Date.parse(`${text}T00:00:00Z`))
  if (!isDay) throw new InvalidArgumentError('It must be a day, YYYY-MM-DD.')
  return text
}

export const effectiveFromOption = (): Option =>
  new Option(
    '--effective-from <time>',
    'when the book comes into force, RFC 3339 in UTC. Default: the as_of date of the book',
  ).argParser(readInstant)

const collect = (row: string, rows: readonly string[]): readonly string[] => [...rows, row.toLowerCase()]

export const acceptOption = (): Option =>
  new Option('--accept <row>', 'accept this row (provider/model) although it looks wrong; may be repeated')
    .argParser(collect)
    .default([])

export const yesOption = (): Option => new Option('--yes', 'do not ask')

const DEFAULT_PERIOD_MS = 30 * 24 * 60 * 60 * 1000

export interface PeriodOptions {
  readonly from?: string
  readonly to?: string
}

/** The period of records that a book is tried on. Default: 30 days until now. */
export function readPeriod({ from, to }: PeriodOptions): Window {
  const toMs = to === undefined ? Date.now() : Date.parse(to)
  const fromMs = from === undefined ? toMs - DEFAULT_PERIOD_MS : Date.parse(from)
  if (fromMs >= toMs) throw new ConfigError('--from must be before --to')
  return { fromMs, toMs }
}

/** @throws ConfigError when the file is larger than such a file can be */
export async function readBounded(path: string, bytesMax: number, what: string): Promise<string> {
  if ((await stat(path)).size > bytesMax) throw new ConfigError(`${path} is too large for ${what}`)
  return readFile(path, 'utf8')
}
