import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { connectService, type HttpServiceClient } from '../../internal/local/replay/client.js'
import { startProduct } from '../eval/product.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import { Processes } from '../processes.js'
import { fill, untilSettled } from '../reports/fill.js'
import { writeResult } from '../results.js'
import { table } from '../table.js'

/**
 * Question: how long does a backup of a large instance take, for how long do readers pause, how large is what a later
 * one adds, and how long is it from nothing to an instance that answers (RTO)?
 *
 * The product runs as `npm start` starts it, with the calls of `reports`, settled, and takes 20 calls per second
 * meanwhile.
 */
export interface BackupOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly rows: number
}

const RATE = 20
/** Between the two backups. */
const NEW_CALLS = 10_000

export const backupQuestion = (options: BackupOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'backup', signal, (folder, processes) => answer(options, folder, processes))

interface Credentials {
  readonly tenant_id: string
  readonly api_key: string
}

async function answer(options: BackupOptions, folder: string, processes: Processes): Promise<void> {
  const { checkout, natsServerBin, rows } = options
  const logsOfLost = join(folder, 'logs')
  mkdirSync(logsOfLost)
  const lost = new Processes(logsOfLost)
  const product = await startProduct(folder, natsServerBin, lost)
  const credentials = JSON.parse(readFileSync(join(product.dataDir, 'credentials.json'), 'utf8')) as Credentials
  await fill(product.dataDir, credentials.tenant_id, rows)
  await untilSettled(product.dataDir)
  const place = join(folder, 'backups')
  const create = () => timed(checkout, ['create', '--data-dir', product.dataDir, '--to', place, '--json'])

  const client = connectService(product.baseUrl, credentials.api_key, 8)
  const load = steady(client)
  const first = await create()
  for (let sent = 0; sent < NEW_CALLS; sent += 500) {
    const body = JSON.stringify(Array.from({ length: 500 }, call))
    await client.post('/api/v1/invocations', 'application/json', body)
  }
  const second = await create()
  const visible = await load.stop()
  await client.close()

  const verified = await timed(checkout, ['verify', '--from', place])
  await lost.stop()
  rmSync(product.dataDir, { recursive: true })
  const elsewhere = join(folder, 'elsewhere')
  const to = join(elsewhere, 'product')
  const restored = await timed(checkout, ['restore', '--from', place, '--to', to, '--nats-server-bin', natsServerBin])
  const startedAt = performance.now()
  const again = await startProduct(elsewhere, natsServerBin, processes)
  const startS = (performance.now() - startedAt) / 1_000
  const asked = connectService(again.baseUrl, credentials.api_key, 1)
  const { body } = await asked.get('/v1/reports/usage')
  await asked.close()

  const figures = {
    first: { seconds: first.seconds, ...(JSON.parse(first.said) as Backup) },
    second: { seconds: second.seconds, ...(JSON.parse(second.said) as Backup) },
    verify_s: verified.seconds,
    restore_s: restored.seconds,
    start_s: startS,
    calls_of_last_30_days: JSON.parse(body).data[0].calls,
    visible_ms: visible,
  }
  writeResult(join(checkout, 'bench', 'results', 'backup.json'), {
    question: 'how long do a backup and a restore take, and for how long do readers pause',
    provenance: provenance(checkout),
    load: { rows, rate: RATE, new_calls: NEW_CALLS },
    figures,
  })
  const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(0)} MiB`
  const rowOf = (name: string, backup: typeof figures.first, bytes: number): readonly string[] => [
    ...[name, `${backup.seconds.toFixed(1)} s`, `${backup.paused_ms} ms`, mebibytes(bytes)],
  ]
  process.stdout.write(
    `\n${table([
      ['a backup', 'took', 'readers paused', 'bytes'],
      rowOf('first', figures.first, figures.first.bytes),
      rowOf('second, what is new', figures.second, figures.second.new_bytes),
      ['verify', `${verified.seconds.toFixed(1)} s`, '', ''],
      ['restore', `${restored.seconds.toFixed(1)} s`, '', ''],
      ['start of the restored', `${startS.toFixed(1)} s`, '', ''],
    ])}\n  a call visible meanwhile: p50 ${visible.p50} ms, p99 ${visible.p99} ms, most ${visible.most} ms\n`,
  )
}

interface Backup {
  readonly paused_ms: number
  readonly bytes: number
  readonly new_bytes: number
}

async function timed(
  checkout: string,
  args: readonly string[],
): Promise<{ readonly seconds: number; readonly said: string }> {
  const main = join(checkout, 'dist', 'cmd', 'attribution', 'main.js')
  const startedAt = performance.now()
  const { stdout } = await promisify(execFile)(process.execPath, [main, 'backup', ...args], {
    env: { ...process.env, ATTRIBUTION_BACKUP_PASSPHRASE: 'of the bench' },
  })
  return { seconds: (performance.now() - startedAt) / 1_000, said: stdout }
}

const call = () => ({
  event_id: randomUUID(),
  ingestion_timestamp: new Date().toISOString(),
  ingestion_layer: 'application',
  provider: 'openai',
  requested_model: 'gpt-4o',
  attributed_service: 'service-00',
  input_tokens: 1_000,
  output_tokens: 200,
})

/** Twenty calls per second; of every tenth, the time from its 202 until it can be read. */
function steady(client: HttpServiceClient) {
  const times: number[] = []
  let isOver = false
  const watch = async (id: string): Promise<void> => {
    const acceptedAt = performance.now()
    while ((await client.find(id.replace('inv_', 'attr_'))) === undefined) await sleep(20)
    times.push(performance.now() - acceptedAt)
  }
  const sending = (async () => {
    const watched: Promise<void>[] = []
    for (let n = 0; !isOver; n++) {
      const id = await client.send(call())
      if (n % 10 === 0) watched.push(watch(id))
      await sleep(1_000 / RATE)
    }
    await Promise.all(watched)
  })()
  return {
    async stop() {
      isOver = true
      await sending
      const sorted = times.sort((one, other) => one - other)
      const at = (share: number): number => Math.round(sorted[Math.ceil(share * sorted.length) - 1] ?? 0)
      return { count: sorted.length, p50: at(0.5), p99: at(0.99), most: at(1) }
    },
  }
}
