import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { comparableName } from '../../text/comparable-name.js'
import { expectedForm } from '../../text/expected-form.js'
import { type IdentityEntry, namesOfIdentity, WatchedDirectory } from '../directory.js'
import { directoryKey } from '../directory-key.js'
import { DIRECTORY_KINDS, type DirectoryKind, ENTRIES_MAX } from '../entries.js'
import type { EntriesOf } from '../entry-index.js'
import { type EntryKind, IDENTITIES, type Known, PRINCIPALS, SERVICES, SOURCES } from '../kinds.js'
import type { BadRow, FileRow, Pause, Place } from './read-directory-file.js'
import type { AllEntries } from './write-directory-file.js'

/** What a file changes in a tenant's directory. Pure but for yielding: a hundred thousand rows take seconds. */

export type Entry = EntriesOf[DirectoryKind]

/** An entry that is added, changed (it was `before`), or removed (there is none `after`). */
export interface Change extends Place {
  readonly kind: DirectoryKind
  readonly name: string
  readonly before: Entry | undefined
  readonly after: Entry | undefined
}

export interface Refusal extends Place {
  readonly kind: DirectoryKind | null
  readonly reason: string
}

export interface Plan {
  readonly adds: readonly Change[]
  readonly changes: readonly Change[]
  readonly removals: readonly Change[]
  readonly refusals: readonly Refusal[]
  readonly unchanged: number
  /** Entries there are of the kinds that the file has. */
  readonly there: number
}

export interface PlanDeps extends Pick<Known, 'isPool' | 'idsOf'> {
  readonly nowMs: number
  /** Whether entries that the file does not have stay. */
  readonly keepsMissing: boolean
  readonly pause: Pause
}

// biome-ignore lint/suspicious/noExplicitAny: each kind is only used with entries of its own
const KINDS: Readonly<Record<DirectoryKind, EntryKind<any, any, any>>> = {
  services: SERVICES,
  identities: IDENTITIES,
  principals: PRINCIPALS,
  sources: SOURCES,
}
const ROWS_AT_ONCE = 500

/**
 * A file is the whole of each kind that it has: entries of these kinds that it does not name are removed, unless they
 * are kept, or are identities of SCIM's: it alone says who has left. A line that is refused leaves the entry of its name
 * as it is; if that entry cannot be determined, nothing is removed.
 */
export async function planImport(
  tenantId: string,
  current: AllEntries,
  rows: readonly FileRow[],
  bad: readonly BadRow[],
  deps: PlanDeps,
): Promise<Plan> {
  const refusals: Refusal[] = bad.map(({ kind, line, pointer, reason }) => ({ kind, line, pointer, reason }))
  const changed: Change[] = []
  let unchanged = 0
  let there = 0
  const removals: Change[] = []
  const keepsMissing = deps.keepsMissing || bad.some(({ kind, name }) => kind === null || name === null)
  for (const kind of DIRECTORY_KINDS) {
    const ofKind = rows.filter((row) => row.kind === kind)
    if (ofKind.length === 0) continue
    const named = bad.flatMap((row) => (row.kind === kind && row.name !== null ? [row.name] : []))
    const planned = await planKind(tenantId, kind, current[kind], ofKind, named, { ...deps, keepsMissing })
    refusals.push(...planned.refusals)
    changed.push(...planned.changed)
    removals.push(...planned.removals)
    unchanged += planned.unchanged
    there += current[kind].length
  }
  return {
    adds: changed.filter(({ before }) => before === undefined),
    changes: changed.filter(({ before }) => before !== undefined),
    removals,
    refusals,
    unchanged,
    there,
  }
}

