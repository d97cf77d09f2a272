import type { ObjectStore } from '@nats-io/obj'
import type { WatchedRecords } from '../../broker/watched-records.js'
import { chosenVersion, type StoredModel } from '../models/model-version.js'

/** Number of newest versions per tenant that keep their artefacts, in addition to those that may have to serve. */
const ARTEFACTS_KEPT = 10
/**
 * Total size of the further artefacts that a tenant keeps: of versions that have served, the newest first, because
 * records cite them and explanations are computed from them on display.
 */
const CITED_BYTES_MAX = 512 * 1024 * 1024
/** Number of versions before the serving one that a recall can fall back to. */
const FALLBACKS = 3
/** Number of versions per tenant that keep their cards: 100 days at four versions per day. */
const CARDS_KEPT = 400
/** A younger artefact without a version may belong to a version that is about to be stored. */
const ORPHAN_MS_MIN = 60 * 60 * 1000

/**
 * The versions to keep, and which of them keep their artefacts.
 *
 * @param versions all versions of one tenant
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
  const newest = versions.toSorted((one, other) => (one.created_at < other.created_at ? 1 : -1))
  const cards = newest.slice(0, CARDS_KEPT)
  let bytes = 0
  const cited = cards.filter(({ promoted_at, artefact }) => {
    if (promoted_at === null || artefact === null) return false
    bytes += artefact.bytes
    return bytes <= CITED_BYTES_MAX
  })
  const idsOf = (some: readonly StoredModel[]): string[] => some.map(({ id }) => id)
  return {
    cards: new Set([...serving, ...idsOf(cards)]),
    artefacts: new Set([...serving, ...idsOf(newest.slice(0, ARTEFACTS_KEPT)), ...idsOf(cited)]),
  }
}

/**
 * Removes old versions and artefacts of a tenant. A version is marked as having no artefact before its artefact is
 * deleted, so that it is never chosen to serve without one.
 */
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

/** Removes the artefacts of trainers that died before they stored the version. */
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
