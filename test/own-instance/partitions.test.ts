import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { connectService } from '../../internal/local/replay/client.js'
import { isAlive } from '../support/alive.js'
import { postTo, wireEvent } from '../support/gateway.js'
import { launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

let service: RunningService

afterAll(async () => {
  await service.stop()
})

test('a restart with fewer partitions loses no accepted event and still recognises duplicates', async () => {
  const events = Array.from({ length: 40 }, () => JSON.stringify(wireEvent()))
  const send = async (body: string): Promise<boolean> => {
    const path = `${service.baseUrl}/api/v1/invocations`
    const { status, text } = await postTo(path, service.credentials.api_key, body, randomUUID())
    expect(status).toBe(202)
    return (JSON.parse(text) as { duplicate: boolean }).duplicate
  }
  service = await launchService({ roles: [], args: ['--partitions', '4'] })
  const attributor = service.pid('attributor')
  process.kill(attributor, 'SIGSTOP')
  expect(await Promise.all(events.map(send))).toEqual(events.map(() => false))
  await service.process.kill('SIGKILL')
  process.kill(attributor, 'SIGKILL')
  while (isAlive(attributor)) await sleep(20)

  service = await launchService({
    roles: [],
    dataDir: service.dataDir,
    port: service.port,
    args: ['--partitions', '1'],
  })

  expect(await Promise.all(events.map(send))).toEqual(events.map(() => true))
  const client = connectService(service.baseUrl, service.credentials.api_key, 1)
  let records = await allRecords(client)
  while (records.length < events.length) {
    await sleep(100)
    records = await allRecords(client)
  }
  await client.close()
  expect(new Set(records.map(({ id }) => id)).size).toBe(events.length)
  expect(records.length).toBe(events.length)
})
