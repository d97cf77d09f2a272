import type { PublishEvent } from '../../events/publish-event.js'
import { OTHER_VALUES, pairOf, readPair, TAG_VALUES_MAX } from '../../records/dimensions.js'
import type { AttributionRow } from '../../store/tables/attributions.js'
import type { Logger } from '../../telemetry/log.js'

/**
 * Keeps the distinct values of each declared tag key to a limit: a value past it becomes `OTHER_VALUES`, as do all
 * later values that are new then. The values are those of the read model; this process remembers them besides those
 * that it lets through itself, and reads them again before it lets another one through, since other processes add
 * theirs.
 *
 * The limit protects tables and reports from keys such as request ids. It is exact for one attributor; several may
 * exceed it by what they add within `READ_AGAIN_MS`.
 */
export interface ValueLimitDeps {
  /** The stored pairs of a key. */
  readonly storedPairs: (tenantId: string, foldedKey: string, limit: number) => Promise<readonly string[]>
  /** Tells the tenant that a key has too many values; once a day and key is enough. Must not throw. */
  readonly warn: (tenantId: string, foldedKey: string) => void
  /** Milliseconds, monotonic. */
  readonly clock: () => number
  readonly valuesMax?: number
}

/**
 * Pause before the values of a key are read again for the sake of a new one; of a full key, whose values retention may
 * remove.
 */
const READ_AGAIN_MS = 1_000
const READ_FULL_AGAIN_MS = 10 * 60 * 1_000
/**
 * Pairs remembered over all keys; beyond, the keys that were read first are forgotten, and read again when they are
 * needed.
 */
const PAIRS_MAX = 500_000

interface Known {
  /** Without the pairs that are always let through. */
  pairs: Set<string>
  /** Let through by this process since the pairs were last read, perhaps not stored yet. */
  readonly unstored: Set<string>
  readAt: number
}

export class ValueLimit {
  private readonly known = new Map<string, Known>()
  private readonly deps: ValueLimitDeps
  private readonly valuesMax: number

  constructor(deps: ValueLimitDeps) {
    this.deps = deps
    this.valuesMax = deps.valuesMax ?? TAG_VALUES_MAX
  }

  /**
   * The rows with values past the limit replaced. The same rows, when given again, keep what they were let through
   * with.
   *
   * @throws when the store is unavailable
   */
  async apply(rows: readonly AttributionRow[]): Promise<readonly AttributionRow[]> {
    if (!rows.some(({ dimensions }) => dimensions.length > 0)) return rows
    for (const [name, { tenantId, foldedKey }] of this.unknownKeys(rows)) await this.read(name, tenantId, foldedKey)
    const limited = rows.map((row) => {
      if (row.dimensions.length === 0) return row
      const dimensions = row.dimensions.map((pair) => this.limited(row.tenantId, pair))
      return dimensions.every((pair, i) => pair === row.dimensions[i]) ? row : { ...row, dimensions }
    })
    this.forget()
    return limited
  }

  /** The keys whose values must be read before the rows can be judged. */
  private unknownKeys(rows: readonly AttributionRow[]) {
    const wanted = new Map<string, { readonly tenantId: string; readonly foldedKey: string }>()
    const nowMs = this.deps.clock()
    for (const { tenantId, dimensions } of rows) {
      for (const pair of dimensions) {
        const [foldedKey, value] = readPair(pair)
        if (isReserved(value)) continue
        const name = nameOf(tenantId, foldedKey)
        const known = this.known.get(name)
        if (known?.pairs.has(pair)) continue
        const everyMs = known !== undefined && known.pairs.size >= this.valuesMax ? READ_FULL_AGAIN_MS : READ_AGAIN_MS
        if (known === undefined || nowMs - known.readAt >= everyMs) wanted.set(name, { tenantId, foldedKey })
      }
    }
    return wanted
  }

  private async read(name: string, tenantId: string, foldedKey: string): Promise<void> {
    const readAt = this.deps.clock()
    // Twice as many: several processes may have exceeded the limit, and each value that is stored stays as it is.
    const stored = await this.deps.storedPairs(tenantId, foldedKey, 2 * this.valuesMax)
    const pairs = new Set(stored.filter((pair) => !isReserved(readPair(pair)[1])))
    const unstored = this.known.get(name)?.unstored ?? new Set()
    for (const pair of unstored) {
      if (pairs.has(pair)) unstored.delete(pair)
      else pairs.add(pair)
    }
    this.known.set(name, { pairs, unstored, readAt })
  }

  private limited(tenantId: string, pair: string): string {
    const [foldedKey, value] = readPair(pair)
    if (isReserved(value)) return pair
    const name = nameOf(tenantId, foldedKey)
    const known = this.known.get(name)
    // Read for this batch, so it is there.
    if (known === undefined || known.pairs.has(pair)) return pair
    if (known.pairs.size >= this.valuesMax) {
      this.deps.warn(tenantId, foldedKey)
      return pairOf(foldedKey, OTHER_VALUES)
    }
    known.pairs.add(pair)
    known.unstored.add(pair)
    return pair
  }

  private forget(): void {
    let pairs = 0
    for (const known of this.known.values()) pairs += known.pairs.size
    for (const [name, known] of this.known) {
      if (pairs <= PAIRS_MAX) return
      this.known.delete(name)
      pairs -= known.pairs.size
    }
  }
}

const isReserved = (value: string): boolean => value === '' || value === OTHER_VALUES
const nameOf = (tenantId: string, foldedKey: string): string => `${tenantId} ${foldedKey}`

export interface ValueWarningDeps {
  readonly publishEvent: PublishEvent
  readonly clock: () => number
  readonly log: Logger
}

/** Keys remembered as warned of today; beyond, some are warned of again, which is the same event. */
const WARNED_MAX = 10_000
const DAY_CHARACTERS = 'YYYY-MM-DD'.length

/**
 * Tells a tenant that a tag key has too many values: one event per key and day (UTC), whichever attributor finds it.
 */
export function valueWarning({ publishEvent, clock, log }: ValueWarningDeps): (tenantId: string, key: string) => void {
  const warned = new Set<string>()
  return (tenantId, key) => {
    const day = new Date(clock()).toISOString().slice(0, DAY_CHARACTERS)
    const name = `${tenantId} ${day} ${key}`
    if (warned.has(name)) return
    if (warned.size >= WARNED_MAX) warned.clear()
    warned.add(name)
    log.warn({ tenantId }, 'a declared tag key has too many values; further ones are stored as other values')
    publishEvent({
      tenantId,
      type: 'capacity.warning',
      cause: `tag_values ${day} ${key}`,
      data: { capacity: 'tag_values', subject: key, limit: TAG_VALUES_MAX },
    }).catch((cause: unknown) => {
      warned.delete(name)
      log.warn({ tenantId, err: cause }, 'could not publish a capacity warning; will retry at the next value')
    })
  }
}
