/** The consumers of a run: walks over pages, exports, webhooks, and what is shown at the end. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectService, type HttpServiceClient, type RecordPage } from '../../../internal/local/replay/client.js'
import { launchDnsServer } from '../dns-server.js'
import { answerChallenge, launchReceiver, RECEIVER_CERTIFICATE, type Receiver } from '../receiver.js'
import { atEnd } from '../run/at-end.js'
import type { TenantAccess } from './calls.js'
import type { Delivered, Shown, ShownRecord, Total, Walk } from './checker.js'

/** A tenant's client of one gateway; it repeats what gets no answer. */
export function clientOf(url: string, { apiKey }: TenantAccess, giveUpMs: number): HttpServiceClient {
  const client = connectService(url, apiKey, 4, '', { answerMsMax: 8_000, giveUpMs })
  atEnd(() => client.close())
  return client
}

/** Follows `next_cursor` to the end, page by page from one gateway and the other. */
async function walkAll(clients: readonly HttpServiceClient[]): Promise<ShownRecord[]> {
  const records: ShownRecord[] = []
  let cursor: string | undefined
  for (let turn = 0; ; turn++) {
    const { data, page }: RecordPage = await (clients[turn % clients.length] as HttpServiceClient).page(200, cursor)
    records.push(...data)
    if (!page.has_more) return records
    cursor = page.next_cursor
  }
}

/**
 * Walks over the records of the tenants in turn until it is stopped, and lets another tenant try what it has seen.
 *
 * @param unexpected gets a line for each answer that gives a tenant something of another
 */
export async function walkOn(
  clients: readonly (readonly HttpServiceClient[])[],
  signal: AbortSignal,
  pauseMs: number,
  unexpected: string[],
): Promise<Walk[]> {
  const walks: Walk[] = []
  const seen = clients.map(() => new Set<string>())
  for (let tenant = 0; !signal.aborted; tenant = (tenant + 1) % clients.length) {
    const own = clients[tenant] ?? []
    const known = seen[tenant] as Set<string>
    const before = new Set(known)
    const records = await walkAll(own)
    const costs = records.map(({ cost_usd: cost }) => cost)
    for (const cost of costs) known.add(cost)
    walks.push({ tenant, costs, before })
    if (records.length > 1) {
      const other = clients[(tenant + 1) % clients.length]?.[walks.length % own.length] as HttpServiceClient
      unexpected.push(...(await triedByAnother(own[0] as HttpServiceClient, other, (records[0] as ShownRecord).id)))
    }
    await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
  }
  return walks
}

/** A tenant asks for the record of another one, and goes on with its cursor. */
async function triedByAnother(owner: HttpServiceClient, other: HttpServiceClient, id: string): Promise<string[]> {
  const { page } = await owner.page(1, undefined)
  const answers = [
    await other.get(`/v1/attribution/${id}`),
    await other.get(`/v1/attribution?limit=1&cursor=${page.next_cursor}`),
  ]
  return answers.flatMap(({ status, body }) =>
    status === 403 ? [] : [`another tenant is answered ${status}: ${body.slice(0, 400)}`],
  )
}

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const DAY_MS = 24 * 60 * 60 * 1000

/** Orders an export of all records and waits for its end. @returns what its manifest counts */
export async function exportAll(client: HttpServiceClient): Promise<Total> {
  const period = { from: dayOf(Date.now() - DAY_MS), to: dayOf(Date.now() + DAY_MS) }
  const ordered = await client.post(
    '/v1/exports/focus',
    'application/json',
    JSON.stringify({ format: 'focus', period }),
  )
  if (ordered.status !== 202) throw new Error(`no export (${ordered.status}): ${ordered.body}`)
  const { job_id: id } = JSON.parse(ordered.body) as { readonly job_id: string }
  for (;;) {
    const { status, body } = await client.get(`/api/v1/jobs/${id}`)
    const job = JSON.parse(body) as {
      readonly status: string
      readonly manifest_url?: string
      readonly failure: unknown
    }
    if (status !== 200 || job.status === 'failed') throw new Error(`the export ${id} failed (${status}): ${body}`)
    if (job.manifest_url !== undefined) {
      const { pathname, search } = new URL(job.manifest_url, 'http://127.0.0.1')
      const manifest = await client.get(pathname + search)
      if (manifest.status !== 200) throw new Error(`no manifest (${manifest.status}): ${manifest.body}`)
      const { everything } = JSON.parse(manifest.body) as {
        readonly everything: { readonly count: number; readonly cost_usd: string }
      }
      return { count: everything.count, costUsd: everything.cost_usd }
    }
    await sleep(250)
  }
}

