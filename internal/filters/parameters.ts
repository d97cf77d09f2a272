import { z } from 'zod'
import { FILTER_FIELDS, type Field, LIST_MAX, type Operator, SORT_FIELDS, withTagPattern } from './filter-fields.js'
import { describeOperand } from './operand.js'
import { DEFAULT_SORT, formatSort } from './parse.js'

/** The filter and sort grammar as query parameters of the OpenAPI document. */

const ASKS: Readonly<Record<Operator, string>> = {
  eq: 'Equal to',
  ne: 'Not equal to',
  gt: 'Greater than',
  gte: 'Greater than or equal to',
  lt: 'Less than',
  lte: 'Less than or equal to',
  in: 'Equal to any value of a list',
  contains: 'Contains this text; case is ignored, unlike with `eq`, `ne` and `in`',
}

const LIST =
  `At most ${LIST_MAX} comma-separated values; write a comma within a value as \`\\,\` and a backslash before ` +
  'a comma or backslash as `\\\\`.'

/** The parameters by which a collection with these fields is filtered. */
export const filterParameters = (fields: Readonly<Record<string, Field>>): Readonly<Record<string, z.ZodType>> =>
  Object.fromEntries(
    Object.entries(fields).flatMap(([name, { type, operators, description, example }]) =>
      operators.map((operator) => {
        const operand = operator === 'contains' ? ({ kind: 'text' } as const) : type
        const each = describeOperand(operand)
        const accepted = operator === 'in' ? `${LIST} Each is ${each}.` : `The value is ${each}.`
        const schema = z
          .string()
          .optional()
          .meta({ description: `${description} ${ASKS[operator]}. ${accepted}`, examples: [example] })
        return [`filter[${name}][${operator}]`, schema]
      }),
    ),
  )

export const FILTER_PARAMETERS = filterParameters(withTagPattern(FILTER_FIELDS))

export const SORT_PARAMETER: Readonly<Record<string, z.ZodType>> = {
  sort: z
    .enum(SORT_FIELDS.flatMap((field) => [field, `-${field}`] as const))
    .optional()
    .meta({
      description:
        'Ascending, or descending with the prefix `-`. Records with equal values are sorted by `id` in the ' +
        'same direction.',
      default: formatSort(DEFAULT_SORT),
    }),
}

/** Rules that all filter parameters share, for the description of an operation. */
export const FILTERS_DESCRIPTION =
  'Filters have the form `filter[<field>][<operator>]=<value>`, percent-encoded. They may repeat; a record ' +
  'must match all of them. Amounts are compared exactly. `limit`, `sort` and `cursor` must not repeat; ' +
  'unknown parameters are rejected. The problem names the parameter in `errors`.'
