/** A gateway that is ended while another takes its place. */
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { launchGateway, postTo, wireEvent } from '../support/gateway.js'
import { launchService, type RunningService } from '../support/service.js'

/** Longer than any test takes to end the drain. */
const DRAIN_SECONDS = 60

let service: RunningService
beforeAll(async () => {
  service = await launchService({ roles: [] })
})
afterAll(() => service.stop())

async function launchLeaving() {
  const [port, intakePort, sqlPort] = [await freePort(), await freePort(), await freePort()]
  const gateway = await launchGateway(
    service,
    port,
    {
      ATTRIBUTION_DRAIN_SECONDS: String(DRAIN_SECONDS),
      ATTRIBUTION_SQL_PORT: String(sqlPort),
    },
    ['--intake-port', String(intakePort)],
  )
  const ask = (of: number, path: string) => fetch(`http://127.0.0.1:${of}${path}`)
  await expect.poll(async () => (await ask(port, '/readyz')).status).toBe(200)
  return { gateway, port, ports: [port, intakePort, sqlPort], ask }
}

test('after SIGTERM it is not ready and still serves, until it is asked again', async () => {
  const { gateway, port, ports, ask } = await launchLeaving()
  const ready = await Promise.all(ports.map(async (of) => (await ask(of, '/readyz')).status))
  process.kill(gateway.pid, 'SIGTERM')
  await gateway.line(/"draining"/)

  for (const of of ports) {
    const answer = await ask(of, '/readyz')
    expect([answer.status, answer.headers.get('connection')]).toEqual([503, 'close'])
    expect(await answer.json()).toMatchObject({ readiness: 'draining' })
    expect((await ask(of, '/healthz')).status).toBe(200)
  }
  const url = `http://127.0.0.1:${port}/api/v1/invocations`
  const posted = await postTo(url, service.credentials.api_key, JSON.stringify(wireEvent()), randomUUID())
  const exit = await gateway.kill('SIGTERM')

  expect(ready).toEqual([200, 200, 200])
  expect([posted.status, posted.headers.get('connection')]).toEqual([202, 'close'])
  expect(exit).toEqual({ code: 0, signal: null })
})

test.each(['SIGINT', 'its supervisor'])('%s ends it without a drain: nothing takes its place', async (by) => {
  const { gateway } = await launchLeaving()

  const exit = await (by === 'SIGINT' ? gateway.kill('SIGINT') : gateway.endStdin())

  expect(exit).toEqual({ code: 0, signal: null })
  expect(gateway.lines.join('\n')).not.toMatch(/"draining"/)
})
