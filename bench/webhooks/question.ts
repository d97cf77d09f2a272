import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Agent, request } from 'undici'
import { createPublisher, publishOrThrow } from '../../internal/broker/publisher.js'
import { eventId, storedText } from '../../internal/events/event.js'
import { randomId, tenantIdsCache } from '../../internal/ids/ids.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { freePort } from '../../internal/supervisor/instance.js'
import { formatSecret, type StoredWebhook, storeSecret } from '../../internal/webhooks/endpoint.js'
import { SIGNING_KEYS, WEBHOOKS } from '../../streams/buckets.js'
import { eventsSubject } from '../../streams/events.js'
import { launchDnsServer } from '../../test/support/dns-server.js'
import { type Ground, prepareGround, roleEnv, roleMain, says, startStore } from '../ingest/servers.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { readResult, writeResult } from '../results.js'
import { pairedRatio, type Spread, spread } from '../statistics.js'
import { table } from '../table.js'
import { RECEIVER_HOST, writeLocalCertificate } from './certificate.js'

/**
 * Question: what does a courier deliver, beside a bare loop of undici requests to the same https receiver with as many
 * connections, both with kept connections and both without? And what do receivers that hang do to the others?
 *
 * The courier does all that it does: it resolves and checks each host, signs, logs each attempt, keeps what it has come
 * to. Events are published beforehand as they come, so that its fan-out is in the time too.
 */
export interface WebhooksOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly repeats: number
  readonly deliveries: number
  readonly connections: number
  readonly endpoints: number
  readonly seconds: number
}

const RATIO_BAR = 0.6
const PER_ENDPOINT = 8
/** Deliveries a second of the part with endpoints that hang. */
const STEADY_PER_SECOND = 200

interface Compared {
  readonly bare_per_second: Spread
  readonly courier_per_second: Spread
  readonly ratio: Spread
}

interface WebhooksResult {
  readonly kept: Compared
  readonly closed: Compared
  readonly others_p99_ms: { readonly none_hangs: number; readonly tenth_hangs: number }
}

/** @param signal when it is aborted, everything that was started is stopped */
export const webhooks = (options: WebhooksOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'webhooks', signal, (folder, processes) => answer(options, folder, processes))

async function answer(options: WebhooksOptions, folder: string, processes: Processes): Promise<void> {
  const { checkout, natsServerBin, repeats } = options
  const ground = await prepareGround(folder, natsServerBin, processes)
  const storePort = await freePort()
  await startStore(ground, storePort)
  const bench = await Bench.open(options, ground, folder, `http://127.0.0.1:${storePort}`)

  const compare = async (path: 'kept' | 'close'): Promise<Compared> => {
    const [bare, courier]: [number[], number[]] = [[], []]
    const tenantId = await bench.tenant(Math.ceil(options.connections / PER_ENDPOINT), () => `/${path}`)
    for (let i = -1; i < repeats; i++) {
      const pair = [await bench.bare(`/${path}`), await bench.courier(tenantId)] as const
      if (i < 0) continue // the first warms up
      bare.push(pair[0])
      courier.push(pair[1])
      process.stderr.write(`  ${path} ${i + 1}: bare ${Math.round(pair[0])}, courier ${Math.round(pair[1])} a second\n`)
    }
    await bench.remove(tenantId)
    return { bare_per_second: spread(bare), courier_per_second: spread(courier), ratio: pairedRatio(courier, bare) }
  }
  const kept = await compare('kept')
  const closed = await compare('close')
  const result: WebhooksResult = {
    kept,
    closed,
    others_p99_ms: { none_hangs: await bench.steady(false), tenth_hangs: await bench.steady(true) },
  }

  const file = join(checkout, 'bench', 'results', 'webhooks.json')
  const before = readResult<WebhooksResult>(file)
  writeResult(file, {
    question: 'webhook deliveries a second beside a bare undici loop; what hanging receivers do to the others',
    provenance: provenance(checkout),
    ...{ repeats, deliveries: options.deliveries, connections: options.connections },
    ...{ endpoints: options.endpoints, steady_per_second: STEADY_PER_SECOND, ratio_bar: RATIO_BAR },
    ...result,
  })
  const row = (name: string, now: Compared, last: Compared | undefined): string[] => [
    name,
    now.bare_per_second.median.toFixed(0),
    now.courier_per_second.median.toFixed(0),
    ...[now.ratio.min, now.ratio.median, now.ratio.max].map((ratio) => ratio.toFixed(2)),
    last?.ratio.median.toFixed(2) ?? '-',
  ]
  const { none_hangs: none, tenth_hangs: tenth } = result.others_p99_ms
  process.stdout.write(
    `\ndeliveries a second over ${options.connections} connections; bar for the ratio: ${RATIO_BAR}\n\n${table([
      ['', 'bare', 'courier', 'ratio min', 'median', 'max', 'before'],
      row('connections kept', kept, before?.kept),
      row('a connection each', closed, before?.closed),
    ])}\nfrom an event to its receiver, p99 over ${options.endpoints} endpoints at ${STEADY_PER_SECOND} deliveries a second: ` +
      `${none} ms where none hangs, ${tenth} ms of the others where one in ten does\n`,
  )
}

