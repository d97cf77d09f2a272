/** What a gateway admitted while it did not reach the broker is known to the others once it is in the log. */
import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { LEASE_MS } from '../../internal/ingest/peers/peer-claims.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { launchGateway, type Posted, postTo, wireEvent } from '../support/gateway.js'
import type { Launched } from '../support/processes.js'
import { gatewayEnvironment, launchService, type RunningService } from '../support/service.js'
import { linkTo } from '../support/silent-link.js'

let service: RunningService
beforeAll(async () => {
  service = await launchService({ roles: [] })
})
afterAll(() => service.stop())

const loadsOf = ({ lines }: Launched): number =>
  lines.filter((line) => line.includes('"admission index loaded"')).length

async function untilLoaded(gateway: Launched, loads: number): Promise<void> {
  while (loadsOf(gateway) < loads) await sleep(20)
}

test('a key that a gateway took without the broker is protected at the others, however long that was', async () => {
  const environment = gatewayEnvironment(service)
  const link = await linkTo(Number(new URL(environment['ATTRIBUTION_NATS_URL'] ?? '').port))
  const [nearPort, farPort] = [await freePort(), await freePort()]
  const near = await launchGateway(service, nearPort)
  await untilLoaded(near, 1)
  const far = await launchGateway(service, farPort, { ATTRIBUTION_NATS_URL: link.url })
  const send = (port: number, body: unknown, key: string): Promise<Posted> =>
    postTo(`http://127.0.0.1:${port}/api/v1/invocations`, service.credentials.api_key, JSON.stringify(body), key)
  // Enough for each of the three gateways to own some.
  const events = Array.from({ length: 12 }, () => ({ key: randomUUID(), body: wireEvent() }))
  const before = loadsOf(near)

  link.goDown()
  const spooled = await Promise.all(
    events.map(async ({ key, body }) => {
      let answer = await send(farPort, body, key)
      while (answer.status === 503) answer = await send(farPort, body, key)
      return answer
    }),
  )
  // It counts the far one as dead, and has loaded what fell to it. Later, the far one reminds no owner any more.
  await untilLoaded(near, before + 1)
  await sleep(LEASE_MS)
  const loads = loadsOf(near)
  link.comeBack()
  await far.line(/drained the spool/)
  await untilLoaded(near, loads + 1)
  const repeats = []
  for (const [i, { key, body }] of events.entries()) {
    const other = await send(nearPort, wireEvent(), key)
    const again = await send(nearPort, body, key)
    repeats.push([other.status, again.status, again.isReplay, again.text === spooled[i]?.text])
  }
  await Promise.all([near.kill('SIGKILL'), far.kill('SIGKILL')])

  expect(repeats).toEqual(events.map(() => [422, 202, true, true]))
})
