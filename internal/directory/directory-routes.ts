import { z } from 'zod'
import type { Records } from '../broker/records.js'
import { containing } from '../filters/contains.js'
import { CONTAINS_PARAMETER } from '../http/contract/page.js'
import { pageOf, pageOfSorted } from '../http/resource/collection.js'
import { type Collection, type ResourceDeps, resource } from '../http/resource/resource.js'
import type { Route } from '../http/route.js'
import { directoryKey } from './directory-key.js'
import { type DirectoryKind, ENTRIES_MAX } from './entries.js'
import { ENTRY_PREFIXES, type EntriesOf, entryId } from './entry-index.js'
import { type EntryKind, IDENTITIES, type Known, PRINCIPALS, SERVICES, SOURCES } from './kinds.js'
import type { OpenDirectory } from './open-directory.js'

export interface DirectoryRoutesDeps extends OpenDirectory, ResourceDeps, Pick<Known, 'isPool'> {}

/**
 * `/api/v1/directory/{services,identities,principals,sources}`: what a tenant declares about itself, for the facts
 * stage.
 */
export const directoryRoutes = (deps: DirectoryRoutesDeps): readonly Route[] => [
  ...routesOf(SERVICES, deps),
  ...routesOf(IDENTITIES, deps),
  ...routesOf(PRINCIPALS, deps),
  ...routesOf(SOURCES, deps),
]

function routesOf<K extends DirectoryKind, F, C>(kind: EntryKind<K, F, C>, deps: DirectoryRoutesDeps) {
  const { clock } = deps
  const { stamp = (entry) => entry } = kind
  return resource(
    {
      ...kind,
      path: `/api/v1/directory/${kind.kind}`,
      prefix: ENTRY_PREFIXES[kind.kind],
      tag: 'Directory',
      stepUp: 'delete',
      order: 'by name',
      filters: {
        [kind.nameField]: z.string().optional().meta({ description: 'Only the entry with this name.' }),
        ...CONTAINS_PARAMETER,
      },
      descriptions: {
        list: kind.description,
        create: `${kind.description} Applies to events attributed after this request.`,
        update: `\`null\` clears an optional field. \`${kind.nameField}\` cannot be changed.`,
        delete: 'Existing records are unchanged.',
      },
      problems: { create: kind.refusals, update: ['CONFLICT'] },
      actions: { create: 'directory.put', delete: 'directory.delete' },
      max: ENTRIES_MAX[kind.kind],
      update: {
        action: 'directory.put',
        apply: (entry: EntriesOf[K], changes: C) => stamp(kind.change(entry, changes), entry, clock()),
      },
      collection: entryCollection(kind, deps),
      make(fields, tenantId) {
        const record = stamp(kind.make(fields), undefined, clock())
        const name = kind.nameOf(record)
        const id = entryId(kind.kind, name, deps.idsOf(tenantId))
        return { id, key: directoryKey(tenantId, kind.kind, name), record }
      },
      duplicate: `The directory already contains this ${kind.word.toLowerCase()}.`,
      refuse: (tenantId, entry) => kind.refuse(tenantId, entry, deps),
      show: (entry, id) => kind.show(id, entry, clock()),
    },
    deps,
  )
}

/** Entries are keyed by name and shown by id, so that the way from an id to a key goes through the copy in memory. */
function entryCollection<K extends DirectoryKind, F, C>(
  { kind, nameField, nameOf }: EntryKind<K, F, C>,
  { recordsOf, entries, idsOf }: DirectoryRoutesDeps,
): Collection<EntriesOf[K]> {
  const { createOnce, change, delete: remove }: Records<EntriesOf[K]> = recordsOf[kind]
  return {
    createOnce,
    change,
    delete: remove,
    keyOf(tenantId, id) {
      const entry = entries.of(tenantId, kind).get(id)
      return entry && directoryKey(tenantId, kind, nameOf(entry))
    },
    get: (tenantId, id) => entries.of(tenantId, kind).get(id),
    countOf: (tenantId) => entries.of(tenantId, kind).size,
    page(request, tenantId, show) {
      const all = entries.of(tenantId, kind)
      const { [nameField]: name, contains = '' } = request.filters
      const isNamed = containing(contains)
      const isWanted = (entry: EntriesOf[K]): boolean => isNamed(nameOf(entry))
      if (name === undefined) {
        const showRow = ([id, entry]: readonly [string, EntriesOf[K]]) => show(entry, id)
        return pageOfSorted(request, all.sorted, 'ascending', showRow, ([, entry]) => isWanted(entry))
      }
      const id = entryId(kind, name, idsOf(tenantId))
      const entry = all.get(id)
      return pageOf(
        request,
        entry === undefined || !isWanted(entry) || request.after !== undefined ? [] : [entry],
        () => [name, id],
        (found) => show(found, id),
      )
    },
  }
}
