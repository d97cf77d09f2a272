import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { launchChromium, openConsole, signInByPassword } from '../support/chromium.js'
import { freeze, thaw } from '../support/freeze.js'
import { launchService, type RunningService } from '../support/service.js'

/**
 * A process that stands still keeps its connections: what waits for it must notice by itself. On a quiet machine it does
 * within two seconds; on one that is busy with other tests, the limit is five times that.
 */
const SAID_MS_MAX = 10_000

let service: RunningService
beforeAll(async () => {
  service = await launchService({ roles: [] })
})
afterAll(() => service.stop())

async function ask(path: string, init: RequestInit = {}) {
  const startedAt = performance.now()
  const answer = await fetch(service.baseUrl + path, {
    ...init,
    headers: { 'x-api-key': service.credentials.api_key, 'content-type': 'application/json', ...init.headers },
  })
  // biome-ignore lint/suspicious/noExplicitAny: each answer has a form of its own
  const body = (await answer.json()) as any
  return { status: answer.status, body, ms: performance.now() - startedAt }
}

async function untilReady(isReady: boolean): Promise<number> {
  const startedAt = performance.now()
  while (((await ask('/readyz')).status === 200) !== isReady) await sleep(20)
  return performance.now() - startedAt
}

const statusOf = async (name: string): Promise<string> =>
  (await ask('/readyz')).body.dependencies.find((each: { name: string }) => each.name === name)?.status

test.each(['/v1/attribution?limit=1', '/v1/reports/usage?from=2026-11-01&to=2026-12-01&group_by=service'])(
  'a store that stands still is said by reads and readiness: %s',
  async (path) => {
    await untilReady(true)
    expect((await ask(path)).status).toBe(200)
    await freeze(service.pid('store'))
    try {
      const [read, unreadyMs] = await Promise.all([ask(path), untilReady(false)])

      expect(read).toMatchObject({ status: 503, body: { error_code: 'SERVICE_UNAVAILABLE' } })
      expect(read.ms).toBeLessThan(SAID_MS_MAX)
      expect(unreadyMs).toBeLessThan(SAID_MS_MAX)
      expect(await statusOf('store')).toBe('down')
      // Once it is known, nobody waits.
      expect((await ask(path)).ms).toBeLessThan(SAID_MS_MAX / 2)
    } finally {
      thaw(service.pid('store'))
    }
    await untilReady(true)
    await expect.poll(async () => (await ask(path)).status).toBe(200)
  },
)

test('a broker that stands still is said by changes and readiness', async () => {
  await untilReady(true)
  await freeze(service.pid('nats'))
  try {
    const change = ask('/api/v1/directory/services', {
      method: 'POST',
      headers: { 'idempotency-key': randomUUID() },
      body: JSON.stringify({ name: 'checkout', owner: 'team-shop' }),
    })
    const [{ status, ms }, unreadyMs] = await Promise.all([change, untilReady(false)])

    expect(status).toBe(503)
    expect(ms).toBeLessThan(SAID_MS_MAX)
    expect(unreadyMs).toBeLessThan(SAID_MS_MAX)
    expect(await statusOf('broker')).toBe('down')
  } finally {
    thaw(service.pid('nats'))
  }
  await untilReady(true)
})

test('the console says that the store stands still, since when, and that calls are kept', async () => {
  await untilReady(true)
  const browser = await launchChromium()
  const { page } = await openConsole(browser)
  await signInByPassword(page, service)
  const line = page.locator('.outage')
  await freeze(service.pid('store'))
  try {
    await line.waitFor({ timeout: SAID_MS_MAX })

    expect(await line.textContent()).toMatch(/store of calls does not answer since .* New calls are taken and kept/)
  } finally {
    thaw(service.pid('store'))
  }
  await expect.poll(() => line.count()).toBe(0)
  await browser.close()
})
