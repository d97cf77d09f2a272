import type { AuditRecord } from 'attribution-service/sdk/api'

/** Names in place of ids in the audit log. */

type Names = ReadonlyMap<string, string>

/** Members of a configuration that name it. */
const NAMING = ['name', 'username', 'origin', 'text', 'model', 'sender', 'principal_id'] as const

/** Names of what entries changed, as they state them; as later ones state them, where a name has changed. */
export function statedNames(
  entries: readonly Pick<AuditRecord, 'sequence' | 'target' | 'changes'>[],
  actors: Names,
): Names {
  const inOrder = [...entries].sort((one, other) => one.sequence - other.sequence)
  return new Map(
    inOrder.flatMap(({ target, changes }) => {
      const name = nameIn(changes?.after) ?? nameIn(changes?.before)
      return target === null || name === undefined ? [] : [[target, actors.get(name) ?? name] as const]
    }),
  )
}

function nameIn(configuration: unknown): string | undefined {
  if (typeof configuration !== 'object' || configuration === null) return undefined
  const members = configuration as Readonly<Record<string, unknown>>
  return NAMING.map((member) => members[member]).find((value) => typeof value === 'string')
}

/** Actors as one types them: by name, where only one has it. */
export function typedActors(actors: Names): Names {
  const names = [...actors.values()]
  const isShared = (name: string): boolean => names.indexOf(name) !== names.lastIndexOf(name)
  return new Map([...actors].map(([id, name]) => [id, isShared(name) ? id : name]))
}
