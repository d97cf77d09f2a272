import { setTimeout as sleep } from 'node:timers/promises'
import { parseQuantity, zero } from '../../internal/units/quantity.js'
import { mondayBefore, wireEvent } from './events.js'
import type { Verdict } from './figures.js'
import { judgedEvents } from './in-process.js'
import type { PlantedEvent, PlantedWorld } from './plant.js'
import { COMPANY, PRINCIPALS, type PrincipalName, SHADOW } from './planted-company.js'
import type { Product, ProductRecord, ProductTenant } from './product.js'

/**
 * One tenant's way through the product: its directory, the history of its events, what people look at, a training, and
 * then the events that are judged. The product knows only what was sent.
 */
export interface Trial {
  readonly judged: readonly PlantedEvent[]
  readonly verdicts: readonly Verdict[]
  readonly costOf: (event: PlantedEvent) => Verdict['costUsd']
  readonly training: { readonly outcome: string; readonly model_id: string | null }
  readonly card: object | undefined
  readonly overrides: number
  /** Of the judged records, by stage and what served. */
  readonly served: Readonly<Record<string, number>>
  readonly chargeback_ready_inferred: number
}

const POLL_MS = 2_000
const WAIT_MS_MAX = 600_000
const OVERRIDES_AT_ONCE = 16
const BULK_EVENTS = 1_000
const LIVE_EVENTS = 100

export async function runTrial(
  product: Product,
  name: string,
  world: PlantedWorld,
  withAudits: boolean,
  lengthMs: number,
): Promise<Trial> {
  const startMs = mondayBefore(Date.now(), lengthMs)
  const tenant = await product.createTenant(name)
  const keys = new Map<PrincipalName, string>()
  for (const principal of PRINCIPALS) keys.set(principal, await tenant.createKey(principal))
  for (const service of COMPANY.filter(({ name: service }) => service !== SHADOW)) await tenant.addService(service)
  const owners = new Map(world.events.map(({ service, owner }) => [service, owner]))
  for (const [service, owner] of owners) {
    if (!COMPANY.some((one) => one.name === service)) await tenant.addService({ name: service, owner })
  }

  const history = world.events.filter(({ isHistory }) => isHistory)
  const sent = await sendAll(tenant, keys, history, startMs, BULK_EVENTS)
  await untilRecords(tenant, startMs, history.length)
  const looked = withAudits ? history.filter(({ isAudited }) => isAudited) : []
  await overrideAll(tenant, looked, sent)
  const training = await tenant.train()
  const card = training.model_id === null ? undefined : await tenant.card(training.model_id)

  // A model serves live traffic: it comes in small requests, one after another, and not as one load.
  const later = world.events.filter(({ isHistory }) => !isHistory)
  const laterSent = await sendAll(tenant, keys, later, startMs, LIVE_EVENTS)
  const fromMs = startMs + Math.min(...later.map(({ atMs }) => atMs))
  const records = await untilRecords(tenant, fromMs, later.length)
  await tenant.close()

  const byInvocation = new Map(records.map((record) => [record.invocation_id, record]))
  const recordOf = (event: PlantedEvent): ProductRecord => {
    const record = byInvocation.get(laterSent.get(event.rowId) ?? '')
    if (record === undefined) throw new Error(`there is no record of ${event.rowId}`)
    return record
  }
  const judged = judgedEvents(world)
  const served: Record<string, number> = {}
  for (const event of judged) {
    const { stage_origin, evidence_basis, degradation_state } = recordOf(event).interpretation
    const what = `${stage_origin} ${evidence_basis} ${degradation_state}`
    served[what] = (served[what] ?? 0) + 1
  }
  return {
    judged,
    verdicts: judged.map((event) => verdictOf(event, recordOf(event))),
    costOf: (event) => costOf(recordOf(event)),
    training,
    card,
    overrides: looked.length,
    served,
    chargeback_ready_inferred: judged.filter((event) => {
      const { stage_origin, confidence_band } = recordOf(event).interpretation
      return stage_origin === 'stage_b' && confidence_band === 'chargeback_ready'
    }).length,
  }
}

function verdictOf(event: PlantedEvent, record: ProductRecord): Verdict {
  const { stage_origin, confidence } = record.interpretation
  return {
    // A pool is where a cost is kept, and no claim of who caused it.
    said: stage_origin === 'stage_c' ? undefined : record,
    confidence,
    truth: event,
    isShadow: event.service === SHADOW,
    costUsd: costOf(record),
  }
}

const costOf = ({ cost_usd }: ProductRecord): Verdict['costUsd'] => parseQuantity(cost_usd) ?? zero()

/** Each principal's events with its own key, in the order of time. @returns invocation ids by row */
async function sendAll(
  tenant: ProductTenant,
  keys: ReadonlyMap<PrincipalName, string>,
  events: readonly PlantedEvent[],
  startMs: number,
  atOnce: number,
): Promise<Map<string, string>> {
  const ids = new Map<string, string>()
  for (const [principal, key] of keys) {
    const own = events.filter((event) => event.principal === principal)
    for (let from = 0; from < own.length; from += atOnce) {
      const some = own.slice(from, from + atOnce)
      const sent = await tenant.send(
        key,
        some.map((event) => wireEvent(event, startMs)),
      )
      for (const [i, { rowId }] of some.entries()) ids.set(rowId, sent[i] ?? '')
    }
  }
  return ids
}

async function overrideAll(
  tenant: ProductTenant,
  looked: readonly PlantedEvent[],
  sent: ReadonlyMap<string, string>,
): Promise<void> {
  const left = [...looked]
  const work = async (): Promise<void> => {
    for (let event = left.pop(); event !== undefined; event = left.pop()) {
      const attributionId = (sent.get(event.rowId) ?? '').replace(/^inv_/, 'attr_')
      await tenant.override(attributionId, event.service, event.owner)
    }
  }
  await Promise.all(Array.from({ length: OVERRIDES_AT_ONCE }, work))
}

async function untilRecords(tenant: ProductTenant, fromMs: number, count: number): Promise<ProductRecord[]> {
  const startedAt = performance.now()
  for (;;) {
    const records = await tenant.records(fromMs)
    if (records.length === count) return records
    if (performance.now() - startedAt > WAIT_MS_MAX) throw new Error(`only ${records.length} records after 10 minutes`)
    await sleep(POLL_MS)
  }
}
