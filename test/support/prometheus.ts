/** A running product with a real Prometheus beside it, which scrapes it and evaluates our alerts. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import { ensurePromtool } from '../../deploy/setup/promtool.mjs'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { ROOT } from './docs.js'
import { freeze, thaw } from './freeze.js'
import { postTo, wireEvent } from './gateway.js'
import { launchCommand } from './processes.js'
import { atEnd } from './run/at-end.js'
import { launchService, type RunningService } from './service.js'

export const MONITORING = join(ROOT, 'deploy', 'monitoring')

export interface WatchedOptions {
  /** Arguments of the product, besides the port of its metrics. */
  readonly args: readonly string[]
  /**
   * Shortens durations and thresholds of the rules, so that nobody waits for minutes. No alert waits before it fires.
   */
  readonly shorten: (rules: string) => string
  /** Also how long a scrape may take. */
  readonly scrapeSeconds: number
}

export interface WatchedService {
  readonly service: RunningService
  /** What the API of Prometheus answers. */
  // biome-ignore lint/suspicious/noExplicitAny: the API of Prometheus is not ours
  asked(path: string): Promise<any>
  /** Names of the alerts that fire. */
  firing(): Promise<string[]>
  /** Resolves once an alert fires. @throws Error with what Prometheus and the gateway saw instead */
  untilFiring(alert: string, meanwhile?: () => Promise<unknown>): Promise<void>
  /** Sends an event. @returns the status of the answer */
  send(stated?: Readonly<Record<string, unknown>>): Promise<number>
  /** Runs something while a role hangs. */
  whileFrozen(role: string, run: () => Promise<void>): Promise<void>
  stop(): Promise<void>
}

/** Resolves once the product and Prometheus are ready. */
export async function launchWatched({ args, shorten, scrapeSeconds }: WatchedOptions): Promise<WatchedService> {
  const metricsPort = await freePort()
  const service = await launchService({ args: ['--metrics-port', String(metricsPort), ...args] })
  const { asked, firing, stop } = await launchPrometheus({ metricsPort, shorten, scrapeSeconds })
  const seen = async () => ({
    targets: (await asked('targets')).data.activeTargets,
    metrics: await metricsOf(metricsPort),
    log: readFileSync(join(service.dataDir, 'logs', 'gateway.log'), 'utf8')
      .split('\n')
      .slice(-LINES_SHOWN),
  })
  return {
    service,
    asked,
    firing,
    untilFiring: (alert, meanwhile) =>
      expect
        .poll(
          async () => {
            await meanwhile?.()
            return firing()
          },
          { interval: 200 },
        )
        .toContain(alert)
        .catch(async (cause: unknown) => {
          throw new Error(`${alert} does not fire:\n${JSON.stringify(await seen(), null, 1)}`, { cause })
        }),
    async send(stated = {}) {
      const event = JSON.stringify(wireEvent(stated))
      const address = `${service.baseUrl}/api/v1/invocations`
      return (await postTo(address, service.credentials.api_key, event, randomUUID())).status
    },
    async whileFrozen(role, run) {
      const pid = service.pid(role)
      await freeze(pid)
      try {
        await run()
      } finally {
        thaw(pid)
      }
    },
    async stop() {
      await stop()
      await service.stop()
    },
  }
}

const LINES_SHOWN = 40
/** Those that say whether the roles answer, and how full log and spool are. */
const SHOWN = /^attribution_(role_up|spool|log_|stream_)/

async function metricsOf(port: number): Promise<readonly string[]> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return text.split('\n').filter((line) => SHOWN.test(line))
}

/** A Prometheus that scrapes what serves metrics on a port, and evaluates our alerts. */
export async function launchPrometheus({
  metricsPort,
  shorten,
  scrapeSeconds,
}: Pick<WatchedOptions, 'shorten' | 'scrapeSeconds'> & { readonly metricsPort: number }) {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-prometheus-'))
  atEnd(() => rm(folder, { recursive: true, force: true }))
  const rules = readFileSync(join(MONITORING, 'alerts.yaml'), 'utf8').replace(/for: \w+/g, 'for: 0s')
  // How full its disks are is the machine's own.
  const ofTheProduct = rules.replaceAll(
    'attribution_bound_used_ratio',
    'attribution_bound_used_ratio{bound=~"log|spool"}',
  )
  writeFileSync(join(folder, 'alerts.yaml'), shorten(ofTheProduct))
  const every = `${scrapeSeconds}s`
  // JSON is YAML.
  const config = {
    global: { scrape_interval: every, scrape_timeout: every, evaluation_interval: '1s' },
    rule_files: ['alerts.yaml'],
    scrape_configs: [{ job_name: 'attribution', static_configs: [{ targets: [`127.0.0.1:${metricsPort}`] }] }],
  }
  writeFileSync(join(folder, 'prometheus.yml'), JSON.stringify(config))
  const port = await freePort()
  const flags = ['config.file=prometheus.yml', 'storage.tsdb.path=data', `web.listen-address=127.0.0.1:${port}`]
  const prometheus = launchCommand(join(dirname(await ensurePromtool(ROOT)), 'prometheus'), {
    args: flags.map((flag) => `--${flag}`),
    cwd: folder,
  })
  await prometheus.line(/ready to receive web requests/)
  const asked: WatchedService['asked'] = async (path) => (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json()
  return {
    asked,
    firing: async (): Promise<string[]> =>
      (await asked('alerts')).data.alerts.flatMap(
        ({ state, labels }: { readonly state: string; readonly labels: { readonly alertname: string } }) =>
          state === 'firing' ? [labels.alertname] : [],
      ),
    stop: async () => {
      await prometheus.kill('SIGTERM')
    },
  }
}