async function planKind(
  tenantId: string,
  kind: DirectoryKind,
  entries: readonly Entry[],
  rows: readonly FileRow[],
  unreadable: readonly string[],
  deps: PlanDeps,
) {
  const rules = KINDS[kind]
  const before = new Map(entries.map((entry) => [rules.nameOf(entry) as string, entry]))
  const stated = await readRows(rows, rules, before, deps)
  for (const name of unreadable) {
    stated.refusedNames.add(name)
    stated.names.add(name)
  }
  const refusals = [...stated.refusals]
  const refuse = (row: Stated, reason: string): void => {
    stated.entries.delete(row.name)
    refusals.push({ kind, line: row.line, pointer: row.pointer, reason })
  }
  // What stays besides: all else, or only that whose line was refused, and SCIM's.
  const stays = [...before].filter(
    ([name, entry]) =>
      !stated.entries.has(name) && (deps.keepsMissing || stated.refusedNames.has(name) || isOfScim(kind, entry)),
  )
  if (kind === 'services') await refuseServices(tenantId, stated.entries, stays, before, refuse, deps)
  if (kind === 'principals') {
    for (const row of [...stated.entries.values()]) {
      const refusal = PRINCIPALS.refuse(tenantId, row.entry as EntriesOf['principals'], knownOf(NO_DIRECTORY, deps))
      if (refusal !== undefined) refuse(row, refusal.detail)
    }
  }
  let free = ENTRIES_MAX[kind] - stays.length
  const changed: Change[] = []
  let unchanged = 0
  for (const [i, row] of [...stated.entries.values()].entries()) {
    if (i % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await deps.pause()
    if (free <= 0) {
      refuse(row, `there may be at most ${ENTRIES_MAX[kind]} ${kind}`)
      continue
    }
    free--
    const was = before.get(row.name)
    if (was !== undefined && isDeepStrictEqual(was, row.entry)) unchanged++
    else {
      const { line, pointer, name } = row
      changed.push({ kind, line, pointer, name, before: was, after: row.entry })
    }
  }
  const isLeft = (name: string): boolean => !stated.entries.has(name) && !stated.names.has(name)
  const removals = deps.keepsMissing
    ? []
    : [...before].flatMap(([name, was]): Change[] =>
        isLeft(name) && !isOfScim(kind, was)
          ? [{ kind, line: null, pointer: null, name, before: was, after: undefined }]
          : [],
      )
  return { changed, removals, refusals, unchanged }
}

/** Whether SCIM has stated something of an entry. */
function isOfScim(kind: DirectoryKind, entry: Entry): boolean {
  if (kind !== 'identities') return false
  const { inactive, external_id, groups, renamed } = entry as IdentityEntry
  return [inactive, external_id, groups, renamed].some((stated) => stated !== undefined)
}

/** SCIM's identities by all of their names, which are compared without case. */
const scimNames = (kind: DirectoryKind, before: ReadonlyMap<string, Entry>): ReadonlyMap<string, string> =>
  new Map(
    [...before].flatMap(([name, entry]) =>
      isOfScim(kind, entry)
        ? namesOfIdentity(entry as IdentityEntry).map((each): [string, string] => [comparableName(each), name])
        : [],
    ),
  )

interface Stated extends Place {
  readonly name: string
  readonly entry: Entry
}

/** The entries that the rows state, by name, each as it would be stored. */
async function readRows(
  rows: readonly FileRow[],
  // biome-ignore lint/suspicious/noExplicitAny: as above
  rules: EntryKind<any, any, any>,
  before: ReadonlyMap<string, Entry>,
  { nowMs, pause }: PlanDeps,
) {
  const entries = new Map<string, Stated>()
  const refusals: Refusal[] = []
  const refusedNames = new Set<string>()
  const names = new Set<string>()
  const ofScim = scimNames(rules.kind, before)
  for (const [i, { kind, line, pointer, fields }] of rows.entries()) {
    if (i % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await pause()
    const refuse = (reason: string): void => void refusals.push({ kind, line, pointer, reason })
    const read = (rules.fields as z.ZodType).safeParse(fields, { error: expectedForm })
    if (!read.success) {
      const name = fields[rules.nameField]
      if (typeof name === 'string') {
        refusedNames.add(name)
        names.add(name)
      }
      refuse(reasonOf(read.error))
      continue
    }
    const stated = rules.make(read.data) as Entry
    const called = rules.nameOf(stated) as string
    // A person of SCIM's in another spelling, or by a later name, is still that person.
    const name = before.has(called) || 'is_workload' in stated ? called : (ofScim.get(comparableName(called)) ?? called)
    const made = name === called ? stated : ({ ...stated, name } as Entry)
    names.add(name)
    if (entries.has(name)) {
      refuse('has the name of an entry above')
      continue
    }
    const was = before.get(name)
    const entry = (rules.stamp?.(made, was, nowMs) ?? made) as Entry
    entries.set(name, { line, pointer, name, entry })
  }
  return { entries, refusals, refusedNames, names }
}

/** Names the fields and the rules, never a value. */
const reasonOf = ({ issues }: z.ZodError): string =>
  [
    ...new Set(
      issues.map((issue) =>
        issue.code === 'unrecognized_keys'
          ? 'has a field that is unknown'
          : `${issue.path.join('/') || 'the entry'}: ${issue.message}`,
      ),
    ),
  ]
    .slice(0, REASONS_MAX)
    .join('; ')
const REASONS_MAX = 3

const NO_DIRECTORY = new WatchedDirectory()
const knownOf = (directory: WatchedDirectory, { isPool, idsOf }: PlanDeps): Known => ({ directory, isPool, idsOf })

/** Names are taken in the order of the lines; merges are judged when all names are known. */
async function refuseServices(
  tenantId: string,
  entries: ReadonlyMap<string, Stated>,
  stays: readonly (readonly [name: string, entry: Entry])[],
  before: ReadonlyMap<string, Entry>,
  refuse: (row: Stated, reason: string) => void,
  deps: PlanDeps,
): Promise<void> {
  const directory = new WatchedDirectory()
  const put = (name: string, entry: Entry | undefined): void =>
    directory.apply(directoryKey(tenantId, 'services', name), entry)
  for (const [name, entry] of stays) put(name, entry)
  const known = knownOf(directory, deps)
  const withoutMerge = ({ changes, ...service }: EntriesOf['services']) => ({
    ...service,
    ...(changes && { changes: changes.filter(({ merged_into }) => merged_into === undefined) }),
  })
  for (const [i, row] of [...entries.values()].entries()) {
    if (i % ROWS_AT_ONCE === ROWS_AT_ONCE - 1) await deps.pause()
    const refusal = SERVICES.refuse(tenantId, withoutMerge(row.entry as EntriesOf['services']), known)
    put(row.name, refusal === undefined ? row.entry : before.get(row.name))
    if (refusal !== undefined) refuse(row, refusal.detail)
  }
  for (const row of [...entries.values()]) {
    const refusal = SERVICES.refuse(tenantId, row.entry as EntriesOf['services'], known)
    if (refusal === undefined) continue
    put(row.name, before.get(row.name))
    refuse(row, refusal.detail)
  }
}
