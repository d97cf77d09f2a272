import {
  type Bucket,
  DIRECTORY,
  ENERGY_TABLE_FILES,
  ENERGY_TABLES,
  MAPPING_RULES,
  POOLS,
  TENANTS,
  USAGE_CONVENTIONS,
} from '../../streams/buckets.js'
import { settingsOf, type Tenant, type TenantSettings } from '../auth/tenant.js'
import type { Broker } from '../broker/connect.js'
import { type Mirror, mirrorBucket } from '../broker/mirror.js'
import { followMirrorLag } from '../broker/mirror-lag.js'
import { WatchedDirectory } from '../directory/directory.js'
import { WatchedRules } from '../directory/mapping/mapping-policy.js'
import type { StoredRule } from '../directory/mapping/mapping-rule.js'
import type { Logger } from '../telemetry/log.js'
import { followBookAges } from '../valuation/books/book-age.js'
import { DatedBooks, followBooks } from '../valuation/books/dated-books.js'
import { consumptionRules } from '../valuation/consumption.js'
import type { StoredConvention } from '../valuation/conventions/convention.js'
import { WatchedConventions } from '../valuation/conventions/watched-conventions.js'
import type { EnergyFile } from '../valuation/energy/energy-models.js'
import { type FootprintTables, loadFootprintTables, withEnergyTable } from '../valuation/energy/footprint.js'
import { type OpenPrices, openPrices } from '../valuation/open-prices.js'
import type { StoredPool } from './pools/pool.js'
import { WatchedPools } from './pools/pool-policy.js'
import type { RowDeps } from './records/row.js'

export interface ReferenceDataDeps {
  readonly broker: Broker
  /** Records show that a copy which decided them lagged its bucket by more than this. */
  readonly staleMs: number
  /** Called once when a KV watch is lost. */
  readonly onLost: (cause: unknown) => void
  readonly clock: () => number
  readonly log: Logger
}

type Staleness = Pick<RowDeps, 'isIndexStale'>
/** A copy with its lag. `reached` resolves when it holds a revision of its bucket. */
type Followed = Staleness & Pick<Mirror<unknown>, 'reached'>

/** Copies in memory of the tables by which the stages attribute and value calls. */
export interface ReferenceData {
  readonly directory: WatchedDirectory
  readonly directoryCopy: Followed
  readonly rules: WatchedRules
  readonly rulesCopy: Followed
  readonly pools: WatchedPools
  readonly poolsCopy: Followed
  readonly conventions: WatchedConventions
  readonly conventionsCopy: Followed
  readonly pricesReached: OpenPrices['pricesReached']
  /** @param conventions others than those of the tenant, to try them out */
  readonly consumptionOf: ReturnType<typeof consumptionRules>
  readonly settingsOf: (tenantId: string) => TenantSettings
  readonly tenantIds: () => Iterable<string>
  /** Adds a listener for changes of a tenant's settings. */
  readonly onTenantChange: (listener: (tenantId: string) => void) => void
}

export async function openReferenceData(deps: ReferenceDataDeps, signal: AbortSignal): Promise<ReferenceData> {
  const { broker, onLost, clock, log, staleMs } = deps
  const followed = async <T>(from: Bucket, apply: (key: string, value: T | undefined) => void): Promise<Followed> => {
    const bucket = await broker.bucket(from)
    const copy = await mirrorBucket<T>(bucket, onLost, apply)
    const mirrorLag = await followMirrorLag(bucket, copy, { clock, log, staleMs }, signal)
    return { isIndexStale: () => mirrorLag.lagMs() > staleMs, reached: copy.reached }
  }
  const directory = new WatchedDirectory()
  const directoryCopy = await followed(DIRECTORY, (key, value) => directory.apply(key, value))
  const rules = new WatchedRules()
  const rulesCopy = await followed<StoredRule>(MAPPING_RULES, (key, rule) => rules.apply(key, rule))
  const pools = new WatchedPools()
  const poolsCopy = await followed<StoredPool>(POOLS, (key, pool) => pools.apply(key, pool))
  const conventions = new WatchedConventions()
  const conventionsCopy = await followed<StoredConvention>(USAGE_CONVENTIONS, (key, convention) =>
    conventions.apply(key, convention),
  )
  const { bookAt, pricesOf, pricesReached } = await openPrices(deps)
  const released = loadFootprintTables()
  const tables = new DatedBooks<EnergyFile, FootprintTables>(released, (file, id) =>
    withEnergyTable(released, file, id),
  )
  await followBooks(await broker.bucket(ENERGY_TABLES), await broker.objects(ENERGY_TABLE_FILES), tables, onLost, log)
  const stopAges = followBookAges(
    { prices: () => bookAt(clock()).asOf, energy: () => tables.at(clock()).models.asOf },
    clock,
  )
  signal.addEventListener('abort', stopAges, { once: true })
  const listeners: ((tenantId: string) => void)[] = []
  const tenants = await mirrorBucket<Tenant>(await broker.bucket(TENANTS), onLost, (tenantId) => {
    for (const listener of listeners) listener(tenantId)
  })
  const settings = (tenantId: string): TenantSettings => settingsOf(tenants.get(tenantId))
  return {
    directory,
    directoryCopy,
    rules,
    rulesCopy,
    pools,
    poolsCopy,
    conventions,
    conventionsCopy,
    pricesReached,
    consumptionOf: consumptionRules(
      bookAt,
      pricesOf,
      settings,
      (tenantId) => conventions.of(tenantId),
      (eventTimeMs) => tables.at(eventTimeMs),
    ),
    settingsOf: settings,
    tenantIds: () => [...tenants.entries()].map(([tenantId]) => tenantId),
    onTenantChange: (listener) => void listeners.push(listener),
  }
}