class Bench {
  private readonly options: WebhooksOptions
  private readonly ground: Ground
  private readonly port: number
  private readonly certFile: string
  private readonly publish: ReturnType<typeof createPublisher>['publish']
  private readonly idsOf: ReturnType<typeof tenantIdsCache>
  private readonly masterKeys: ReturnType<typeof readMasterKeys>
  private readonly agent = new Agent({ connect: { rejectUnauthorized: false } })

  private constructor(
    options: WebhooksOptions,
    ground: Ground,
    port: number,
    certFile: string,
    keys: { masterKeys: ReturnType<typeof readMasterKeys>; ids: Uint8Array },
  ) {
    this.options = options
    this.ground = ground
    this.port = port
    this.certFile = certFile
    this.publish = createPublisher(ground.broker.connection).publish
    this.masterKeys = keys.masterKeys
    this.idsOf = tenantIdsCache(keys.ids)
  }

  static async open(options: WebhooksOptions, ground: Ground, folder: string, storeUrl: string): Promise<Bench> {
    const { processes } = ground
    const { certFile, keyFile } = await writeLocalCertificate(folder, processes)
    const listening = /^listening (\d+)$/m
    await processes.start({
      name: 'receiver',
      command: process.execPath,
      args: [own('receiver-process')],
      env: { BENCH_CERT: certFile, BENCH_KEY: keyFile },
      ready: says(processes, 'receiver', listening),
    })
    const port = Number(listening.exec(processes.logText('receiver'))?.[1])
    // In this process, which has nothing else to do meanwhile.
    const names = await launchDnsServer(() => ['127.0.0.1'])
    await processes.start({
      name: 'courier',
      command: process.execPath,
      args: [roleMain('courier')],
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
    return new Bench(options, ground, port, certFile, { masterKeys, ids })
  }

  /** A tenant with verified endpoints. */
  async tenant(endpoints: number, pathOf: (i: number) => string): Promise<string> {
    const tenantId = `tnt_${randomBytes(8).toString('hex')}`
    const bucket = await this.ground.broker.bucket(WEBHOOKS)
    const at = new Date().toISOString()
    for (let i = 0; i < endpoints; i++) {
      const id = randomId('whk', this.idsOf(tenantId))
      const webhook: StoredWebhook = {
        id,
        tenant_id: tenantId,
        url: `https://${RECEIVER_HOST}:${this.port}${pathOf(i)}`,
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

  async remove(tenantId: string): Promise<void> {
    const bucket = await this.ground.broker.bucket(WEBHOOKS)
    const gone: string[] = []
    for await (const id of await bucket.keys()) {
      if ((await bucket.get(id))?.json<StoredWebhook>().tenant_id === tenantId) gone.push(id)
    }
    for (const id of gone) await bucket.delete(id)
  }

  async bare(path: string): Promise<number> {
    const { deliveries, connections } = this.options
    const body = `{"id":"evt_${'x'.repeat(26)}","type":"apikey.rotated","created_at":"2026-11-21T09:30:00.000000000Z","sequence":12345,"tenant_id":"tnt_${'x'.repeat(16)}","data":{"old_key_id":"key_old","new_key_id":"${'x'.repeat(16)}"}}`
    const text = await this.ground.processes.run('bare', process.execPath, [own('bare-process')], {
      BENCH_ORIGIN: `https://127.0.0.1:${this.port}`,
      BENCH_PATH: path,
      BENCH_COUNT: String(deliveries),
      BENCH_CONNECTIONS: String(connections),
      BENCH_CERT: this.certFile,
      BENCH_BODY: body,
    })
    await this.stats()
    return (JSON.parse(text) as { perSecond: number }).perSecond
  }

  /** Deliveries a second, from the first to the last that the receiver saw. */
  async courier(tenantId: string): Promise<number> {
    const { deliveries, connections } = this.options
    const events = Math.ceil(deliveries / Math.ceil(connections / PER_ENDPOINT))
    const wanted = events * Math.ceil(connections / PER_ENDPOINT)
    for (let from = 0; from < events; from += 500) {
      await Promise.all(Array.from({ length: Math.min(500, events - from) }, () => this.tell(tenantId)))
    }
    let [count, firstAtMs, lastAtMs] = [0, 0, 0]
    while (count < wanted) {
      await sleep(200)
      const stats = await this.stats()
      if (stats.count === 0) continue
      count += stats.count
      firstAtMs ||= stats.firstAtMs
      lastAtMs = stats.lastAtMs
    }
    return wanted / ((lastAtMs - firstAtMs) / 1_000)
  }

  /** Events at a constant rate to many endpoints. @returns p99 of those that answer, milliseconds */
  async steady(withHanging: boolean): Promise<number> {
    const { endpoints, seconds } = this.options
    const tenants = Math.max(1, Math.round(endpoints / 100))
    const each = Math.round(endpoints / tenants)
    const pathOf = (i: number): string => (withHanging && i % 10 === 9 ? '/hang' : '/timed')
    const ids: string[] = []
    for (let i = 0; i < tenants; i++) ids.push(await this.tenant(each, pathOf))
    const everyMs = 1_000 / (STEADY_PER_SECOND / each)
    const perEvent = Array.from({ length: each }, (_, i) => pathOf(i)).filter((path) => path === '/timed').length
    await this.stats()
    let wanted = 0
    const startedAt = performance.now()
    for (let i = 0; performance.now() - startedAt < seconds * 1_000; i++) {
      await this.tell(ids[i % tenants] ?? '')
      wanted += perEvent
      await sleep(Math.max(0, startedAt + i * everyMs - performance.now()))
    }
    const latencies: number[] = []
    while (latencies.length < wanted) {
      await sleep(500)
      latencies.push(...(await this.stats()).latenciesMs)
    }
    for (const id of ids) await this.remove(id)
    return latencies.toSorted((one, other) => one - other)[Math.floor(latencies.length * 0.99)] ?? Number.NaN
  }

  private async tell(tenantId: string): Promise<void> {
    const cause = randomBytes(8).toString('hex')
    const data = { old_key_id: 'key_old', new_key_id: cause }
    const id = eventId(this.idsOf(tenantId), 'apikey.rotated', cause)
    const text = storedText(id, { tenantId, type: 'apikey.rotated', cause, data })
    await publishOrThrow(this.publish, eventsSubject(tenantId, 'apikey.rotated'), Buffer.from(text), id)
  }

  private async stats() {
    const answered = await request(`https://127.0.0.1:${this.port}/stats`, { dispatcher: this.agent })
    return (await answered.body.json()) as {
      count: number
      firstAtMs: number
      lastAtMs: number
      latenciesMs: number[]
    }
  }
}

const own = (name: string): string => fileURLToPath(new URL(`./${name}.js`, import.meta.url))
