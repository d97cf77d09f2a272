import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectService } from '../../internal/local/replay/client.js'
import { freePort } from '../../internal/local/supervisor/instance.js'
import { ask } from '../support/ask.js'
import { freeze, thaw } from '../support/freeze.js'
import { postTo, wireEvent } from '../support/gateway.js'
import { command, untilKnown } from '../support/instance.js'
import { launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

const EVENTS_AT_ONCE = 500
/** The attributor runs for a tenth of the time, and so works off a tenth of what it can. */
const RUNS_MS = 80
const STANDS_MS = 720

let service: RunningService
let metricsPort: number
let other: string

beforeAll(async () => {
  metricsPort = await freePort()
  const args = ['--metrics-port', String(metricsPort), '--rate-ingest', '1000000', '--rate-read', '10000']
  service = await launchService({ roles: [], args })
  const created = await command(service, ['tenant', 'create', '--name', 'Other', '--json'])
  other = JSON.parse(created.lines[0] ?? '').api_key
  await untilKnown(service.baseUrl, other)
})
afterAll(() => service.stop())

const send = (key: string, body: unknown) =>
  postTo(`${service.baseUrl}/api/v1/invocations`, key, JSON.stringify(body), randomUUID())

async function laneTenants(): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  return Number(/^attribution_lane_tenants\{[^}]*\} (\d+)$/m.exec(text)?.[1] ?? 0)
}

const isReadable = async (key: string, invocationId: string): Promise<boolean> => {
  const id = invocationId.replace('inv_', 'attr_')
  const { status } = await ask(service.baseUrl, 'GET', `/api/v1/attributions/${id}`, { 'x-api-key': key })
  return status === 200
}

test('the calls of one tenant pass by the backlog of another that floods; every call becomes one record', async () => {
  const pid = service.pid('attributor')
  let isSlow = true
  const slowing = (async () => {
    while (isSlow) {
      await freeze(pid)
      await sleep(STANDS_MS)
      thaw(pid)
      await sleep(RUNS_MS)
    }
  })()
  let flooded = 0
  let steady = 0
  const flood = async (): Promise<string> => {
    const events = Array.from({ length: EVENTS_AT_ONCE }, () => wireEvent({ event_id: randomUUID() }))
    const { status, text } = await send(service.credentials.api_key, events)
    expect(status).toBe(202)
    flooded += EVENTS_AT_ONCE
    return JSON.parse(text).results.at(-1).invocation_id
  }
  const call = async (): Promise<string> => {
    const { status, text } = await send(other, wireEvent({ event_id: randomUUID() }))
    expect(status).toBe(202)
    steady++
    return JSON.parse(text).invocation_id
  }
  try {
    while ((await laneTenants()) === 0) {
      for (let i = 0; i < 4; i++) await flood()
      await call()
    }
    // Far more than is worked off until the call below is: all of it waits in the lane.
    let before = ''
    for (let i = 0; i < 40; i++) before = await flood()
    const passing = await call()
    while (!(await isReadable(other, passing))) await sleep(50)
    expect(await isReadable(service.credentials.api_key, before)).toBe(false)
  } finally {
    isSlow = false
    await slowing
  }

  for (const [key, count] of [
    [service.credentials.api_key, flooded],
    [other, steady],
  ] as const) {
    const client = connectService(service.baseUrl, key, 4)
    await expect.poll(async () => (await allRecords(client)).length, { interval: 1_000 }).toBe(count)
    await client.close()
  }
  // Looked at when something is sent.
  await expect
    .poll(
      async () => {
        await call()
        return laneTenants()
      },
      { interval: 1_000 },
    )
    .toBe(0)
}, 300_000)
