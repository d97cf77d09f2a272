import { type Directory, namesOf, type ServiceEntry } from '../../directory/directory.js'
import { ownTurn } from '../../process/own-turn.js'
import { COMPARED_MAX, NearestNames } from './nearest.js'

/** Of a tenant: names that are found by what is close to them; some 50 MB. Those of further services are not. */
const NAMES_MAX = 50_000
/** Of all tenants together; those asked for longest ago are forgotten, and read again when asked for. */
const ALL_NAMES_MAX = 100_000
/** Entries that are looked at, and names that are put in or taken out, before others have their turn: a few ms each. */
const ENTRIES_PER_TURN = 5_000
const NAMES_PER_TURN = 200
/** Names that are compared before others have their turn: some 5 ms, of the longest. */
const COMPARED_PER_TURN = 2 * COMPARED_MAX

class Turns {
  private spent = 0

  /** @param work in looks at an entry */
  isOver(work = 1): boolean {
    this.spent += work
    if (this.spent < ENTRIES_PER_TURN) return false
    this.spent = 0
    return true
  }
}

interface Kept {
  readonly names: NearestNames
  /** As they stand in `names`. */
  readonly entries: Map<string, ServiceEntry>
  /** One after the other. */
  following: Promise<void>
}

/** The services that unknown names of a tenant may mean, by its current directory. */
export class NearestServices {
  private readonly directory: Directory
  /** By tenant, the one asked for last at the end. */
  private readonly tenants = new Map<string, Kept>()

  constructor(directory: Directory) {
    this.directory = directory
  }

  /** Only what changed since the last question is read, in slices, so that a large directory holds up nobody. */
  async of(tenantId: string): Promise<NearestNames> {
    const kept = this.tenants.get(tenantId) ?? {
      names: new NearestNames(),
      entries: new Map<string, ServiceEntry>(),
      following: Promise.resolve(),
    }
    this.tenants.delete(tenantId)
    this.tenants.set(tenantId, kept)
    kept.following = kept.following.then(() => this.follow(tenantId, kept))
    await kept.following
    this.forget()
    return kept.names
  }

  private async follow(tenantId: string, { names, entries }: Kept): Promise<void> {
    const turns = new Turns()
    const drop = async (service: string, entry: ServiceEntry): Promise<void> => {
      for (const name of namesOf(entry)) {
        if (turns.isOver(ENTRIES_PER_TURN / NAMES_PER_TURN)) await ownTurn()
        names.delete({ name, service })
      }
      entries.delete(service)
    }
    for (const [name, entry] of entries) {
      if (turns.isOver()) await ownTurn()
      if (this.directory.serviceEntry(tenantId, name) !== entry) await drop(name, entry)
    }
    for (const entry of this.directory.services(tenantId)) {
      if (turns.isOver()) await ownTurn()
      const before = entries.get(entry.name)
      if (before === entry) continue
      // It changed after it was looked at.
      if (before !== undefined) await drop(entry.name, before)
      if (names.size >= NAMES_MAX) continue
      entries.set(entry.name, entry)
      for (const each of namesOf(entry)) {
        if (turns.isOver(ENTRIES_PER_TURN / NAMES_PER_TURN)) await ownTurn()
        names.add({ name: each, service: entry.name })
      }
    }
  }

  private forget(): void {
    let names = 0
    for (const { names: each } of this.tenants.values()) names += each.size
    for (const [tenantId, { names: each }] of this.tenants) {
      if (names <= ALL_NAMES_MAX || this.tenants.size === 1) return
      names -= each.size
      this.tenants.delete(tenantId)
    }
  }
}

/** @returns what is nearest to each name, in their order; of fewer names if the signal is aborted meanwhile */
export async function nearestOfEach(
  nearest: NearestNames,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly (readonly string[])[]> {
  const found: (readonly string[])[] = []
  let comparedMax = 0
  for (const name of names) {
    if (nearest.compared + COMPARED_MAX > comparedMax) {
      await ownTurn()
      comparedMax = nearest.compared + COMPARED_PER_TURN
    }
    if (signal.aborted) break
    found.push(nearest.of(name))
  }
  return found
}
