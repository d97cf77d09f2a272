import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectService } from '../../internal/local/replay/client.js'
import { ask } from '../support/ask.js'
import { freeze, thaw } from '../support/freeze.js'
import { postTo, wireEvent } from '../support/gateway.js'
import { command, untilKnown } from '../support/instance.js'
import { launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

const LOG_BYTES = 48 * 1024 ** 2
/** Few enough that one request does not fill the rest of the log. */
const EVENTS_AT_ONCE = 50

let service: RunningService
let other: string

beforeAll(async () => {
  const args = ['--invocations-bytes-max', String(LOG_BYTES), '--rate-ingest', '100000', '--rate-read', '10000']
  service = await launchService({ args })
  const created = await command(service, ['tenant', 'create', '--name', 'Other', '--json'])
  other = JSON.parse(created.lines[0] ?? '').api_key
  await untilKnown(service.baseUrl, other)
})
afterAll(() => service.stop())

const send = (key: string, body: unknown) =>
  postTo(`${service.baseUrl}/api/v1/invocations`, key, JSON.stringify(body), randomUUID())

test('a tenant that floods the log gets Retry-After, others go on, and accepted events are attributed', async () => {
  await expect.poll(async () => (await send(other, wireEvent())).status).toBe(202)
  const pid = service.pid('attributor')
  await freeze(pid)
  let flooded = 0
  let steady = 1
  let refused: Awaited<ReturnType<typeof send>> | undefined
  const since = new Date().toISOString()
  const tags = Object.fromEntries(Array.from({ length: 8 }, (_, i) => [`tag-${i}`, 'v'.repeat(200)]))
  try {
    while (refused === undefined) {
      const answer = await send(
        service.credentials.api_key,
        Array.from({ length: EVENTS_AT_ONCE }, () => wireEvent({ tags })),
      )
      if (answer.status === 202) flooded += EVENTS_AT_ONCE
      else refused = answer
      expect((await send(other, wireEvent())).status).toBe(202)
      steady++
    }
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])
    expect(JSON.parse(refused.text)).toMatchObject({ error_code: 'RATE_LIMITED' })
    for (let i = 0; i < 200; i++) {
      expect((await send(other, wireEvent())).status).toBe(202)
      steady++
    }
    expect((await send(service.credentials.api_key, wireEvent())).status).toBe(429)
    // The gateway looks every ten seconds how full the log is.
    await expect.poll(() => service.process.lines.join('\n')).toMatch(/the log is \d\d % full/)
  } finally {
    thaw(pid)
  }

  // Of the backlog only those hear that cause it.
  const backlogOf = async (key: string) => {
    const { json } = await ask(service.baseUrl, 'GET', '/api/v1/events/log?type=ingestion.backlog', {
      'x-api-key': key,
    })
    return json.data.map(({ data }: { data: { level: string; since: string } }) => data)
  }
  for (const level of ['warning', 'refused']) {
    await expect
      .poll(() => backlogOf(service.credentials.api_key))
      .toContainEqual({ level, since: expect.stringMatching(/^20/) })
  }
  expect((await backlogOf(service.credentials.api_key)).every((data: { since: string }) => data.since > since)).toBe(
    true,
  )
  expect(await backlogOf(other)).toEqual([])

  // It may send again once the log is worked off.
  while ((await send(service.credentials.api_key, wireEvent())).status !== 202) await sleep(200)
  flooded++
  for (const [key, count] of [
    [service.credentials.api_key, flooded],
    [other, steady],
  ] as const) {
    const client = connectService(service.baseUrl, key, 4)
    await expect.poll(async () => (await allRecords(client)).length, { interval: 1_000 }).toBe(count)
    await client.close()
  }
})
