import { afterEach, beforeAll, expect, test } from 'vitest'
import { type Broker, connectBroker } from '../../../../internal/broker/connect.js'
import { answerForEvents, isAdmittedElsewhere } from '../../../../internal/ingest/peers/peer-events.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { admittedSubject } from '../../../../streams/gateways.js'
import { launchBroker } from '../../../support/broker.js'
import { idOf } from '../../../support/invocations.js'

const log = createLog('test', 'silent')
let url = ''
beforeAll(async () => {
  url = (await launchBroker()).url
})
const open: Broker[] = []
afterEach(async () => {
  for (const broker of open.splice(0)) await broker.close()
})
async function connected(): Promise<Broker> {
  const broker = await connectBroker({ url, user: '', password: '', name: 'test' })
  open.push(broker)
  return broker
}

test('an event is known to other gateways once one has admitted it, even if another does not answer', async () => {
  const [{ connection }, others] = [await connected(), await connected()]
  const known = Buffer.from(idOf(1)).toString('hex')
  answerForEvents(others.connection, 'one', () => false, log)
  answerForEvents(others.connection, 'two', (id) => Buffer.from(id).toString('hex') === known, log)
  others.connection.subscribe(admittedSubject('still'), { callback: () => undefined })
  answerForEvents(
    others.connection,
    'broken',
    () => {
      throw new Error('broken')
    },
    log,
  )
  answerForEvents(others.connection, 'loading', () => undefined, log)
  await others.connection.flush()
  const names = ['one', 'gone', 'still', 'broken', 'two']

  expect(await isAdmittedElsewhere(connection, names, idOf(1))).toBe(true)
  expect(await isAdmittedElsewhere(connection, names, idOf(2))).toBeUndefined()
  expect(await isAdmittedElsewhere(connection, ['one', 'gone', 'two'], idOf(2))).toBe(false)
  expect(await isAdmittedElsewhere(connection, ['one', 'loading'], idOf(2))).toBeUndefined()
  expect(await isAdmittedElsewhere(connection, [], idOf(1))).toBe(false)
})
