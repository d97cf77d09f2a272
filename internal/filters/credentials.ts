import type { Condition } from './parse.js'

/**
 * Conditions on credentials by name as ones by id, which is what records have; several credentials may have one name.
 *
 * @param names of the tenant's credentials, by id
 */
export const byCredentialId = <C extends Condition>(
  conditions: readonly C[],
  names: () => ReadonlyMap<string, string>,
): readonly C[] =>
  conditions.flatMap((condition) => {
    if (condition.field !== 'credential') return [condition]
    const named = [...names()].filter(([, name]) => condition.values.includes(name)).map(([id]) => id)
    const values = [...new Set([...condition.values, ...named])]
    return condition.operator === 'ne'
      ? values.map((value) => ({ ...condition, values: [value] }))
      : [{ ...condition, operator: 'in' as const, values }]
  })
