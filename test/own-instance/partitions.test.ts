import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import { undrained } from '../../internal/broker/drain.js'
import { createPublisher, publishOrThrow } from '../../internal/broker/publisher.js'
import { connectService } from '../../internal/local/replay/client.js'
import { INVOCATIONS } from '../../streams/invocations.js'
import { isAlive } from '../support/alive.js'
import { freeze } from '../support/freeze.js'
import { postTo, wireEvent } from '../support/gateway.js'
import { command, connectTo } from '../support/instance.js'
import { launchService, type RunningService } from '../support/service.js'
import { allRecords } from '../support/trace.js'

let service: RunningService

afterAll(async () => {
  await service.stop()
})

const newEvents = (count: number): string[] => Array.from({ length: count }, () => JSON.stringify(wireEvent()))

async function send(body: string): Promise<void> {
  const path = `${service.baseUrl}/api/v1/invocations`
  const { status } = await postTo(path, service.credentials.api_key, body, randomUUID())
  expect(status).toBe(202)
}

const restartWith = async (...args: string[]): Promise<void> => {
  service = await launchService({ roles: [], dataDir: service.dataDir, port: service.port, args })
}

async function recordsOf(count: number): Promise<readonly { readonly id: string }[]> {
  const client = connectService(service.baseUrl, service.credentials.api_key, 1)
  let records = await allRecords(client)
  while (records.length < count) {
    await sleep(100)
    records = await allRecords(client)
  }
  await client.close()
  return records
}

/** @param partitions other than now: the plan then says what waits */
async function untilWorkedOff(partitions: string): Promise<void> {
  const broker = await connectTo(service)
  await expect.poll(async () => (await undrained(broker)).join(), { interval: 500 }).not.toContain('not worked off')
  await broker.close()
  const plan = await command(service, ['streams', 'plan', '--partitions', partitions])
  expect(plan.lines.join()).not.toContain('not worked off')
}

/** Delivers all events again to the mailboxes where they were, as a spool does that was filled then. */
async function deliverAgain(): Promise<void> {
  const broker = await connectTo(service)
  const { publish } = createPublisher(broker.connection)
  const { state } = await broker.manager.streams.info(INVOCATIONS.name)
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    const message = await broker.manager.streams.getMessage(INVOCATIONS.name, { seq })
    if (message?.subject.startsWith('invocations.a.') === true)
      await publishOrThrow(publish, message.subject, message.data, randomUUID())
  }
  await broker.close()
}

test('fewer partitions are refused while events wait, then taken; none is lost, none becomes two records', async () => {
  const events = newEvents(40)
  service = await launchService({ roles: [] })
  const attributor = service.pid('attributor')
  await freeze(attributor)
  await Promise.all(events.map(send))
  await service.process.kill('SIGKILL')
  process.kill(attributor, 'SIGKILL')
  while (isAlive(attributor)) await sleep(20)

  await expect(restartWith('--partitions', '1')).rejects.toThrow(
    /up: --partitions .* is 1, but the layout of the broker has 2: .*; it cannot change now: invocations\.a\.\d has events/,
  )
  await restartWith()
  await Promise.all(events.map(send))
  // The repeats leave no record that one could wait for, and to list records until others' leases end costs more.
  await untilWorkedOff('1')
  expect(new Set((await recordsOf(events.length)).map(({ id }) => id)).size).toBe(events.length)
  await service.stop()
  await restartWith('--partitions', '1')

  await deliverAgain()
  const more = newEvents(40)
  await Promise.all(more.map(send))
  await Promise.all([...events, ...more].map(send))
  await untilWorkedOff('2')
  // The partition is read in order: all repeats are decided before it.
  await Promise.all(newEvents(1).map(send))
  const records = await recordsOf(81)
  expect(new Set(records.map(({ id }) => id)).size).toBe(81)
  expect(records.length).toBe(81)
})
