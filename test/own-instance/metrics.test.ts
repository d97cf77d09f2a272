import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, test } from 'vitest'
import { ensurePromtool } from '../../deploy/setup/promtool.mjs'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { ROOT } from '../support/docs.js'
import { launch } from '../support/processes.js'
import { launchService, type RunningService, UP_MAIN } from '../support/service.js'

const TOKEN = 'a-token-of-the-metrics'
const ACCEPT_OPENMETRICS = { accept: 'application/openmetrics-text; version=1.0.0' }

let service: RunningService
let port: number

beforeAll(async () => {
  port = await freePort()
  const args = ['--metrics-port', String(port), '--metrics-token', TOKEN]
  service = await launchService({ args, roles: ['courier', 'exporter', 'sentinel', 'trainer'] })
})

const read = (headers: Record<string, string> = {}, path = '/metrics', method = 'GET'): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`, { method, headers: { authorization: `Bearer ${TOKEN}`, ...headers } })
const textOf = async (headers?: Record<string, string>): Promise<string> => (await read(headers)).text()

/** The value of a series; its labels in any order. */
function sampleOf(text: string, name: string, labels: Readonly<Record<string, string>>): number | undefined {
  const lines = text.split('\n').filter((line) => line.startsWith(`${name}{`))
  const line = lines.find((each) => Object.entries(labels).every(([key, value]) => each.includes(`${key}="${value}"`)))
  return line === undefined ? undefined : Number(line.slice(line.lastIndexOf(' ')))
}

describe('the metrics of an instance', () => {
  test('say what became of events, from the gateway to the record', async () => {
    const ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
    const event_id = randomUUID()
    await attributed(ask, { event_id, attributed_service: 'checkout', estimated_cost_usd: '1.25' })
    await ask('POST', '/api/v1/invocations', { event_id: 'none' })

    await expect
      .poll(async () => sampleOf(await textOf(), 'attribution_records_total', { confidence_band: 'chargeback_ready' }))
      .toBe(1)
    const text = await textOf()
    expect({
      accepted: sampleOf(text, 'attribution_events_total', { outcome: 'accepted' }),
      rejected: sampleOf(text, 'attribution_events_total', { outcome: 'rejected' }),
      answered: sampleOf(text, 'attribution_http_requests_total', { class: 'ingest', status: '202' }),
      refused: sampleOf(text, 'attribution_http_requests_total', { class: 'ingest', status: '422' }),
      cost: sampleOf(text, 'attribution_cost_usd_total', { export_eligibility: 'eligible' }),
      visible: sampleOf(text, 'attribution_visible_duration_seconds_count', { stage: 'a' }),
      inserted: sampleOf(text, 'attribution_store_inserted_rows_total', { table: 'attributions' }),
    }).toEqual({ accepted: 1, rejected: 1, answered: 1, refused: 1, cost: 1.25, visible: 1, inserted: 1 })
  })

  test('say what the processes hold, and who shares the work', async () => {
    const levels = (text: string) => ({
      keys: sampleOf(text, 'attribution_admission_index_keys', {}),
      conflicts: sampleOf(text, 'attribution_admission_key_conflicts_total', {}),
      gateways: sampleOf(text, 'attribution_members', { role: 'gateway' }),
      attributors: sampleOf(text, 'attribution_members', { role: 'attributor' }),
      withoutModel: sampleOf(text, 'attribution_model_serving_tenants', { state: 'degraded_serving' }),
      deliveries: sampleOf(text, 'attribution_webhook_oldest_seconds', { role: 'courier' }),
    })
    await expect
      .poll(async () => levels(await textOf()), { timeout: 60_000 })
      .toEqual({
        keys: 1,
        conflicts: 0,
        gateways: 1,
        attributors: 1,
        withoutModel: 1,
        deliveries: 0,
      })
    const sizes = (text: string) => [
      sampleOf(text, 'attribution_admission_index_bytes', {}),
      sampleOf(text, 'attribution_store_memory_bytes', { role: 'attributor' }),
      sampleOf(text, 'attribution_store_disk_free_bytes', { role: 'attributor' }),
    ]
    const isKnown = (size: number | undefined): boolean => size !== undefined && size > 0
    await expect.poll(async () => sizes(await textOf()).every(isKnown), { timeout: 60_000 }).toBe(true)
  })

  test('say how much of each bound is in use', async () => {
    const bounds = { log: 'gateway', spool: 'gateway', store: 'attributor', exports: 'exporter' }
    const usedIn = (text: string) =>
      Object.entries(bounds).map(([bound, role]) => sampleOf(text, 'attribution_bound_used_ratio', { bound, role }))
    const isShare = (used: number | undefined): boolean => used !== undefined && used >= 0 && used <= 1

    await expect.poll(async () => usedIn(await textOf()).every(isShare), { timeout: 60_000 }).toBe(true)
    const [log = 1, spool, store = 0, exports = 0] = usedIn(await textOf())
    expect(log).toBeLessThan(0.01)
    expect(spool).toBe(0)
    expect(Math.min(store, exports)).toBeGreaterThan(0)
  })

  test('have the label role, and say that each role answers', async () => {
    const roles = ['gateway', 'attributor', 'courier', 'exporter', 'sentinel', 'trainer']
    const upOf = (text: string) => roles.map((role) => sampleOf(text, 'attribution_role_up', { role }))

    // A background role may still be starting.
    await expect.poll(async () => upOf(await textOf())).toEqual(roles.map(() => 1))
    const text = await textOf()
    const withoutRole = text.split('\n').filter((line) => /^[a-z]/.test(line) && !line.includes('role="'))
    expect(withoutRole).toEqual([])
  })

  test('are accepted by promtool, and are those of deploy/docs/metrics.md', async () => {
    const text = await textOf()
    const promtool = await ensurePromtool(ROOT)
    const checked = spawnSync(promtool, ['check', 'metrics'], { input: ownOf(text), encoding: 'utf8' })
    expect([checked.status, checked.stdout, checked.stderr]).toEqual([0, '', ''])

    const served = new Set(
      [...text.matchAll(/^# TYPE (attribution_\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`),
    )
    const documents = readFileSync(`${ROOT}/deploy/docs/metrics.md`, 'utf8')
    const documented = [...documents.matchAll(/^\| `(attribution_\w+)` +\| (\w+)/gm)].map(
      ([, name, type]) => `${name} ${type}`,
    )
    expect([...served].sort()).toEqual([...documented].sort())
  })

  test('are served as OpenMetrics to a reader that accepts it, and as JSON', async () => {
    const answer = await read(ACCEPT_OPENMETRICS)
    const text = await answer.text()

    expect(answer.headers.get('content-type')).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8')
    expect(text).toMatch(/\nattribution_events_total\{[^}]*\} 1\n/)
    expect(text.endsWith('# EOF\n')).toBe(true)
    const json = (await (await read({ accept: 'application/json' })).json()) as { name: string }[]
    expect(json.map(({ name }) => name)).toContain('attribution_role_up')
  })

  test('are for those who have the token, at one path', async () => {
    const statusOf = async (...asked: Parameters<typeof read>) => (await read(...asked)).status

    expect(await statusOf({ authorization: '' })).toBe(401)
    expect(await statusOf({ authorization: `Bearer ${TOKEN}x` })).toBe(401)
    expect(await statusOf({}, '/')).toBe(404)
    expect(await statusOf({}, '/metrics', 'POST')).toBe(405)
  })

  test('beyond this machine need a token', async () => {
    const up = launch(UP_MAIN, { args: ['--metrics-port', '9464', '--metrics-host', '0.0.0.0'] })

    expect((await up.exited).code).toBe(1)
    expect(up.lines.join('\n')).toContain('--metrics-token must be set')
  })
})

/** prom-client's metrics of the process have names and units of their own, which promtool does not like. */
const ownOf = (text: string): string =>
  text
    .split('\n\n')
    .filter((family) => family.startsWith('# HELP attribution_'))
    .join('\n')
    .concat('\n')