async function reportOf(client: HttpServiceClient): Promise<Total> {
  const period = `from=${dayOf(Date.now() - DAY_MS)}&to=${dayOf(Date.now() + 2 * DAY_MS)}`
  const { status, body } = await client.get(`/v1/reports/usage?${period}`)
  if (status !== 200) throw new Error(`no report (${status}): ${body}`)
  const { data } = JSON.parse(body) as {
    readonly data: readonly { readonly calls: number; readonly cost_usd: string }[]
  }
  if (data.length > 1) throw new Error(`a total of ${data.length} rows: ${body}`)
  return { count: data[0]?.calls ?? 0, costUsd: data[0]?.cost_usd ?? '0' }
}

/** What a tenant is shown once its report has not changed for a while, or so many milliseconds have passed. */
export async function settled(
  tenantId: string,
  clients: readonly HttpServiceClient[],
  accepted: number,
  { quietMs, msMax }: { readonly quietMs: number; readonly msMax: number },
): Promise<Shown> {
  const client = clients[0] as HttpServiceClient
  const startedAt = performance.now()
  let report = await reportOf(client)
  for (let sinceMs = performance.now(); performance.now() - startedAt < msMax; ) {
    await sleep(250)
    const next = await reportOf(client)
    if (next.count !== report.count) sinceMs = performance.now()
    report = next
    if (report.count >= accepted && performance.now() - sinceMs > quietMs) break
  }
  const records = await walkAll(clients)
  return { tenantId, records, report: await reportOf(client), exported: await exportAll(client) }
}

export interface Webhooks {
  /** For `up`: where the receiver is found, and how it is believed. */
  readonly args: readonly string[]
  /** Subscribes a tenant; resolves when its endpoint is verified. */
  subscribe(client: HttpServiceClient, tenant: number): Promise<void>
  delivered(): Delivered[]
}

export async function openWebhooks(): Promise<Webhooks> {
  const dns = await launchDnsServer(() => ['127.0.0.1'])
  atEnd(() => dns.close())
  const receiver: Receiver = await launchReceiver()
  atEnd(() => receiver.close())
  receiver.answer = (response, received) =>
    received.json.type === 'webhook.verification'
      ? answerChallenge(response, received)
      : void response.writeHead(200).end()
  const caFile = join(mkdtempSync(join(tmpdir(), 'attribution-ca-')), 'ca.pem')
  writeFileSync(caFile, RECEIVER_CERTIFICATE.cert)
  return {
    args: [
      ...['--webhook-allowed-networks', '127.0.0.0/8', '--webhook-resolvers', dns.address],
      ...['--webhook-ports', String(receiver.port), '--webhook-ca-file', caFile],
      // What is lost with a killed broker or courier must not wait for hours.
      ...['--tuning', `webhook-retry-maxima-ms=${Array.from({ length: 30 }, () => 1_000).join()}`],
    ],
    async subscribe(client, tenant) {
      const url = `https://hooks.example.com:${receiver.port}/${tenant}`
      const body = JSON.stringify({ url, events: ['attribution.materialized'] })
      const created = await client.post('/api/v1/webhooks', 'application/json', body)
      if (created.status !== 201) throw new Error(`no webhook (${created.status}): ${created.body}`)
      const { id } = JSON.parse(created.body) as { readonly id: string }
      for (;;) {
        const { body: endpoint } = await client.get(`/api/v1/webhooks/${id}`)
        if ((JSON.parse(endpoint) as { readonly status: string }).status === 'verified') return
        await sleep(50)
      }
    },
    delivered: () =>
      receiver.received
        .filter(({ json }) => json.type === 'attribution.materialized')
        .map(({ path, json }) => ({
          tenant: Number(path.slice(1)),
          tenantId: json.tenant_id,
          costUsd: json.data.cost_usd,
        })),
  }
}
