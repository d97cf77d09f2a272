import { z } from 'zod'
import type { FieldError } from '../problems/problem-catalogue.js'
import { isTagField, keyOfTagField, tagFieldOf } from '../records/dimensions.js'
import { type Field, LIST_MAX, type Operator, TEXT_BYTES_MAX } from './filter-fields.js'
import { describeOperand, readOperand } from './operand.js'
import type { Condition } from './parse.js'

/** Filters in a JSON body: the grammar of `filter[<field>][<operator>]=<value>`, with the same fields and meaning. */
export interface StatedFilter {
  readonly field: string
  readonly operator: Operator
  readonly values: readonly string[]
}

export const statedValues = () => z.array(z.string().max(TEXT_BYTES_MAX)).min(1).max(LIST_MAX)

/**
 * @param fields that may be filtered by
 * @param unknownField why another field is refused
 * @returns the filters with values as queries bind them, or where they are invalid
 */
export function readStatedFilters<F extends string>(
  stated: readonly StatedFilter[],
  fields: Readonly<Record<F, Field>>,
  unknownField: string,
): { readonly filters: Condition<F>[]; readonly errors: FieldError[] } {
  const errors: FieldError[] = []
  const filters = stated.map(({ field: name, operator, values }, i): Condition<F> => {
    const field = (isTagField(name) ? tagFieldOf(keyOfTagField(name)) : name) as F
    // Own members only: `constructor` is not a field.
    const found = Object.hasOwn(fields, field) ? fields[field] : undefined
    if (found === undefined) {
      errors.push({ pointer: `/filters/${i}/field`, detail: unknownField })
      return { field, operator, values }
    }
    const { type, operators } = found
    if (!operators.includes(operator)) {
      errors.push({ pointer: `/filters/${i}/operator`, detail: `must be one of ${operators.join(', ')}` })
      return { field, operator, values }
    }
    if (operator !== 'in' && values.length > 1) {
      errors.push({ pointer: `/filters/${i}/values`, detail: `must have one value for ${operator}` })
    }
    // The text to look for may be a fragment that is not a valid value of the field.
    const operand = operator === 'contains' ? ({ kind: 'text' } as const) : type
    const read = values.map((value, j) => {
      const operandText = readOperand(operand, value)
      if (operandText === undefined) {
        errors.push({ pointer: `/filters/${i}/values/${j}`, detail: `must be ${describeOperand(operand)}` })
      }
      return operandText ?? value
    })
    return { field, operator, values: [...new Set(read)] }
  })
  return { filters, errors }
}
