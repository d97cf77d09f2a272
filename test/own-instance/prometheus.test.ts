/**
 * A real Prometheus beside the running product: the boards show something, and alerts fire by real faults. Of the rules only the
 * durations are shortened, so that nobody waits for minutes.
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ensurePromtool } from '../../deploy/setup/promtool.mjs'
import { freePort } from '../../internal/local/supervisor/instance.js'
import { ROOT } from '../support/docs.js'
import { postTo, wireEvent } from '../support/gateway.js'
import { type Launched, launchCommand } from '../support/processes.js'
import { launchService, type RunningService } from '../support/service.js'

const MONITORING = join(ROOT, 'deploy', 'monitoring')
const SPOOL_BYTES_MAX = 1024 * 1024

let service: RunningService
let prometheus: Launched
let url: string
let folder: string

beforeAll(async () => {
  const [metricsPort, port] = [await freePort(), await freePort()]
  service = await launchService({
    args: ['--metrics-port', String(metricsPort), '--spool-bytes-max', String(SPOOL_BYTES_MAX)],
  })
  folder = mkdtempSync(join(tmpdir(), 'attribution-prometheus-'))
  const rules = readFileSync(join(MONITORING, 'alerts.yaml'), 'utf8')
    .replace(/for: \w+/g, 'for: 0s')
    .replace('attribution_log_oldest_seconds) > 60', 'attribution_log_oldest_seconds) > 5')
  writeFileSync(join(folder, 'alerts.yaml'), rules)
  // JSON is YAML.
  const config = {
    global: { scrape_interval: '5s', scrape_timeout: '5s', evaluation_interval: '1s' },
    rule_files: ['alerts.yaml'],
    scrape_configs: [{ job_name: 'attribution', static_configs: [{ targets: [`127.0.0.1:${metricsPort}`] }] }],
  }
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config))
  url = `http://127.0.0.1:${port}`
  const flags = ['config.file=prometheus.yml', 'storage.tsdb.path=data', `web.listen-address=127.0.0.1:${port}`]
  prometheus = launchCommand(join(dirname(await ensurePromtool(ROOT)), 'prometheus'), {
    args: flags.map((flag) => `--${flag}`),
    cwd: folder,
  })
  await prometheus.line(/ready to receive web requests/)
})

afterAll(async () => {
  await prometheus.kill('SIGTERM')
  await service.stop()
  rmSync(folder, { recursive: true, force: true })
})

// biome-ignore lint/suspicious/noExplicitAny: the API of Prometheus is not ours
const asked = async (path: string): Promise<any> => (await fetch(`${url}/api/v1/${path}`)).json()

const send = async (stated: Readonly<Record<string, unknown>> = {}): Promise<number> => {
  const event = JSON.stringify(wireEvent(stated))
  const answer = await postTo(`${service.baseUrl}/api/v1/invocations`, service.credentials.api_key, event, randomUUID())
  return answer.status
}

/** Names of the alerts that fire. */
const firing = async (): Promise<string[]> =>
  (await asked('alerts')).data.alerts.flatMap(
    ({ state, labels }: { readonly state: string; readonly labels: { readonly alertname: string } }) =>
      state === 'firing' ? [labels.alertname] : [],
  )

async function whileFrozen(role: string, run: () => Promise<void>): Promise<void> {
  const pid = service.pid(role)
  process.kill(pid, 'SIGSTOP')
  try {
    await run()
  } finally {
    process.kill(pid, 'SIGCONT')
  }
}

interface Board {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
}

const QUERIES = readdirSync(join(MONITORING, 'grafana')).flatMap((file) =>
  (JSON.parse(readFileSync(join(MONITORING, 'grafana', file), 'utf8')) as Board).panels.flatMap(({ targets }) =>
    targets.map(({ expr }) => expr),
  ),
)
/** Nothing of it happens here. */
const SILENT = /webhook_attempts|exports_total|log_retries/

test('each query of the boards shows something on an instance that gets events', async () => {
  let index = 0
  const unseen = new Set(QUERIES.filter((expr) => !SILENT.test(expr)))
  await expect
    .poll(
      async () => {
        // Every other one names nobody.
        await send({ attributed_service: index++ % 2 === 0 ? 'checkout' : undefined })
        for (const expr of unseen) {
          const query = encodeURIComponent(expr.replaceAll('$__rate_interval', '1m').replaceAll('[1h]', '[1m]'))
          const { status, data, error } = await asked(`query?query=${query}`)
          expect([status, error], expr).toEqual(['success', undefined])
          if (data.result.length > 0) unseen.delete(expr)
        }
        return [...unseen]
      },
      { interval: 500 },
    )
    .toEqual([])
  expect(QUERIES.length).toBeGreaterThan(25)
})

test('no alert fires while nothing is wrong', async () => {
  expect(await firing()).toEqual([])
})

test('calls of a model that nobody has priced raise their alert', async () => {
  await expect
    .poll(
      async () => {
        await send({ provider: 'nobody', requested_model: 'unheard-of', served_model: 'unheard-of' })
        return firing()
      },
      { interval: 200 },
    )
    .toContain('AttributionUnpricedCalls')
})

test('a role that hangs raises its alert, which ends with the fault', async () => {
  await whileFrozen('courier', () => expect.poll(firing).toContain('AttributionRoleMissing'))

  await expect.poll(firing).not.toContain('AttributionRoleMissing')
})

test('a read model that hangs raises the alert of late attribution, and of late records once it goes on', async () => {
  await whileFrozen('store', async () => {
    // More than one in a hundred of all events are late.
    const statuses = await Promise.all(Array.from({ length: 100 }, () => send()))
    expect(new Set(statuses)).toEqual(new Set([202]))
    await expect.poll(firing).toContain('AttributionLagging')
  })

  await expect
    .poll(
      async () => {
        await send()
        return firing()
      },
      { interval: 500 },
    )
    .toContain('AttributionVisibleLate')
  await expect.poll(firing).not.toContain('AttributionLagging')
})

test('a broker that hangs raises the alerts of the spool, and of refused events once the spool is full', async () => {
  const tags = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`tag-${i}`, 'v'.repeat(256)]))
  await whileFrozen('nats', async () => {
    expect(await send({ tags })).toBe(202)
    await expect.poll(firing).toContain('AttributionSpooling')
    await expect
      .poll(
        async () => {
          await Promise.all(Array.from({ length: 20 }, () => send({ tags })))
          return firing()
        },
        { interval: 200 },
      )
      .toContain('AttributionEventsRefused')
  })

  await expect.poll(firing).not.toContain('AttributionSpooling')
})
