import { idOf } from './fields.js'

/**
 * What the id of a call's event is made of: the id that its source gave it. Where the source states none, or one that
 * callers may choose (`x-request-id`), what it states of the call tells it from others. A repeat states the same.
 *
 * @param stated values as the source sent them, in an order that stays
 */
export function callKey(id: unknown, stated: readonly unknown[], isChosenByCallers = false): string {
  const given = idOf(id)
  if (given !== undefined && !isChosenByCallers) return given
  return [given, ...stated].map((value) => (value === undefined || value === null ? '-' : String(value))).join('\n')
}
