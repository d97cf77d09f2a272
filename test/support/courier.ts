/** Couriers in this process, on a real broker, with a name server and receivers of their own. */
import { randomBytes } from 'node:crypto'
import { type Broker, connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { eventPublisher, type PublishEvent } from '../../internal/events/publish-event.js'
import { randomId, tenantIdsCache } from '../../internal/ids/ids.js'
import type { ResidencyRegion } from '../../internal/residency/residency.js'
import type { AttemptRow } from '../../internal/store/tables/webhook-attempts.js'
import { createLog } from '../../internal/telemetry/log.js'
import { type CourierSettings, openCourier, type RunningCourier } from '../../internal/webhooks/courier/open-courier.js'
import { formatSecret, type StoredWebhook, storeSecret } from '../../internal/webhooks/endpoint.js'
import { WEBHOOKS } from '../../streams/buckets.js'
import { launchBroker } from './broker.js'
import { type DnsAnswer, type DnsServer, launchDnsServer } from './dns-server.js'
import { masterKeysOf } from './master-keys.js'
import { RECEIVER_CERTIFICATE } from './receiver.js'

export const MASTER_KEYS = masterKeysOf(7)
export const idsOf = tenantIdsCache(new Uint8Array(32).fill(7))
export const TENANT = 'tnt_one'

/** The retry schedule, shortened for tests. */
export const FAST_RULES = { maximaMs: [20, 20, 20], stopMs: 60_000 }

export interface CourierWorld {
  readonly url: string
  readonly broker: Broker
  readonly dns: DnsServer
  /** Answers of the name server, by name; any other name resolves to 127.0.0.1. */
  readonly names: Map<string, DnsAnswer>
  /** Tenants' data regions; a tenant that is not listed has none, and one with undefined is unknown. */
  readonly homes: Map<string, ResidencyRegion | undefined>
  readonly publishEvent: PublishEvent
  /** Publishes `count` events with causes of their own. @returns their causes */
  publishEvents(count: number, tenantId?: string): Promise<readonly string[]>
  /** A verified endpoint. @returns its id and secret */
  endpoint(url: string, more?: Partial<StoredWebhook>): Promise<{ readonly id: string; readonly secret: string }>
  /** Starts a courier; it is stopped with the world. */
  courier(settings?: Partial<CourierSettings>, member?: string): Promise<StartedCourier>
  stopCouriers(): Promise<void>
  /** Deletes the endpoints, so that the next test's couriers have no deliveries of this one. */
  removeEndpoints(): Promise<void>
  close(): Promise<void>
}

export interface StartedCourier extends RunningCourier {
  /** Rows of the delivery log, in order. */
  readonly attempts: readonly AttemptRow[]
  /** Resolves once the delivery log has this many matching attempts. */
  logged(count: number, matches?: (row: AttemptRow) => boolean): Promise<readonly AttemptRow[]>
}

export async function launchCourierWorld(): Promise<CourierWorld> {
  const { url } = await launchBroker()
  const names = new Map<string, DnsAnswer>()
  const homes = new Map<string, ResidencyRegion | undefined>()
  const dns = await launchDnsServer((name) => (names.has(name) ? names.get(name) : ['127.0.0.1']))
  const connect = async (): Promise<Broker> => connectBroker({ url, user: '', password: '', name: 'test' })
  const broker = await connect()
  await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })
  const publishEvent = eventPublisher(createPublisher(broker.connection).publish, idsOf)
  const webhooks = await broker.bucket(WEBHOOKS)
  const closing: (() => Promise<void>)[] = []
  const endpoints: string[] = []

  return {
    url,
    broker,
    dns,
    names,
    homes,
    publishEvent,
    async publishEvents(count, tenantId = TENANT) {
      const causes = Array.from({ length: count }, () => randomBytes(8).toString('hex'))
      await Promise.all(
        causes.map((cause) =>
          publishEvent({ tenantId, type: 'apikey.rotated', cause, data: { old_key_id: 'key_old', new_key_id: cause } }),
        ),
      )
      return causes
    },
    async endpoint(address, more = {}) {
      const id = randomId('whk', idsOf(more.tenant_id ?? TENANT))
      const secret = formatSecret(randomBytes(32))
      const at = new Date().toISOString()
      const webhook: StoredWebhook = {
        id,
        tenant_id: TENANT,
        url: address,
        events: ['apikey.rotated'],
        residency_region: null,
        status: 'verified',
        secrets: [storeSecret(MASTER_KEYS, id, secret, at)],
        challenge: null,
        verified_at: at,
        starts_after: (await broker.manager.streams.info('EVENTS')).state.last_seq,
        created_at: at,
        ...more,
      }
      await webhooks.create(id, JSON.stringify(webhook))
      endpoints.push(id)
      return { id, secret }
    },
    async courier(settings = {}, member = randomBytes(4).toString('hex')) {
      const own = await connect()
      const attempts: AttemptRow[] = []
      const tokens = new Set<string>()
      const waiting = new Set<() => void>()
      let isStopped = false
      const running = await openCourier({
        broker: own,
        member,
        settings: {
          targets: {
            webhookPorts: Array.from({ length: 64_512 }, (_, i) => 1_024 + i),
            webhookAllowedNetworks: ['127.0.0.0/8'],
            webhookResolvers: [dns.address],
          },
          extraCa: RECEIVER_CERTIFICATE.cert,
          inFlightPerEndpoint: 8,
          timeoutMs: 2_000,
          rules: FAST_RULES,
          baseUrl: '',
          instanceRegion: 'eu-central-1',
          ...settings,
        },
        masterKeys: MASTER_KEYS,
        idsOf,
        residencyRegionOf: (tenantId) => (homes.has(tenantId) ? homes.get(tenantId) : null),
        async insertAttempts(rows, token) {
          if (!tokens.has(token)) attempts.push(...rows)
          tokens.add(token)
          for (const check of waiting) check()
        },
        onLost(cause) {
          if (!isStopped) throw cause
        },
        clock: Date.now,
        log: createLog('courier', process.env['TEST_LOG'] === undefined ? 'silent' : 'debug'),
      })
      const stop = async (): Promise<void> => {
        if (isStopped) return
        isStopped = true
        await running.stop()
        await own.close()
      }
      closing.push(stop)
      return {
        attempts,
        logged: (count, matches = () => true) =>
          new Promise((resolve) => {
            const check = (): void => {
              const found = attempts.filter(matches)
              if (found.length < count) return
              waiting.delete(check)
              resolve(found)
            }
            waiting.add(check)
            check()
          }),
        stop,
      }
    },
    async stopCouriers() {
      for (const stop of closing.splice(0)) await stop()
    },
    async removeEndpoints() {
      for (const id of endpoints.splice(0)) await webhooks.delete(id)
    },
    async close() {
      for (const stop of closing) await stop()
      await broker.close()
      dns.close()
    },
  }
}
