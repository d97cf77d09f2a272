import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bytesOf } from '../../../../internal/ids/key-hash.js'
import { AdmittedKeys, SENDER_BYTES } from '../../../../internal/ingest/keys/admitted-keys.js'
import { openKeys } from '../../../../internal/ingest/keys/open-keys.js'
import { addSpooledKeys } from '../../../../internal/ingest/keys/spooled-keys.js'
import { oneByOne } from '../../../../internal/ingest/spool/spool.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { KEYS_SUBJECT } from '../../../../streams/keys.js'
import { open, temporaryFolder } from '../../../support/spool.js'
import { recordOf } from '../../../support/spool-records.js'
import { fingerprintOf, keyOf } from './keys.js'

const log = createLog('test', 'silent')

/** A message with one key. */
function keyMessage(number: number) {
  const keys = new AdmittedKeys(new Uint8Array(SENDER_BYTES))
  keys.add({ hash: bytesOf(keyOf(number)), fingerprint: bytesOf(fingerprintOf(number)), flags: number })
  return { subject: KEYS_SUBJECT, messageId: '', payload: keys.payload as Uint8Array }
}

test('the keys of a spool are known before it is delivered, those that were delivered are not read', async () => {
  const { spool } = await open(join(await temporaryFolder(), 'one'))
  await spool.append([recordOf(0), keyMessage(1), recordOf(1), keyMessage(2), recordOf(2)])
  await spool.append([keyMessage(3)])
  let delivered = 0
  await spool.drain(oneByOne(async () => delivered++ < 2))
  const keys = openKeys(AbortSignal.abort())

  await addSpooledKeys([spool], keys, 1_000_000, log)

  const verdicts = [1, 2, 3].map((number) => keys.lookup(keyOf(number), fingerprintOf(number), 1_000_000))
  expect(verdicts).toEqual(['new', 'same', 'same'])
  expect(keys.flags).toBe(3)
  expect(keys.lookup(keyOf(2), fingerprintOf(9), 1_000_000)).toBe('conflict')
  await spool.close()
})

test('a spool that cannot be read does not hide the keys of the next one', async () => {
  const { spool } = await open(join(await temporaryFolder(), 'two'))
  await spool.append([keyMessage(4)])
  const broken = {
    folder: 'broken',
    records: () => {
      throw new Error('a bad sector')
    },
  }
  const keys = openKeys(AbortSignal.abort())

  await addSpooledKeys([broken, spool], keys, 1_000_000, log)

  expect(keys.lookup(keyOf(4), fingerprintOf(4), 1_000_000)).toBe('same')
  await spool.close()
})
