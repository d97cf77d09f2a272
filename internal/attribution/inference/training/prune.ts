import type { ObjectStore } from '@nats-io/obj'
import type { WatchedRecords } from '../../../broker/watched-records.js'
import { chosenVersion, type StoredModel } from '../models/version.js'

/** Versions of a tenant whose artefacts are kept, the newest ones, beside those that may have to serve. */
const ARTEFACTS_KEPT = 10
/** Versions before the one that serves that a recall can fall back to. */
const FALLBACKS = 3
/** Versions of a tenant whose cards are kept: of a hundred days, at four a day. */
const CARDS_KEPT = 400
/** An artefact that no version names is perhaps about to be named. */
const ORPHAN_MS_MIN = 60 * 60 * 1000

/**
 * Which versions stay, and which of them with their artefacts.
 *
 * @param versions of one tenant
 */
export function keptVersions(versions: readonly StoredModel[]): {
  readonly cards: ReadonlySet<string>
  readonly artefacts: ReadonlySet<string>
} {
  const serving: string[] = []
  for (let rest = versions; serving.length <= FALLBACKS; ) {
    const next = chosenVersion(rest)
    if (next === undefined) break
    serving.push(next.id)
    rest = rest.map((version) => (version.id === next.id ? { ...version, recalled_at: version.created_at } : version))
  }
  const newest = versions.toSorted((one, other) => (one.created_at < other.created_at ? 1 : -1)).map(({ id }) => id)
  return {
    cards: new Set([...serving, ...newest.slice(0, CARDS_KEPT)]),
    artefacts: new Set([...serving, ...newest.slice(0, ARTEFACTS_KEPT)]),
  }
}

/** Removes what is not to be kept of a tenant. A version whose artefact is gone can no longer serve, and says so first. */
export async function prune(
  tenantId: string,
  models: WatchedRecords<StoredModel>,
  artefacts: ObjectStore,
): Promise<void> {
  const versions = [...models.of(tenantId)]
  const kept = keptVersions(versions)
  for (const { id, artefact } of versions) {
    if (kept.artefacts.has(id) || artefact === null) continue
    await models.change(id, (version) => (version.artefact === null ? undefined : { ...version, artefact: null }))
    await artefacts.delete(artefact.object)
  }
  for (const { id } of versions) if (!kept.cards.has(id)) await models.delete(id)
}

/** Removes artefacts that trainers have left behind which died before they could name them. */
export async function removeOrphans(
  models: WatchedRecords<StoredModel>,
  artefacts: ObjectStore,
  nowMs: number,
): Promise<number> {
  let removed = 0
  for (const { name, mtime } of await artefacts.list()) {
    const isNamed = (await models.read(name.split('.')[0] ?? ''))?.artefact?.object === name
    if (isNamed || nowMs - Date.parse(mtime) < ORPHAN_MS_MIN) continue
    await artefacts.delete(name)
    removed++
  }
  return removed
}
