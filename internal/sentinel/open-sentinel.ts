import { setTimeout as sleep } from 'node:timers/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import {
  ANNOUNCEMENTS,
  CHECKPOINTS,
  COVERAGE_STATES,
  MISSING_PRICES,
  SPEND_LOOKS,
  TENANTS,
} from '../../streams/buckets.js'
import { retentionCutoff, settingsOf, type Tenant } from '../auth/tenant.js'
import type { Broker } from '../broker/connect.js'
import { holdsEvent, lastEventSequence } from '../broker/events-log.js'
import type { Membership } from '../broker/members.js'
import { mirrorBucket } from '../broker/mirror.js'
import { type Publisher, publishOrThrow } from '../broker/publisher.js'
import { bucketRecords } from '../broker/records.js'
import { followWatermark, type Watermark } from '../broker/watermark.js'
import type { TenantIds } from '../ids/ids.js'
import { PROBE_RETENTION_DAYS, PROBE_TENANT_ID } from '../ids/probe-tenant.js'
import { observedSources, seenLayers } from '../store/queries/reports/coverage.js'
import { hourlySpendOf } from '../store/queries/reports/hourly-spend.js'
import { missingPriceOf, unpricedModels } from '../store/queries/reports/missing-prices.js'
import { exactSpendOf } from '../store/queries/reports/spend.js'
import { deleteCallsBefore } from '../store/retention.js'
import type { Logger } from '../telemetry/log.js'
import { counter, histogram, SECONDS_BUCKETS } from '../telemetry/metrics.js'
import { formatQuantity, quantityOfSteps } from '../units/quantity.js'
import { HOUR_MS, MINIMUM_USD, TRAILING_HOURS, WEEKS } from './anomaly.js'
import { type Check, openBudgetChecks } from './budget-checks.js'
import { type CoverageReads, readCoverage } from './coverage/coverage-routes.js'
import { type CoverageState, type Streaks, watchCoverage } from './watch-coverage.js'
import { type MissingPrices, type PriceReads, type Unpriceable, watchPrices } from './watch-prices.js'
import { type SpendProgress, type SpendScope, watchSpend } from './watch-spend.js'

export interface SentinelDeps {
  readonly broker: Broker
  readonly store: ClickHouseClient
  readonly publish: Publisher['publish']
  /** Shares the tenants between the sentinels. */
  readonly membership: Pick<Membership, 'owns'>
  readonly idsOf: (tenantId: string) => TenantIds
  /** The sources in a tenant's directory. */
  readonly sourcesOf: CoverageReads['sourcesOf']
  /** Checks the health of a tenant's connectors. */
  readonly watchConnectors: (tenantId: string) => Promise<void>
  /** Applies the changes of a tenant's settings that are due. */
  readonly applyPending: (tenant: Tenant) => Promise<void>
  /** Between two checks of a tenant's budgets. */
  readonly budgetsEveryMs: number
  /** Between two checks of a tenant's spend, coverage and connectors. */
  readonly surveyEveryMs: number
  /** Called once when a KV watch is lost. */
  readonly onLost: (cause: unknown) => void
  readonly clock: () => number
  readonly log: Logger
}

const RETENTION_EVERY_MS = 60 * 60 * 1000

/** One kind of check, per tenant. */
const ROUND_SECONDS = histogram(
  'sentinel_round_duration_seconds',
  'Duration of one check of all tenants of this sentinel.',
  SECONDS_BUCKETS,
  ['check'],
)
const FAILURES = counter('sentinel_failures_total', 'Checks of a tenant that failed.', ['check'])

/**
 * The sentinel of a process: checks budgets, spend, prices, coverage, connectors and retention of the tenants that it
 * owns, until `signal` aborts.
 *
 * @returns once it works; `stopped` resolves when no check is in flight any more
 */
export async function openSentinel(
  deps: SentinelDeps,
  signal: AbortSignal,
): Promise<{ readonly stopped: Promise<unknown> }> {
  const tenants = await mirrorBucket<Tenant>(await deps.broker.bucket(TENANTS), deps.onLost)
  const watermark = await followWatermark(await deps.broker.bucket(CHECKPOINTS), deps.onLost, deps.clock)
  const checks: readonly Check[] = [
    ...(await openBudgetChecks({ ...deps, watermark, findTenant: tenants.get }, await announcements(deps))),
    ...(await watchChecks(deps, watermark, signal)),
    { what: 'connectors', everyMs: deps.surveyEveryMs, check: deps.watchConnectors },
    { what: 'settings', everyMs: deps.surveyEveryMs, check: settingsCheck(deps, tenants.get) },
  ]
  const retention = { what: 'retention', everyMs: RETENTION_EVERY_MS, check: retentionCheck(deps, tenants.get) }
  const owned = function* (): Generator<string> {
    for (const [tenantId] of tenants.entries()) if (deps.membership.owns(tenantId)) yield tenantId
  }
  const withRecords = function* (): Generator<string> {
    yield* owned()
    if (deps.membership.owns(PROBE_TENANT_ID)) yield PROBE_TENANT_ID
  }
  const repeated = checks.map((check) => repeatForEach(check, owned, deps.log, signal))
  return { stopped: Promise.all([...repeated, repeatForEach(retention, withRecords, deps.log, signal)]) }
}

