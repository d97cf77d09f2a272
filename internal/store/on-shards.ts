/**
 * A statement that changes or removes rows, for a cluster: a Distributed table refuses it, so that it goes to the
 * shards' own tables. Its subqueries read those too, which hold all rows of a tenant. Inserts and schema statements
 * stay as they are.
 */
export function changeOnShards(statement: string, cluster: string): string {
  const [head, verb, table] =
    /^\s*(DELETE FROM|OPTIMIZE TABLE|ALTER TABLE) (\w+)\b(?! ON CLUSTER)/.exec(statement) ?? []
  if (head === undefined || table === undefined) return statement
  const rest = statement.slice(head.length).replaceAll(/\bFROM (\w+)\b(?!\()/g, 'FROM $1_local')
  return `${verb} ${table}_local ON CLUSTER ${quoted(cluster)}${rest}`
}

/** A name as an identifier. */
export const quoted = (name: string): string => `\`${name.replaceAll('\\', '\\\\').replaceAll('`', '\\`')}\``
