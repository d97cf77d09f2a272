import { z } from 'zod'
import type { FieldError } from '../problems/catalogue.js'
import { parseInstant } from '../units/instant.js'
import { COLUMN_NAMES, columnsOf, FOCUS_VERSIONS } from './focus/columns.js'

/** What a FOCUS export may be asked for (spec 2.5; design section 8). */

export const FILE_FORMATS = ['csv', 'parquet'] as const
export type FileFormat = (typeof FILE_FORMATS)[number]

/** By what rows are parted, beside calendar month and provider. */
export const GROUPINGS = ['owner', 'service', 'provider', 'served_model', 'day', 'meter'] as const
export type Grouping = (typeof GROUPINGS)[number]
/** Without `group_by`. */
export const DEFAULT_GROUPINGS = ['owner', 'service', 'provider', 'served_model'] as const satisfies readonly Grouping[]

/** Days of a period at most, its last one included. */
export const PERIOD_DAYS_MAX = 366
export const DAY_MS = 24 * 60 * 60 * 1000

const date = (example: string) =>
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a date, YYYY-MM-DD')
    .refine((text) => parseInstant(`${text}T00:00:00Z`) !== undefined, 'must be a day of the calendar')
    .meta({ examples: [example] })

const distinct = <T>(values: readonly T[]): boolean => new Set(values).size === values.length

export const exportBody = z
  .object({
    format: z.literal('focus'),
    period: z
      .object({
        from: date('2026-10-01').meta({ description: 'First day, UTC; not after today.' }),
        to: date('2026-10-31').meta({
          description: `Last day, which is included; at most ${PERIOD_DAYS_MAX} days with the first. After today: the manifest says that the period is not complete.`,
        }),
      })
      .meta({ id: 'ExportPeriod' }),
    group_by: z
      .array(z.enum(GROUPINGS))
      .min(1)
      .max(GROUPINGS.length)
      .refine(distinct, 'must name each only once')
      .nullish()
      .meta({
        description:
          'What rows are parted by, beside calendar month and provider; without it owner, service, provider and ' +
          'served_model. `day` makes daily charge periods. `meter` makes a row for each kind of tokens of calls that ' +
          'the price book has priced, and parts by served_model too.',
      }),
    file_format: z.enum(FILE_FORMATS).nullish().meta({ description: 'csv, packed with gzip, unless told.' }),
    focus_version: z
      .enum(FOCUS_VERSIONS)
      .nullish()
      .meta({ description: '1.4 unless told; 1.2 for tools that still want ProviderName and PublisherName.' }),
    columns: z
      .array(z.enum(COLUMN_NAMES))
      .min(1)
      .refine(distinct, 'must name each only once')
      .nullish()
      .meta({ description: 'Only these, in the order of the standard; all without it.' }),
  })
  .meta({ id: 'NewExport' })
export type ExportBody = z.infer<typeof exportBody>

/** What is exported: everything said, in its canonical order. */
export interface ExportRequest {
  readonly period: { readonly from: string; readonly to: string }
  readonly group_by: readonly Grouping[]
  readonly file_format: FileFormat
  readonly focus_version: (typeof FOCUS_VERSIONS)[number]
  readonly columns: readonly string[]
}

export type ReadRequest =
  | { readonly ok: true; readonly request: ExportRequest }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

/** Judges what no schema can: how the days of the period lie to each other and to today, and columns to the version. */
export function readRequest({ period, ...body }: ExportBody, nowMs: number): ReadRequest {
  const version = body.focus_version ?? '1.4'
  const available = columnsOf(version).map(({ name }) => name)
  const wanted = body.columns ?? available
  const errors: FieldError[] = []
  const refuse = (pointer: string, detail: string): void => void errors.push({ pointer, detail })

  const [fromMs, toMs] = [startOfDay(period.from), startOfDay(period.to)]
  if (fromMs > toMs) refuse('/period/from', 'must not be after to')
  else if (toMs - fromMs >= PERIOD_DAYS_MAX * DAY_MS) {
    refuse('/period/to', `must leave at most ${PERIOD_DAYS_MAX} days in the period`)
  }
  if (fromMs > nowMs) refuse('/period/from', 'must not be after today')
  if (fromMs < 0) refuse('/period/from', 'must not be before 1970')
  if (!wanted.every((name) => available.includes(name))) {
    refuse('/columns', `must name columns that FOCUS ${version} exports have`)
  }
  if (errors.length > 0) return { ok: false, errors }

  const groupings = new Set<Grouping>(body.group_by ?? DEFAULT_GROUPINGS)
  // A price is a model's: rows by meter have one each.
  if (groupings.has('meter')) groupings.add('served_model')
  groupings.add('provider')
  return {
    ok: true,
    request: {
      period,
      group_by: GROUPINGS.filter((grouping) => groupings.has(grouping)),
      file_format: body.file_format ?? 'csv',
      focus_version: version,
      columns: available.filter((name) => wanted.includes(name)),
    },
  }
}

/** Milliseconds since the epoch at which a valid date begins in UTC. */
export const startOfDay = (day: string): number => parseInstant(`${day}T00:00:00Z`) ?? Number.NaN
