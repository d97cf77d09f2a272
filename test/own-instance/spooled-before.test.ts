import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { freeze, thaw } from '../support/freeze.js'
import { launchGateway, type Posted, postTo, wireEvent } from '../support/gateway.js'
import { gatewayEnvironment, launchService, type RunningService } from '../support/service.js'
import { linkTo } from '../support/silent-link.js'

let service: RunningService
beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--invocations-bytes-max', String(10 * 1024 ** 2)] })
})
afterAll(() => service.stop())

const PATH = '/api/v1/invocations'
/** An event of some kilobytes: sixteen tags of the greatest length. */
const large = (): Record<string, unknown> =>
  wireEvent({ tags: Object.fromEntries(Array.from({ length: 16 }, (_, i) => [`tag-${i}`, 'v'.repeat(256)])) })

test('a gateway with a spool and a full log serves what needs no capacity, then protects the keys of the spool', async () => {
  const { api_key: apiKey } = service.credentials
  const port = await freePort()
  const second = `http://127.0.0.1:${port}`
  const send = (base: string, body: unknown, key: string = randomUUID()): Promise<Posted> =>
    postTo(base + PATH, apiKey, JSON.stringify(body), key)
  const read = (path: string) => fetch(second + path, { headers: { 'x-api-key': apiKey } })
  const events = Array.from({ length: 8 }, () => ({ key: randomUUID(), body: large() }))

  const environment = gatewayEnvironment(service)
  const link = await linkTo(Number(new URL(environment['ATTRIBUTION_NATS_URL'] ?? '').port))
  let gateway = await launchGateway(service, port, { ATTRIBUTION_NATS_URL: link.url })
  link.fallSilent()
  const untilSpooled = async ({ key, body }: (typeof events)[number]): Promise<Posted> => {
    let answer = await send(second, body, key)
    while (answer.status === 503) answer = await send(second, body, key)
    return answer
  }
  const spooled = await Promise.all(events.map(untilSpooled))
  await gateway.kill('SIGKILL')
  await freeze(service.pid('attributor'))
  const fill = async (body: () => unknown): Promise<void> => {
    while ((await send(service.baseUrl, body())).status !== 503);
  }
  await fill(() => Array.from({ length: 40 }, large))
  await fill(large)
  await fill(wireEvent)

  gateway = await launchGateway(service, port)
  const meanwhile = await Promise.all([
    read('/v1/attribution'),
    read('/readyz?surface=ingestion'),
    read(`${PATH}/${(JSON.parse(spooled[0]?.text ?? '') as { invocation_id: string }).invocation_id}`),
    send(second, large()),
  ])
  const undelivered = []
  for (const { key, body } of events) {
    const other = await send(second, large(), key)
    const again = await send(second, body, key)
    undelivered.push([other.status, again.status, again.isReplay])
  }
  thaw(service.pid('attributor'))
  let later = await send(second, large())
  while (later.status === 503) later = await send(second, large())
  await gateway.line(/delivered the spool of a dead gateway/)
  // Both have read the keys that were written before those of these requests.
  for (const [from, to] of [
    [second, service.baseUrl],
    [service.baseUrl, second],
  ] as const) {
    const [body, key] = [large(), randomUUID()]
    await send(from, body, key)
    await expect.poll(async () => (await send(to, body, key)).isReplay).toBe(true)
  }
  const repeats = []
  for (const [i, { key, body }] of events.entries()) {
    for (const base of [second, service.baseUrl]) {
      const other = await send(base, large(), key)
      const again = await send(base, body, key)
      repeats.push([other.status, again.status, again.isReplay, again.text === spooled[i]?.text])
    }
  }
  await gateway.kill('SIGKILL')

  expect(spooled.map(({ status }) => status)).toEqual(events.map(() => 202))
  expect(meanwhile.map(({ status }) => status)).toEqual([200, 503, 503, 503])
  expect(undelivered).toEqual(events.map(() => [422, 202, true]))
  expect(later.status).toBe(202)
  expect(repeats).toEqual(repeats.map(() => [422, 202, true, true]))
})
