/**
 * Producers, walks, exports and webhook endpoints on a running instance, while something happens to it, and the check
 * of what it shows afterwards.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Broker } from '../../../internal/broker/connect.js'
import { quarantineState } from '../../../internal/broker/quarantine-log.js'
import type { HttpServiceClient } from '../../../internal/local/replay/client.js'
import { addTenant, untilKnown } from '../instance.js'
import type { Instance } from '../service.js'
import { type Calls, openCalls, type Repeats, type TenantAccess } from './calls.js'
import { type Facts, violationsOf } from './checker.js'
import { clientOf, exportAll, settled, type Webhooks, walkOn } from './readers.js'
import { untilWorkedOff } from './worked-off.js'

export interface LoadOptions {
  readonly seed: string
  readonly service: Pick<Instance, 'credentials' | 'dataDir'>
  /** Of all gateways. */
  readonly urls: readonly string[]
  readonly broker: Broker
  /** The first tenant's endpoint gets every record of it; undefined: there is none, and no courier is needed. */
  readonly webhooks: Webhooks | undefined
  readonly eventsPerSecond: number
  readonly repeats?: Repeats
  /** Undecodable messages that the log has acknowledged. */
  readonly poisons: () => number
  readonly print: (line: string) => void
}

export interface LoadResult {
  readonly violations: readonly string[]
  readonly events: number
  readonly accepted: number
}

const TENANTS = 3
/** How long an answer to a reader may take over all attempts. */
const PATIENCE_MS = 120_000
const WALK_PAUSE_MS = 500
const EXPORT_PAUSE_MS = 10_000
const SETTLING = { quietMs: 2_000, msMax: 120_000 }
const WEBHOOKS_MS_MAX = 60_000
/** For so long may what was accepted wait for its records after the load. */
const WORKED_OFF_MS_MAX = 120_000

/** @param happens what happens under the load, which ends with it */
export async function underLoad(options: LoadOptions, happens: (calls: Calls) => Promise<void>): Promise<LoadResult> {
  const { service, urls, broker, webhooks, print } = options
  const tenants: TenantAccess[] = [{ id: service.credentials.tenant_id, apiKey: service.credentials.api_key }]
  while (tenants.length < TENANTS) tenants.push(await addTenant(broker, service))
  for (const url of urls) for (const { apiKey } of tenants) await untilKnown(url, apiKey)
  const clients = tenants.map((tenant) => urls.map((url) => clientOf(url, tenant, PATIENCE_MS)))
  const subscribed = webhooks === undefined ? [] : [0]
  for (const tenant of subscribed) await webhooks?.subscribe(clients[tenant]?.[0] as HttpServiceClient, tenant)

  const calls = openCalls({ ...options, tenants })
  const sent = new AbortController()
  const over = new AbortController()
  const failures: string[] = []
  const noted = <T>(what: string, work: Promise<T>, otherwise: T): Promise<T> =>
    work.catch((cause: Error) => {
      failures.push(`${what}: ${cause.message}`)
      return otherwise
    })
  const walking = noted('a walk', walkOn(clients, over.signal, WALK_PAUSE_MS, failures), [])
  const exporting = noted('an export', exportOn(clients, over.signal), undefined)
  const sending = calls.send(sent.signal)
  await happens(calls).finally(() => sent.abort())
  await sending
  over.abort()
  const walks = await walking
  await exporting
  print(await untilWorkedOff(broker, WORKED_OFF_MS_MAX))

  const acceptedOf = (tenant: number): number =>
    calls.events.filter((event) => event.tenant === tenant && event.told.size > 0).length
  const shown = await Promise.all(
    tenants.map(({ id }, tenant) => settled(id, clients[tenant] ?? [], acceptedOf(tenant), SETTLING)),
  )
  const delivered = await deliveredOf(webhooks, subscribed.flatMap((tenant) => shown[tenant]?.records ?? []).length)
  const facts: Facts = {
    events: calls.events,
    unexpected: [...calls.unexpected, ...failures],
    ...{ shown, walks, webhooks: { tenants: subscribed, delivered } },
    poisons: { sent: options.poisons(), quarantined: (await quarantineState(broker.manager)).lastSequence },
  }
  const violations = violationsOf(facts)
  const accepted = calls.events.filter(({ told }) => told.size > 0).length
  print(
    `seed ${options.seed}: ${calls.events.length} events, ${accepted} with a 202, answers ` +
      `${JSON.stringify(Object.fromEntries(calls.answers))}, ${walks.length} walks, ${delivered.length} ` +
      `deliveries, ${facts.poisons.sent} undecodable messages, ${violations.length} violations`,
  )
  if (violations.length > 0) print(['Violations', ...violations].join('\n'))
  return { violations, events: calls.events.length, accepted }
}

/** Exports of the tenants in turn until it is stopped: each succeeds, whatever happens meanwhile. */
async function exportOn(clients: readonly (readonly HttpServiceClient[])[], signal: AbortSignal): Promise<void> {
  for (let turn = 0; !signal.aborted; turn++) {
    await sleep(EXPORT_PAUSE_MS, undefined, { signal }).catch(() => undefined)
    if (signal.aborted) return
    const client = clients[turn % clients.length]?.[turn % 2]
    if (client !== undefined) await exportAll(client)
  }
}

/** Once so many records have been delivered, or none of them is expected any more. */
async function deliveredOf(webhooks: Webhooks | undefined, records: number) {
  if (webhooks === undefined) return []
  const until = performance.now() + WEBHOOKS_MS_MAX
  const arrived = (): number => new Set(webhooks.delivered().map(({ costUsd }) => costUsd)).size
  while (arrived() < records && performance.now() < until) await sleep(250)
  return webhooks.delivered()
}
