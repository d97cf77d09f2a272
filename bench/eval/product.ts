import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Answer, connectService, type HttpServiceClient } from '../../internal/local/replay/client.js'
import { answersAt } from '../../internal/local/supervisor/readiness.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import type { Processes } from '../processes.js'

/** The whole product as `npm start` runs it, spoken to over HTTP and by its command line alone. */
export interface Product {
  /** A new tenant, spoken to with a key that has all scopes. */
  createTenant(name: string): Promise<ProductTenant>
  readonly baseUrl: string
  /** Of the process that starts the others. */
  readonly pid: number
  readonly dataDir: string
}

export interface ProductTenant {
  readonly id: string
  /** Of the first key. */
  readonly secret: string
  /** Makes an API key. @returns its secret */
  createKey(name: string): Promise<string>
  addService(service: { readonly name: string; readonly owner: string }): Promise<void>
  /** In one request. @returns invocation ids, in the order of the events */
  send(secret: string, events: readonly object[]): Promise<string[]>
  /** Newest first, down to an instant. */
  records(fromMs: number): Promise<ProductRecord[]>
  /** Resolves when the record says so. */
  override(id: string, service: string, owner: string): Promise<void>
  /** Has a model trained, and waits. */
  train(): Promise<{ readonly outcome: string; readonly model_id: string | null }>
  card(modelId: string): Promise<object>
  close(): Promise<void>
}

export interface ProductRecord {
  readonly id: string
  readonly invocation_id: string
  readonly service: string
  readonly owner: string
  readonly cost_usd: string
  readonly output_state: string
  readonly event_time: string
  readonly interpretation: {
    readonly stage_origin: string
    readonly confidence: number
    readonly confidence_band: string
    readonly evidence_basis: string
    readonly model_version: string
    readonly degradation_state: string
  }
}

const mainOf = (role: string): string => fileURLToPath(new URL(`../../cmd/${role}/main.js`, import.meta.url))

/** Far above the load here: limits are not under test. */
const RATE = '100000'
const RATES = {
  ATTRIBUTION_RATE_CONTROL: RATE,
  ATTRIBUTION_RATE_READ: RATE,
  ATTRIBUTION_RATE_REPORT: RATE,
  ATTRIBUTION_RATE_INGEST: RATE,
  ATTRIBUTION_RATE_TOKEN: RATE,
}
const CONNECTIONS = 16
const PAGE = 200
const POLL_MS = 1_000

/** @param how ports, 0: none; `env`: settings beside the rates */
export async function startProduct(
  folder: string,
  natsServerBin: string,
  processes: Processes,
  how: {
    readonly intakePort?: number
    readonly grpcPort?: number
    readonly env?: Readonly<Record<string, string>>
  } = {},
): Promise<Product> {
  const { intakePort = 0, grpcPort = 0, env = {} } = how
  const port = await freePort()
  const dataDir = join(folder, 'product')
  const pid = await processes.start({
    name: 'up',
    command: process.execPath,
    args: [
      mainOf('up'),
      '--port',
      String(port),
      '--intake-port',
      String(intakePort),
      '--intake-grpc-port',
      String(grpcPort),
      '--data-dir',
      dataDir,
      '--nats-server-bin',
      natsServerBin,
    ],
    env: { ...process.env, ...RATES, ...env },
    ready: async (signal) => {
      await answersAt(`http://127.0.0.1:${port}/readyz`)(signal)
      // The last that it starts: it then says where everything is.
      while (!processes.logText('up').includes('is ready')) {
        signal.throwIfAborted()
        await sleep(50)
      }
    },
  })
  const baseUrl = `http://127.0.0.1:${port}`
  const cli = (...args: readonly string[]): Promise<string> =>
    processes.run(args.slice(0, 2).join(' '), process.execPath, [mainOf('attribution'), ...args, '--data-dir', dataDir])
  return {
    baseUrl,
    pid,
    dataDir,
    async createTenant(name) {
      const settings = JSON.stringify({ owner_fallback: 'unassigned' })
      const made = await cli('tenant', 'create', '--name', name, '--settings', settings, '--json')
      const { tenant_id: id, api_key: secret } = JSON.parse(made) as { tenant_id: string; api_key: string }
      return tenantOf(id, baseUrl, secret, cli)
    },
  }
}

function tenantOf(
  id: string,
  baseUrl: string,
  secret: string,
  cli: (...args: readonly string[]) => Promise<string>,
): ProductTenant {
  const client = connectService(baseUrl, secret, CONNECTIONS)
  const senders = new Map<string, HttpServiceClient>()
  const post = async <T>(path: string, body: object): Promise<T> =>
    taken<T>(await client.post(path, 'application/json', JSON.stringify(body)))
  return {
    id,
    secret,
    async createKey(name) {
      return (await post<{ secret: string }>('/api/v1/api-keys', { name, scopes: ['read:attribution'] })).secret
    },
    async addService({ name, owner }) {
      await post('/api/v1/directory/services', { name, owner })
    },
    async send(key, events) {
      const sender = senders.get(key) ?? connectService(baseUrl, key, CONNECTIONS)
      senders.set(key, sender)
      const lines = events.map((event) => JSON.stringify(event))
      const answer = await sender.post('/api/v1/invocations', 'application/x-ndjson', lines.join('\n'))
      const { results } = taken<{ results: readonly { invocation_id?: string }[] }>(answer)
      return results.map(({ invocation_id }) => {
        if (invocation_id === undefined) throw new Error(`an event was refused: ${answer.body.slice(0, 500)}`)
        return invocation_id
      })
    },
    async records(fromMs) {
      const records: ProductRecord[] = []
      for (let cursor: string | undefined; ; ) {
        const { data, page } = await client.page(PAGE, cursor)
        records.push(...(data as unknown as readonly ProductRecord[]))
        cursor = page.next_cursor
        const last = records.at(-1)
        if (cursor === undefined || last === undefined || Date.parse(last.event_time) < fromMs) break
      }
      return records.filter(({ event_time }) => Date.parse(event_time) >= fromMs)
    },
    async override(attributionId, service, owner) {
      await post(`/v1/attribution/${attributionId}/override`, { service, owner, reason: 'looked at' })
      // It may have answered before it took effect (202).
      while ((await client.find(attributionId))?.output_state !== 'overridden') await sleep(POLL_MS)
    },
    async train() {
      return JSON.parse(await cli('model', 'train', '--tenant', id, '--json')) as Awaited<
        ReturnType<ProductTenant['train']>
      >
    },
    async card(modelId) {
      const response = await fetch(`${baseUrl}/v1/models/${modelId}`, { headers: { 'x-api-key': secret } })
      return (await response.json()) as object
    },
    async close() {
      await Promise.all([client, ...senders.values()].map((one) => one.close()))
    },
  }
}

function taken<T>({ status, body }: Answer): T {
  if (status < 200 || status >= 300) throw new Error(`refused (${status}): ${body.slice(0, 500)}`)
  return JSON.parse(body) as T
}