/** Repeats a check for every tenant. A failure for one does not keep the check from the others. */
async function repeatForEach(
  { what, everyMs, check }: Check,
  tenantIds: () => Iterable<string>,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const end = ROUND_SECONDS.startTimer({ check: what })
    for (const tenantId of tenantIds()) {
      if (signal.aborted) break
      await check(tenantId).catch((cause: unknown) => {
        if (signal.aborted) return
        FAILURES.inc({ check: what })
        log.error({ err: cause, tenantId }, `check of ${what} failed`)
      })
    }
    end()
    await sleep(everyMs, undefined, { signal }).catch(() => undefined)
  }
}

/** The checks that emit events about spend, prices and coverage. */
async function watchChecks(deps: SentinelDeps, watermark: Watermark, signal: AbortSignal): Promise<readonly Check[]> {
  const { broker, store, sourcesOf, surveyEveryMs, clock } = deps
  const coverageStates = bucketRecords<CoverageState>(await broker.bucket(COVERAGE_STATES), async () => undefined)
  const spendProgress = bucketRecords<SpendProgress>(await broker.bucket(SPEND_LOOKS), async () => undefined)
  const missingPrices = bucketRecords<MissingPrices>(await broker.bucket(MISSING_PRICES), async () => undefined)
  const announcing = await announcements(deps)
  const baseline = {
    atLeastUsd: formatQuantity(quantityOfSteps<'USD'>(MINIMUM_USD)),
    weeks: WEEKS,
    trailingHours: TRAILING_HOURS,
  }
  const hours = {
    hourly: (tenantId: string, hourMs: number) => hourlySpendOf(store, tenantId, hourMs, baseline),
    exact: async (tenantId: string, hourMs: number, scope: SpendScope) =>
      exactSpendOf(store, tenantId, await watermark.renewed(), { fromMs: hourMs, toMs: hourMs + HOUR_MS }, scope),
  }
  const coverage = {
    seen: (tenantId: string, nowMs: number) => seenLayers(store, tenantId, nowMs, signal),
    observed: (tenantId: string) => observedSources(store, tenantId, signal),
  }
  const prices: PriceReads = {
    models: (...asked) => unpricedModels(store, ...asked),
    missing: (...asked) => missingPriceOf(store, ...asked),
  }
  const streaks: Streaks = new Map()
  const unpriceable: Unpriceable = new Map()
  return [
    {
      what: 'spend',
      everyMs: surveyEveryMs,
      check: (tenantId) => watchSpend(tenantId, hours, spendProgress, announcing),
    },
    {
      what: 'prices',
      everyMs: surveyEveryMs,
      check: (tenantId) => watchPrices(tenantId, prices, unpriceable, missingPrices, announcing),
    },
    {
      what: 'coverage',
      everyMs: surveyEveryMs,
      async check(tenantId) {
        const sources = [...sourcesOf(tenantId)]
        const pathways = await readCoverage(
          tenantId,
          clock(),
          { ...coverage, sourcesOf: () => sources, passedOver: async () => [] },
          signal,
        )
        await watchCoverage(tenantId, { pathways, sources }, streaks, coverageStates, announcing)
      },
    },
  ]
}

const announcements = async ({ broker, publish, idsOf, clock }: SentinelDeps) => ({
  bucket: await broker.bucket(ANNOUNCEMENTS),
  idsOf,
  store: (subject: string, text: string, id: string) => publishOrThrow(publish, subject, Buffer.from(text), id),
  lastSequence: (subject: string) => lastEventSequence(broker.manager, subject),
  isStored: (subject: string, after: number, id: string) => holdsEvent(broker.manager, subject, after, id),
  clock,
})

const settingsCheck =
  ({ applyPending }: SentinelDeps, findTenant: (tenantId: string) => Tenant | undefined): Check['check'] =>
  async (tenantId) => {
    const tenant = findTenant(tenantId)
    if (tenant !== undefined) await applyPending(tenant)
  }

/** Deletes records past the retention of a tenant. */
const retentionCheck =
  ({ store, clock, log }: SentinelDeps, findTenant: (tenantId: string) => Tenant | undefined): Check['check'] =>
  async (tenantId) => {
    const isProbe = tenantId === PROBE_TENANT_ID
    const days = isProbe ? PROBE_RETENTION_DAYS : settingsOf(findTenant(tenantId)).retention_days
    if (await deleteCallsBefore(store, tenantId, retentionCutoff(clock(), days))) {
      log.info({ tenantId, days }, 'deleted records past retention')
    }
  }
