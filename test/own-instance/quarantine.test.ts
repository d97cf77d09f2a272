import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Broker } from '../../internal/broker/connect.js'
import { createPublisher } from '../../internal/broker/publisher.js'
import { quarantineState } from '../../internal/broker/quarantine-log.js'
import { encodeEntry, encodeGroup } from '../../internal/invocations/invocation-group.js'
import { auditSubject } from '../../streams/audit.js'
import { invocationsSubject } from '../../streams/invocations.js'
import { QUARANTINE, quarantineSubject } from '../../streams/quarantine.js'
import { askAs } from '../support/ask.js'
import { command, connectTo } from '../support/instance.js'
import { idOf, validEvent } from '../support/invocations.js'
import { launchService, type RunningService } from '../support/service.js'

/** What could not be handled is listed, shown and put back by the command line. */

let service: RunningService
let broker: Broker

beforeAll(async () => {
  service = await launchService({ roles: [] })
  broker = await connectTo(service)
})
afterAll(async () => {
  await broker.close()
  await service.stop()
})

const run = async (...args: string[]) => {
  const { code, lines } = await command(service, ['quarantine', ...args])
  return { code, text: lines.join('\n'), lines: lines.filter((line) => line.startsWith('{')) }
}
const publish = (subject: string, data: Uint8Array, headers: Record<string, string> = {}) =>
  createPublisher(broker.connection).publish(subject, data, randomUUID(), 2_000, { headers })

async function untilQuarantined(sequence: number): Promise<void> {
  while ((await quarantineState(broker.manager)).lastSequence < sequence) await sleep(20)
}

test('an undecodable message is listed with its reason, replayed, and quarantined again as a new message', async () => {
  await publish(invocationsSubject('a', 0), Buffer.from('[{"prompt":"never to be told"'))
  await publish(auditSubject(null), Buffer.from('{}'))
  await untilQuarantined(2)

  const listed = await run('list', '--json')
  expect(listed.text).not.toContain('told')
  const messages = listed.lines.map((line) => JSON.parse(line))
  expect(messages.map(({ log, reason }) => [log, reason]).sort()).toEqual([
    ['audit.instance', 'unreadable_message: Error'],
    ['invocations.a.0', 'unreadable_message: SyntaxError'],
  ])
  expect((await run('list', '--limit', '1')).text).toMatch(/more messages: --from 2/)
  expect((await run('list', '--from', '3')).text).toContain('2 in quarantine')

  const replayed = await run('replay', '--all', '--json')

  expect([replayed.code, replayed.lines]).toEqual([0, ['{"replayed":2,"left":0}']])
  await untilQuarantined(4)
  const again = (await run('list', '--json')).lines.map((line) => JSON.parse(line).sequence)
  expect(again).toEqual([3, 4])
  await broker.manager.streams.purge(QUARANTINE.name)
})

test('a quarantined event is shown without its identity and gets its record after a replay', async () => {
  const { tenant_id: tenantId, api_key } = service.credentials
  const admission = { tenantId, principal: 'key_one', id: idOf(7), receivedAtMs: Date.now() }
  const event = validEvent({ attributed_identity: 'ann@example.com', attributed_service: 'search' })
  const data = encodeGroup([encodeEntry(admission, event)])
  await publish(quarantineSubject('a'), data, {
    'Attribution-Log': 'invocations.a.0',
    'Attribution-Reason': 'rule_failed: Error',
  })
  const { lastSequence } = await quarantineState(broker.manager)

  const listed = await run('list')
  const shown = await run('show', String(lastSequence))
  expect(listed.text).toContain(`${tenantId}  rule_failed: Error`)
  expect(shown.text).toMatch(/"identity_hash": "[0-9a-f]{32}"/)
  expect(shown.text).not.toContain('ann@')

  expect((await run('replay', String(lastSequence))).text).toContain('1 replayed')

  const ask = askAs(service.baseUrl, { 'x-api-key': api_key })
  const records = async () => (await ask('GET', '/v1/attribution?filter[service][eq]=search')).json.data
  while ((await records()).length === 0) await sleep(20)
  expect(await records()).toHaveLength(1)
})

test('an invalid quarantine command fails at once with a message', async () => {
  expect((await run('replay')).text).toContain('name a sequence, or use --all')
  expect((await run('replay', '99')).text).toContain('message 99 is not in quarantine')
  expect((await run('show', '0')).text).toContain('It must be a sequence')
})
