import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { collectDefaultMetrics, type Metric, Registry, type RegistryContentType } from 'prom-client'
import type { Logger } from './log.js'
import { METRICS, readAll } from './metrics.js'

export interface MetricsSettings {
  readonly metricsHost: string
  /** 0: no metrics. */
  readonly metricsPort: number
  /** Empty: none is asked for. */
  readonly metricsToken: string
}

export interface MetricsServer {
  close(): Promise<void>
}

/** The event loop is looked at this often, in milliseconds: each look wakes the process. */
const LOOP_LOOK_MS = 100

/**
 * Serves the metrics of this process at `GET /metrics`: Prometheus text, OpenMetrics for a reader that accepts it, and
 * JSON for the supervisor, which joins those of all roles.
 *
 * @throws Error when the address cannot be listened on
 */
export async function serveMetrics(role: string, settings: MetricsSettings, log: Logger): Promise<MetricsServer> {
  if (settings.metricsPort === 0) return { close: async () => undefined }
  METRICS.setDefaultLabels({ role })
  collectDefaultMetrics({ register: METRICS, eventLoopMonitoringPrecision: LOOP_LOOK_MS })
  const failed = (cause: unknown): void => log.warn({ err: cause }, 'some metrics could not be read')
  return serve(settings, async () => {
    await readAll(failed)
    return (await METRICS.getMetricsAsJSON()) as unknown as Family[]
  })
}

/** Serves the metrics of several processes as one. @param sources their own addresses, by role */
export async function serveJoinedMetrics(
  settings: MetricsSettings,
  sources: ReadonlyMap<string, string>,
): Promise<MetricsServer> {
  return serve(settings, async () => {
    const read = await Promise.all([...sources].map(async ([role, url]) => ({ role, families: await readFrom(url) })))
    const joined = new Map<string, Family>()
    for (const family of [upFamily(read), ...read.flatMap(({ families = [] }) => families)]) {
      const { name, values } = family
      joined.set(name, { ...family, values: [...(joined.get(name)?.values ?? []), ...values] })
    }
    return [...joined.values()]
  })
}

/** A metric as prom-client gives it in JSON, with the default labels in each value. */
interface Family {
  readonly name: string
  readonly help: string
  readonly type: string
  readonly values: readonly { readonly labels: Readonly<Record<string, string | number>>; readonly value: number }[]
}

const upFamily = (read: readonly { readonly role: string; readonly families: unknown }[]): Family => ({
  name: 'attribution_role_up',
  help: 'Whether the metrics of a role could be read.',
  type: 'gauge',
  values: read.map(({ role, families }) => ({ labels: { role }, value: families === undefined ? 0 : 1 })),
})

/**
 * A role that starts, or hangs, is missing and has `attribution_role_up` 0. Looks end sooner; Prometheus waits for ten
 * seconds.
 */
const READ_MS_MAX = 4_000

async function readFrom(url: string): Promise<Family[] | undefined> {
  try {
    const signal = AbortSignal.timeout(READ_MS_MAX)
    const answer = await fetch(url, { headers: { accept: 'application/json' }, signal })
    return answer.ok ? ((await answer.json()) as Family[]) : undefined
  } catch {
    return undefined
  }
}

type Form = 'json' | 'prometheus' | 'openmetrics'

const CONTENT_TYPE: Readonly<Record<Form, string>> = {
  json: 'application/json',
  prometheus: Registry.PROMETHEUS_CONTENT_TYPE,
  openmetrics: Registry.OPENMETRICS_CONTENT_TYPE,
}

/**
 * A registry for one text. prom-client's OpenMetrics takes `_total` off the name of a counter, and puts it on again; of
 * its own registry it would do so in place, for all later texts.
 */
function textOf(families: readonly Family[], form: Exclude<Form, 'json'>): Promise<string> {
  const isOpenMetrics = form === 'openmetrics'
  const registry = new Registry<RegistryContentType>()
  registry.setContentType(isOpenMetrics ? Registry.OPENMETRICS_CONTENT_TYPE : Registry.PROMETHEUS_CONTENT_TYPE)
  for (const family of families) {
    const isStripped = isOpenMetrics && family.type === 'counter'
    const shown = isStripped ? { ...family, name: family.name.replace(/_total$/, '') } : family
    registry.registerMetric({ ...shown, get: () => shown } as unknown as Metric)
  }
  return registry.metrics()
}

const formOf = ({ headers: { accept = '' } }: IncomingMessage): Form => {
  if (accept.includes('application/openmetrics-text')) return 'openmetrics'
  return accept.includes('application/json') ? 'json' : 'prometheus'
}

async function serve(
  { metricsHost, metricsPort, metricsToken }: MetricsSettings,
  read: () => Promise<readonly Family[]>,
): Promise<MetricsServer> {
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const end = (status: number, text: string, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(text)
    }
    if (request.url?.split('?')[0] !== '/metrics') return end(404, 'The metrics are at /metrics.\n')
    if (request.method !== 'GET') return end(405, 'Send GET.\n', { allow: 'GET' })
    if (metricsToken !== '' && !isBearer(request.headers.authorization, metricsToken)) {
      return end(401, 'Send the token as "Authorization: Bearer".\n', { 'www-authenticate': 'Bearer' })
    }
    const form = formOf(request)
    const families = await read()
    const text = form === 'json' ? JSON.stringify(families) : await textOf(families, form)
    end(200, text, { 'content-type': CONTENT_TYPE[form] })
  }
  const server = createServer((request, response) => {
    answer(request, response).catch((cause: unknown) => {
      if (!response.headersSent) response.writeHead(500)
      response.end(`${cause instanceof Error ? cause.message : 'The metrics could not be read.'}\n`)
    })
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(metricsPort, metricsHost, resolve)
  })
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Digests have one length, and take as long to compare wherever they differ. */
const isBearer = (header: string | undefined, token: string): boolean =>
  timingSafeEqual(digest(header ?? ''), digest(`Bearer ${token}`))
