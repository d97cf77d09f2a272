import { z } from 'zod'
import { FILTERS_MAX, OPERATORS, TAG_FIELD, withTags } from '../filters/filter-fields.js'
import { DIMENSION_NAMES, DIMENSIONS, type DimensionName, type GroupField } from '../filters/report-dimensions.js'
import { readStatedFilters, statedValues } from '../filters/stated.js'
import type { FieldError } from '../problems/problem-catalogue.js'
import { type Dimension as Declared, tagFieldOf } from '../records/dimensions.js'
import type { ExportFilter } from '../store/queries/exports/export-records.js'

/**
 * Filters of an export: the grammar of `filter[field][operator]` of reports as JSON, with the same fields and meaning.
 */

const fieldName = () =>
  z.union([z.enum(DIMENSION_NAMES), z.string().regex(/^tags\./, 'must be a dimension, or tags.<key>')])

const operatorsOfDimensions = () =>
  DIMENSION_NAMES.map((name) => `\`${name}\` takes ${DIMENSIONS[name].operators.join(', ')}`).join('; ')

const exportFilter = z
  .strictObject({
    field: fieldName().meta({ description: 'A dimension of reports, or `tags.<key>` of a declared tag key.' }),
    operator: z.enum(OPERATORS).meta({
      description:
        `As in reports: ${operatorsOfDimensions()}; tags take ${TAG_FIELD.operators.join(', ')}. ` +
        '`contains` ignores case, the others do not.',
    }),
    values: statedValues().meta({
      description: 'One value; for `in` one or more, of which a record must have one. Empty: calls without the tag.',
    }),
  })
  .meta({ id: 'ExportFilter', description: 'The JSON form of `filter[<field>][<operator>]=<value>` of reports.' })

export const exportFilters = () =>
  z
    .array(exportFilter)
    .max(FILTERS_MAX)
    .meta({
      description:
        'Only records that match all filters, in the file and in the totals of its manifest. Filters that select ' +
        'fewer people than `min_cohort` are dropped, the last first, until they select enough: the manifest and ' +
        'the job then have `suppressed`, and each row has `x_Scope` parent. Put the filter that matters most ' +
        'first.',
      examples: [[{ field: 'service', operator: 'in', values: ['support-chat', 'search'] }]],
    })
export type StatedFilters = z.infer<ReturnType<typeof exportFilters>>

/** @returns the filters with values as queries bind them, or where they are invalid */
export const readExportFilters = (
  stated: StatedFilters,
  declared: readonly Pick<Declared, 'key'>[],
): { readonly filters: ExportFilter[]; readonly errors: FieldError[] } =>
  readStatedFilters<GroupField>(
    stated,
    withTags<DimensionName>(DIMENSIONS, declared),
    undeclared(declared.map(({ key }) => tagFieldOf(key))),
  )

/** Why a tag is refused. @param known fields of the declared keys */
export const undeclared = (known: readonly string[]): string =>
  known.length === 0
    ? 'must be a dimension; the tenant has declared no tag keys (dimensions of its settings)'
    : `must be a dimension or one of the declared ${known.join(', ')}`

const shownFilter = z.object({
  field: fieldName(),
  operator: z.enum(OPERATORS),
  values: z.array(z.string()),
})

/** In answers: the filters of an export, and which of them were dropped to protect people. */
export const shownFilters = () =>
  z.array(shownFilter).meta({ description: 'The filters of the request, in its order.' })
export const suppressedFilters = () =>
  z
    .object({
      reason: z.literal('cohort_too_small'),
      asked: z.array(shownFilter),
      applied: z.array(shownFilter).meta({ description: 'The filters that the file and its totals obey.' }),
    })
    .meta({
      id: 'SuppressedExportFilters',
      description:
        'Only where the filters select or leave out fewer people than `min_cohort`: some were dropped, the last first, ' +
        'until neither was so. The file is that of the larger group.',
    })

export interface Suppressed {
  readonly reason: 'cohort_too_small'
  readonly asked: ShownFilter[]
  readonly applied: ShownFilter[]
}
type ShownFilter = z.infer<typeof shownFilter>

export const showFilters = (filters: readonly ExportFilter[]): ShownFilter[] =>
  filters.map(({ field, operator, values }) => ({ field, operator, values: [...values] }))

/** @param holding how many of the filters, from the first on, are applied */
export const suppressedOf = (filters: readonly ExportFilter[], holding: number): Suppressed | undefined =>
  holding >= filters.length
    ? undefined
    : { reason: 'cohort_too_small', asked: showFilters(filters), applied: showFilters(filters.slice(0, holding)) }
