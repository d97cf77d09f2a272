import { isTagField } from '../../../records/dimensions.js'
import { hasScope } from '../session/session.js'
import { readUsage } from './usage.js'
import { useAnswer } from './use-answer.js'

/** Names of calls of the last 30 days, the most expensive first; none where the person may not read them. */
export function useNames(dimension: string): readonly string[] {
  const isNamed = (NAMED.includes(dimension) || isTagField(dimension)) && hasScope('read:reporting')
  const { value } = useAnswer(isNamed ? dimension : '', (signal) => readNames(dimension, signal))
  return isNamed ? (value ?? []) : []
}

/** The same for who has the scope `read:reporting`: 200 at most. */
export async function readNames(dimension: string, signal: AbortSignal): Promise<readonly string[]> {
  const { rows } = await readUsage({ group_by: dimension, sort: '-cost_usd' }, signal)
  return rows.flatMap((row) => (typeof row[dimension] === 'string' && !row.folded ? [row[dimension]] : []))
}

const NAMED: readonly string[] = ['service', 'owner', 'provider', 'served_model', 'requested_model', 'region', 'pool']
