/**
 * A real Prometheus beside the running product: the boards show something, and alerts fire by real faults. Of the rules
 * only the durations are shortened, so that nobody waits for minutes.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ask } from '../support/ask.js'
import { launchWatched, MONITORING, type WatchedService } from '../support/prometheus.js'

const SPOOL_BYTES_MAX = 1024 * 1024

let watched: WatchedService

beforeAll(async () => {
  watched = await launchWatched({
    args: ['--tuning', `spool-bytes-max=${SPOOL_BYTES_MAX}`, '--tuning', 'probe-every-ms=500'],
    shorten: (rules) => rules.replace('attribution_log_oldest_seconds) > 60', 'attribution_log_oldest_seconds) > 5'),
    scrapeSeconds: 5,
  })
})

afterAll(() => watched?.stop())

const firing = (): Promise<string[]> => watched.firing()
const send: WatchedService['send'] = (stated) => watched.send(stated)

interface Board {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[]
}

const QUERIES = readdirSync(join(MONITORING, 'grafana')).flatMap((file) =>
  (JSON.parse(readFileSync(join(MONITORING, 'grafana', file), 'utf8')) as Board).panels.flatMap(({ targets }) =>
    targets.map(({ expr }) => expr),
  ),
)
/** Nothing of it happens here: no webhook, no export, no failure, no exporter of spans, no model. */
const SILENT = /webhook_attempts|exports_total|log_retries|probe_failures|spans_dropped|model_(oldest|versions|live)/

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
          const { status, data, error } = await watched.asked(`query?query=${query}`)
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

test('probes become readable, and no tenant has them', async () => {
  const sampleOf = async (expr: string): Promise<number> => {
    const { data } = await watched.asked(`query?query=${expr}`)
    return Number(data.result[0]?.value[1] ?? 0)
  }
  await expect.poll(() => sampleOf('attribution_probe_visible_seconds_count')).toBeGreaterThan(2)

  const { baseUrl, credentials } = watched.service
  const own = async (): Promise<{ readonly provider: string }[]> =>
    (await ask(baseUrl, 'GET', '/v1/attribution?limit=200', { 'x-api-key': credentials.api_key })).json.data
  expect((await own()).filter(({ provider }) => provider === 'attribution-probe')).toEqual([])
  // The counters of records leave them out.
  await expect
    .poll(async () => (await own()).length - (await sampleOf('sum(attribution_records_total)')), { timeout: 30_000 })
    .toBe(0)
})

test('no alert fires while nothing is wrong', async () => {
  expect(await firing()).toEqual([])
})

test('calls of a model that nobody has priced raise their alert', async () => {
  const unheard = { provider: 'nobody', requested_model: 'unheard-of', served_model: 'unheard-of' }
  await watched.untilFiring('AttributionUnpricedCalls', () => send(unheard))
})

test('a role that hangs raises its alert, which ends with the fault', async () => {
  await watched.whileFrozen('courier', () => watched.untilFiring('AttributionRoleMissing'))

  await expect.poll(firing).not.toContain('AttributionRoleMissing')
})

test('a read model that hangs raises the alert of late attribution, and of late records once it goes on', async () => {
  await watched.whileFrozen('store', async () => {
    // More than one in a hundred of all events are late.
    const statuses = await Promise.all(Array.from({ length: 100 }, () => send()))
    expect(new Set(statuses)).toEqual(new Set([202]))
    await watched.untilFiring('AttributionLagging')
  })

  await watched.untilFiring('AttributionVisibleLate', () => send())
  await expect.poll(firing).not.toContain('AttributionLagging')
})

test('a broker that hangs raises the alerts of the spool, and of refused events once the spool is full', async () => {
  const tags = Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`tag-${i}`, 'v'.repeat(256)]))
  await watched.whileFrozen('nats', async () => {
    expect(await send({ tags })).toBe(202)
    await watched.untilFiring('AttributionSpooling')
    await watched.untilFiring('AttributionEventsRefused', () =>
      Promise.all(Array.from({ length: 20 }, () => send({ tags }))),
    )
    await watched.untilFiring('AttributionBoundNearlyReached')
    await watched.untilFiring('AttributionProbeFails')
  })

  await expect.poll(firing).not.toContain('AttributionSpooling')
  await expect.poll(firing).not.toContain('AttributionBoundClose')
})
