import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { DEFAULT_SETTINGS, type Tenant } from '../../internal/auth/tenant.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { eventsPublisher, type PublishEvents } from '../../internal/events/publish-event.js'
import { randomId, tenantIdsCache } from '../../internal/ids/ids.js'
import { nodeFlagsOf } from '../../internal/local/supervisor/processes.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { formatSecret, type StoredWebhook, storeSecret } from '../../internal/webhooks/endpoint.js'
import { SIGNING_KEYS, TENANTS, WEBHOOKS } from '../../streams/buckets.js'
import { launchDnsServer } from '../../test/support/dns-server.js'
import { type Ground, roleEnv, roleMain, says } from '../ingest/servers.js'
import { RECEIVER_HOST, writeLocalCertificate } from './certificate.js'
import type { ReceiverStats } from './receiver-process.js'

/** A courier, a receiver and a name server, and their work. */
export class Delivering {
  /** Of the receiver. */
  readonly origin: string
  readonly certFile: string
  readonly courierPid: number
  private readonly ground: Ground
  private readonly publish: PublishEvents
  private readonly idsOf: ReturnType<typeof tenantIdsCache>
  private readonly masterKeys: ReturnType<typeof readMasterKeys>
  private readonly agent = new Agent({ connect: { rejectUnauthorized: false } })

  private constructor(
    ground: Ground,
    started: { readonly port: number; readonly certFile: string; readonly courierPid: number },
    keys: { readonly masterKeys: ReturnType<typeof readMasterKeys>; readonly ids: Uint8Array },
  ) {
    this.ground = ground
    this.origin = `https://127.0.0.1:${started.port}`
    this.certFile = started.certFile
    this.courierPid = started.courierPid
    this.masterKeys = keys.masterKeys
    this.idsOf = tenantIdsCache(keys.ids)
    this.publish = eventsPublisher(createPublisher(ground.broker.connection), this.idsOf)
  }

  static async open(
    ground: Ground,
    folder: string,
    storeUrl: string,
    nodeFlags: readonly string[] = [],
  ): Promise<Delivering> {
    const { processes } = ground
    const { certFile, keyFile } = await writeLocalCertificate(folder, processes)
    const listening = /^listening (\d+)$/m
    await processes.start({
      name: 'receiver',
      command: process.execPath,
      args: [ownMain('receiver-process')],
      env: { BENCH_CERT: certFile, BENCH_KEY: keyFile },
      ready: says(processes, 'receiver', listening),
    })
    const port = Number(listening.exec(processes.logText('receiver'))?.[1])
    // In this process, which has nothing else to do meanwhile.
    const names = await launchDnsServer(() => ['127.0.0.1'])
    const courierPid = await processes.start({
      name: 'courier',
      command: process.execPath,
      args: [...nodeFlagsOf('courier'), ...nodeFlags, roleMain('courier')],
      env: {
        ...roleEnv(ground, storeUrl),
        ATTRIBUTION_WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
        ATTRIBUTION_WEBHOOK_RESOLVERS: names.address,
        ATTRIBUTION_WEBHOOK_PORTS: String(port),
        ATTRIBUTION_WEBHOOK_CA_FILE: certFile,
      },
      ready: says(processes, 'courier', /"delivering"/),
    })
    const masterKeys = readMasterKeys({ masterKey: '', masterKeyFile: ground.files.masterKey })
    const ids = await signingKey(await ground.broker.bucket(SIGNING_KEYS), masterKeys, 'ids')
    return new Delivering(ground, { port, certFile, courierPid }, { masterKeys, ids })
  }

  /** A new tenant with verified endpoints. @returns its id */
  async tenant(endpoints: number, pathOf: (i: number) => string): Promise<string> {
    const tenantId = `tnt_${randomBytes(8).toString('hex')}`
    const { broker } = this.ground
    const at = new Date().toISOString()
    const tenant: Tenant = { id: tenantId, name: 'bench', created_at: at, settings: DEFAULT_SETTINGS }
    await (await broker.bucket(TENANTS)).create(tenantId, JSON.stringify(tenant))
    const bucket = await broker.bucket(WEBHOOKS)
    const port = new URL(this.origin).port
    for (let i = 0; i < endpoints; i++) {
      const id = randomId('whk', this.idsOf(tenantId))
      const webhook: StoredWebhook = {
        id,
        tenant_id: tenantId,
        url: `https://${RECEIVER_HOST}:${port}${pathOf(i)}`,
        events: ['apikey.rotated'],
        residency_region: null,
        status: 'verified',
        secrets: [storeSecret(this.masterKeys, id, formatSecret(randomBytes(32)), at)],
        challenge: null,
        verified_at: at,
        starts_after: 0,
        created_at: at,
      }
      await bucket.create(id, JSON.stringify(webhook))
    }
    return tenantId
  }

  /** Removes the endpoints of tenants; what still waits for them is dropped when it comes up. */
  async removeEndpoints(tenantIds: readonly string[]): Promise<void> {
    const bucket = await this.ground.broker.bucket(WEBHOOKS)
    const gone: string[] = []
    for await (const id of await bucket.keys()) {
      const tenantId = (await bucket.get(id))?.json<StoredWebhook>().tenant_id
      if (tenantId !== undefined && tenantIds.includes(tenantId)) gone.push(id)
    }
    for (const id of gone) await bucket.delete(id)
  }

  /** Publishes events, of each of which each endpoint of the tenant gets a delivery. */
  tell(tenantId: string, count = 1): Promise<void> {
    return this.publish(
      Array.from({ length: count }, () => {
        const cause = randomBytes(8).toString('hex')
        return { tenantId, type: 'apikey.rotated', cause, data: { old_key_id: 'key_old', new_key_id: cause } }
      }),
    )
  }

  /** Deliveries that the receiver got since the last call. */
  async stats(): Promise<ReceiverStats> {
    const answered = await request(`${this.origin}/stats`, { dispatcher: this.agent })
    return (await answered.body.json()) as ReceiverStats
  }

  /**
   * Looks at the receiver until it has got so much.
   *
   * @param measured called with the deliveries between two polls; returns how many of them count
   * @throws Error when nothing more comes
   */
  async until(wanted: number, measured: (stats: ReceiverStats) => number): Promise<void> {
    let lastAt = performance.now()
    for (let count = 0; count < wanted; ) {
      await sleep(LOOK_EVERY_MS)
      const more = measured(await this.stats())
      count += more
      if (more > 0) lastAt = performance.now()
      if (performance.now() - lastAt > SILENCE_MS_MAX) {
        throw new Error(`${wanted - count} of ${wanted} deliveries did not come`)
      }
    }
  }
}

const LOOK_EVERY_MS = 200
/** Longer than a parked delivery waits at first: one that was parked makes the figures bad and is in them. */
const SILENCE_MS_MAX = 60_000

/** `dist/bench/webhooks/<name>.js` */
export const ownMain = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url))
