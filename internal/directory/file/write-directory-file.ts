import { csvField, neutralised } from '../../text/csv.js'
import { DIRECTORY_KINDS, type DirectoryKind } from '../entries.js'
import type { EntriesOf } from '../entry-index.js'
import { COLUMNS, type Pause, SEPARATOR } from './read-directory-file.js'

/** Writes a tenant's directory in the form that an import reads: importing it changes nothing. */

export type AllEntries = { readonly [K in DirectoryKind]: readonly EntriesOf[K][] }

/** An entry as a file states it. When a change was stated is not part of it: the import knows it from the entry. */
export function statedFields<K extends DirectoryKind>(kind: K, entry: EntriesOf[K]): Readonly<Record<string, unknown>> {
  switch (kind) {
    case 'services': {
      const { name, owner, aliases, changes } = entry as EntriesOf['services']
      return {
        name,
        owner,
        ...(aliases && { aliases }),
        ...(changes && { changes: changes.map(({ stated_at: _, ...change }) => change) }),
      }
    }
    case 'identities': {
      const { name, owner, service, is_workload } = entry as EntriesOf['identities']
      return { name, owner, service, is_workload }
    }
    case 'principals': {
      const { id, service, exclusive } = entry as EntriesOf['principals']
      return { principal_id: id, service, exclusive }
    }
    default: {
      const { name, pathway, is_discovery_only } = entry as EntriesOf['sources']
      return { name, pathway, is_discovery_only }
    }
  }
}

/** One entry per line, so that two exports can be compared line by line. */
export async function jsonFile(entries: AllEntries, pause: Pause): Promise<string> {
  const lists: string[] = []
  for (const kind of DIRECTORY_KINDS) {
    const lines = await linesOf(kind, entries, pause, (entry) => `    ${JSON.stringify(statedFields(kind, entry))}`)
    lists.push(`  "${kind}": [${lines.length === 0 ? '' : `\n${lines.join(',\n')}\n  `}]`)
  }
  return `{\n${lists.join(',\n')}\n}\n`
}

export async function csvFile(entries: AllEntries, pause: Pause): Promise<string> {
  const lines = [COLUMNS.join(',')]
  for (const kind of DIRECTORY_KINDS) {
    for (const line of await linesOf(kind, entries, pause, (entry) => lineOf(kind, entry))) lines.push(line)
  }
  return [...lines, ''].join('\r\n')
}

const ENTRIES_AT_ONCE = 1_000

async function linesOf<K extends DirectoryKind>(
  kind: K,
  entries: AllEntries,
  pause: Pause,
  write: (entry: EntriesOf[K]) => string,
): Promise<string[]> {
  const lines: string[] = []
  for (const entry of entries[kind]) {
    if (lines.length % ENTRIES_AT_ONCE === ENTRIES_AT_ONCE - 1) await pause()
    lines.push(write(entry))
  }
  return lines
}

function lineOf<K extends DirectoryKind>(kind: K, entry: EntriesOf[K]): string {
  const fields = statedFields(kind, entry)
  const stated = (column: (typeof COLUMNS)[number]): unknown =>
    column === 'kind' ? kind : column === 'name' ? (fields['name'] ?? fields['principal_id']) : fields[column]
  return COLUMNS.map((column) => csvField(neutralised(cellOf(stated(column))))).join(',')
}

/** A value as a cell of a CSV file. */
export function cellOf(value: unknown): string {
  if (value === undefined) return ''
  if (typeof value === 'string') return value
  if (!Array.isArray(value)) return String(value)
  const isPlain = value.every(
    (each) => typeof each === 'string' && !each.includes(SEPARATOR) && each.trim() === each && !each.startsWith('['),
  )
  return isPlain ? value.join(SEPARATOR) : JSON.stringify(value)
}
