import { z } from 'zod'
import type { DimensionName } from '../filters/report-dimensions.js'
import type { FieldError } from '../problems/problem-catalogue.js'
import {
  DIMENSIONS_MAX,
  type Dimension,
  isTagField,
  keyOfTagField,
  type TagField,
  tagFieldOf,
} from '../records/dimensions.js'
import { NAMED } from '../records/export-names.js'
import type { ExportFilter } from '../store/queries/exports/export-records.js'
import { parseInstant } from '../units/instant.js'
import { exportFilters, readExportFilters, undeclared } from './export-filters.js'
import { COLUMN_NAMES, columnsOf, FOCUS_VERSIONS } from './focus/columns.js'

/** The request body of a FOCUS export and its validation. */

export const FILE_FORMATS = ['csv', 'parquet'] as const
export type FileFormat = (typeof FILE_FORMATS)[number]

/** Dimensions that rows can be grouped by, in addition to calendar month and provider. */
export const GROUPINGS = [...NAMED, 'day', 'meter'] as const satisfies readonly (DimensionName | 'day' | 'meter')[]
/** A declared tag key is one, too. */
export type Grouping = (typeof GROUPINGS)[number] | TagField
/** Used when `group_by` is omitted. */
const DEFAULT_GROUPINGS = ['owner', 'service', 'provider', 'served_model'] as const satisfies readonly Grouping[]

/** Maximum number of days in a period, including the last one. */
const PERIOD_DAYS_MAX = 366
export const DAY_MS = 24 * 60 * 60 * 1000

const date = (example: string) =>
  z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/, 'must be a date, YYYY-MM-DD')
    .refine((text) => parseInstant(`${text}T00:00:00Z`) !== undefined, 'must be an existing date')
    .meta({ examples: [example] })

const distinct = <T>(values: readonly T[]): boolean => new Set(values).size === values.length

export const exportBody = z
  .strictObject({
    format: z.literal('focus'),
    period: z
      .strictObject({
        from: date('2026-10-01').meta({ description: 'First day, UTC; not after today.' }),
        to: date('2026-10-31').meta({
          description:
            `Last day, inclusive; a period has at most ${PERIOD_DAYS_MAX} days. If it is after today, the manifest ` +
            'marks the period as incomplete.',
        }),
      })
      .meta({ id: 'ExportPeriod' }),
    group_by: z
      .array(z.union([z.enum(GROUPINGS), z.string().regex(/^tags\./, 'must be a dimension, or tags.<key>')]))
      .min(1)
      .max(GROUPINGS.length + DIMENSIONS_MAX)
      .refine(distinct, 'must name each only once')
      .nullish()
      .meta({
        description:
          'Dimensions that rows are grouped by, in addition to calendar month and provider: those of reports ' +
          'that an eligible record can differ in, and `tags.<key>` of declared tag keys. The coarsest first: a ' +
          'group of too few people is folded into its nearest ancestor with enough, as in reports. Default: ' +
          'owner, service, provider and served_model. `day` gives daily charge periods. `meter` gives one row ' +
          'per kind of token for calls priced by the price book, and implies served_model.',
      }),
    filters: exportFilters().nullish(),
    file_format: z.enum(FILE_FORMATS).nullish().meta({ description: 'Default: csv, compressed with gzip.' }),
    focus_version: z
      .enum(FOCUS_VERSIONS)
      .nullish()
      .meta({ description: 'Default: 1.4. Use 1.2 for tools that still need ProviderName and PublisherName.' }),
    columns: z
      .array(z.enum(COLUMN_NAMES))
      .min(1)
      .refine(distinct, 'must name each only once')
      .nullish()
      .meta({
        description:
          'Columns to include, in the order of the standard. Default: all, but those of dimensions only if rows ' +
          'are grouped by them, and `x_Scope` only with filters.',
      }),
  })
  .meta({ id: 'NewExport' })
export type ExportBody = z.infer<typeof exportBody>

/** A validated request with all defaults filled in. */
export interface ExportRequest {
  readonly period: { readonly from: string; readonly to: string }
  /** The coarsest first. */
  readonly group_by: readonly Grouping[]
  readonly filters: readonly ExportFilter[]
  readonly file_format: FileFormat
  readonly focus_version: (typeof FOCUS_VERSIONS)[number]
  readonly columns: readonly string[]
}

export type ReadRequest =
  | { readonly ok: true; readonly request: ExportRequest }
  | { readonly ok: false; readonly errors: readonly FieldError[] }

/** Keys of tags are compared without their case, as everywhere. */
const groupingOf = (name: string): Grouping => (isTagField(name) ? tagFieldOf(keyOfTagField(name)) : name) as Grouping

/**
 * Validates what the schema cannot: the order of the period's days relative to each other and to today, columns against
 * the version, and tags.
 */
export function readRequest(
  { period, ...body }: ExportBody,
  nowMs: number,
  declared: readonly Pick<Dimension, 'key'>[] = [],
): ReadRequest {
  const version = body.focus_version ?? '1.4'
  const { filters, errors } = readExportFilters(body.filters ?? [], declared)
  const stated = (body.group_by ?? DEFAULT_GROUPINGS).map(groupingOf)
  const groupings = new Set<Grouping>(stated)
  // Prices are per model, so rows by meter need the model.
  if (groupings.has('meter')) groupings.add('served_model')
  groupings.add('provider')
  const columns = columnsOf(version)
  const available = columns.map(({ name }) => name)
  const isUsual = ({ shownWith }: (typeof columns)[number]): boolean =>
    shownWith === undefined ||
    (shownWith === 'filters' ? filters.length > 0 : [...groupings].some((name) => name === shownWith))
  const wanted = body.columns ?? columns.filter(isUsual).map(({ name }) => name)
  const refuse = (pointer: string, detail: string): void => void errors.push({ pointer, detail })

  if (!distinct(stated)) refuse('/group_by', 'must name each only once')
  const known = declared.map(({ key }) => tagFieldOf(key))
  for (const [i, name] of stated.entries()) {
    if (isTagField(name) && !known.includes(name)) refuse(`/group_by/${i}`, undeclared(known))
  }
  const [fromMs, toMs] = [startOfDay(period.from), startOfDay(period.to)]
  if (fromMs > toMs) refuse('/period/from', 'must not be after to')
  else if (toMs - fromMs >= PERIOD_DAYS_MAX * DAY_MS) {
    refuse('/period/to', `must be at most ${PERIOD_DAYS_MAX} days after from, counting both`)
  }
  if (fromMs > nowMs) refuse('/period/from', 'must not be after today')
  if (fromMs < 0) refuse('/period/from', 'must not be before 1970')
  if (!wanted.every((name) => available.includes(name))) {
    refuse('/columns', `must name columns of FOCUS ${version} exports`)
  }
  if (errors.length > 0) return { ok: false, errors }

  return {
    ok: true,
    request: {
      period,
      group_by: [...groupings],
      filters,
      file_format: body.file_format ?? 'csv',
      focus_version: version,
      columns: available.filter((name) => wanted.includes(name)),
    },
  }
}

/** Start of a valid date in UTC, in milliseconds since the epoch. */
export const startOfDay = (day: string): number => parseInstant(`${day}T00:00:00Z`) ?? Number.NaN
