/**
 * What must hold after a run, as a pure function of what the producers were told and what the service shows: each 202
 * is one record, totals agree to the digit, walks show each record once, webhooks arrive, and nothing crosses tenants.
 */
import { type SentEvent, serialOf } from './calls.js'

export interface ShownRecord {
  readonly id: string
  readonly invocation_id: string
  readonly cost_usd: string
}

export interface Total {
  readonly count: number
  readonly costUsd: string
}

/** What one tenant is shown after the run, when nothing changes any more. */
export interface Shown {
  readonly tenantId: string
  readonly records: readonly ShownRecord[]
  readonly report: Total
  readonly exported: Total
}

/** One pass over all pages by cursors, begun and ended while faults happened. */
export interface Walk {
  readonly tenant: number
  /** Costs of the records, in the order shown; a record has its cost as its name. */
  readonly costs: readonly string[]
  /** Records that had been shown to the tenant before the walk began. */
  readonly before: ReadonlySet<string>
}

export interface Delivered {
  /** Index of the tenant that owns the endpoint. */
  readonly tenant: number
  readonly tenantId: string
  readonly costUsd: string
}

export interface Facts {
  readonly events: readonly SentEvent[]
  readonly unexpected: readonly string[]
  readonly shown: readonly Shown[]
  readonly walks: readonly Walk[]
  /** Tenants whose endpoint is subscribed to `attribution.materialized`, with the deliveries. */
  readonly webhooks: { readonly tenants: readonly number[]; readonly delivered: readonly Delivered[] }
  readonly poisons: { readonly sent: number; readonly quarantined: number }
}

/** One line for each violation; none if all holds. */
export function violationsOf(facts: Facts): string[] {
  return [
    ...facts.unexpected.map((line) => `unexpected answer: ${line}`),
    ...facts.shown.flatMap((shown, tenant) => ofRecords(facts.events, shown, tenant)),
    ...facts.shown.flatMap(ofTotals),
    ...facts.walks.flatMap((walk, i) => ofWalk(facts.events, walk, i)),
    ...ofWebhooks(facts),
    ...(facts.poisons.quarantined < facts.poisons.sent
      ? [`${facts.poisons.sent} undecodable messages in the log, ${facts.poisons.quarantined} in quarantine`]
      : []),
  ]
}

function ofRecords(events: readonly SentEvent[], { records }: Shown, tenant: number): string[] {
  const violations: string[] = []
  const found = new Map<number, ShownRecord[]>()
  for (const record of records) {
    const event = eventOf(events, record.cost_usd)
    if (event === undefined) violations.push(`a record of no event: ${JSON.stringify(record)}`)
    else if (event.tenant !== tenant) violations.push(`tenant ${tenant} has a record of another: ${told(event)}`)
    else found.set(event.serial, [...(found.get(event.serial) ?? []), record])
  }
  for (const event of events) {
    if (event.tenant !== tenant) continue
    const own = found.get(event.serial) ?? []
    const ids = own.map(({ invocation_id: id }) => id).join()
    const isAccepted = event.told.size > 0
    if (own.length > 1) violations.push(`${own.length} records (${ids}): ${told(event)}`)
    if (isAccepted && own.length === 0) violations.push(`a 202 and no record: ${told(event)}`)
    if (!isAccepted && !event.isUnclear && own.length > 0)
      violations.push(`a record and no 202 (${ids}): ${told(event)}`)
    if (event.told.size > 1) violations.push(`several invocation ids: ${told(event)}`)
    if (isAccepted && own.length === 1 && !event.told.has(ids))
      violations.push(`record of another id (${ids}): ${told(event)}`)
  }
  return violations
}

function ofTotals({ tenantId, records, report, exported }: Shown): string[] {
  const expected: Total = {
    count: records.length,
    costUsd: formatSteps(records.reduce((sum, { cost_usd: cost }) => sum + steps(cost), 0n)),
  }
  return Object.entries({ report, export: exported }).flatMap(([name, { count, costUsd }]) =>
    count === expected.count && steps(costUsd) === steps(expected.costUsd)
      ? []
      : [
          `${tenantId}: the ${name} has ${count} calls, ${costUsd} USD; the records ${expected.count}, ` +
            `${expected.costUsd}`,
        ],
  )
}

function ofWalk(events: readonly SentEvent[], { tenant, costs, before }: Walk, number: number): string[] {
  const seen = new Set(costs)
  const violations: string[] = []
  if (seen.size !== costs.length) {
    const twice = costs.filter((cost, i) => costs.indexOf(cost) !== i)
    violations.push(`walk ${number} shows records twice: ${twice.slice(0, 5).join()}`)
  }
  for (const cost of seen) {
    if (eventOf(events, cost)?.tenant !== tenant)
      violations.push(`walk ${number} of tenant ${tenant} shows ${cost} of another`)
  }
  const missing = [...before].filter((cost) => !seen.has(cost))
  if (missing.length > 0)
    violations.push(`walk ${number} lacks ${missing.length} earlier records: ${missing.slice(0, 5).join()}`)
  return violations
}

function ofWebhooks({ events, shown, webhooks }: Facts): string[] {
  const violations: string[] = []
  const arrived = new Set<string>()
  for (const { tenant, tenantId, costUsd } of webhooks.delivered) {
    arrived.add(costUsd)
    if (shown[tenant]?.tenantId !== tenantId || eventOf(events, costUsd)?.tenant !== tenant) {
      violations.push(`the endpoint of tenant ${tenant} got ${costUsd} of ${tenantId}`)
    }
  }
  for (const tenant of webhooks.tenants) {
    const missing = (shown[tenant]?.records ?? []).filter(({ cost_usd: cost }) => !arrived.has(cost))
    for (const { cost_usd: cost } of missing) {
      const event = eventOf(events, cost)
      violations.push(`no webhook of ${cost}: ${event === undefined ? '' : told(event)}`)
    }
  }
  return violations
}

const eventOf = (events: readonly SentEvent[], costUsd: string): SentEvent | undefined => {
  const serial = serialOf(costUsd)
  return serial === undefined ? undefined : events[serial - 1]
}

const told = ({ eventId, tenant, told: ids, costUsd, history }: SentEvent): string =>
  [`event ${eventId} of tenant ${tenant}, ${costUsd} USD, told ${[...ids].join() || 'nothing'}`, ...history].join(
    '\n    ',
  )

const DECIMALS = 12

/** Whole numbers of 1e-12; shares no code with the product. */
function steps(text: string): bigint {
  const match = /^(\d+)(?:\.(\d{1,12}))?$/.exec(text)
  if (match === null) throw new Error(`not a decimal of at most ${DECIMALS} places: ${text}`)
  return BigInt(match[1] + (match[2] ?? '').padEnd(DECIMALS, '0'))
}

function formatSteps(value: bigint): string {
  const digits = String(value).padStart(DECIMALS + 1, '0')
  return `${digits.slice(0, -DECIMALS)}.${digits.slice(-DECIMALS)}`
}
