import { z } from 'zod'
import { FIELDS, type Field, LIST_MAX, type Operator, SORT_FIELDS } from './fields.js'
import { describeOperand } from './operand.js'
import { DEFAULT_SORT, formatSort } from './parse.js'

/** The grammar as parameters of an operation, for its description. */

const ASKS: Readonly<Record<Operator, string>> = {
  eq: 'Equal to',
  ne: 'Other than',
  gt: 'Greater than',
  gte: 'Greater than or equal to',
  lt: 'Less than',
  lte: 'Less than or equal to',
  in: 'Any of a list',
  contains: 'With this text within, in the same case',
}

const LIST = `At most ${LIST_MAX}, parted by commas; a comma within a value is \`\\,\` and a backslash before either \`\\\\\`.`

export const FILTER_PARAMETERS: Readonly<Record<string, z.ZodType>> = Object.fromEntries(
  Object.entries(FIELDS).flatMap(([name, { type, operators, description, example }]: [string, Field]) =>
    operators.map((operator) => {
      const operand = operator === 'contains' ? ({ kind: 'text' } as const) : type
      const taken =
        operator === 'in' ? `${LIST} Each is ${describeOperand(operand)}.` : `The value is ${describeOperand(operand)}.`
      const schema = z
        .string()
        .optional()
        .meta({ description: `${description} ${ASKS[operator]}. ${taken}`, examples: [example] })
      return [`filter[${name}][${operator}]`, schema]
    }),
  ),
)

export const SORT_PARAMETER: Readonly<Record<string, z.ZodType>> = {
  sort: z
    .enum(SORT_FIELDS.flatMap((field) => [field, `-${field}`] as const))
    .optional()
    .meta({
      description: 'Ascending, or with `-` descending; records with equal values by `id` in the same direction.',
      default: formatSort(DEFAULT_SORT),
    }),
}

/** What the parameters have in common, for an operation's description. */
export const FILTERS_DESCRIPTION =
  'Filters are written `filter[<field>][<operator>]=<value>`, percent-encoded. They may repeat, and all of them must hold. ' +
  'Amounts are compared exactly. `limit`, `sort` and `cursor` may not repeat; an unknown parameter is refused. A refusal ' +
  'points to the parameter in `errors`.'
