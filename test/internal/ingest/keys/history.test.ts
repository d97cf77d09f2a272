import type { ClickHouseClient } from '@clickhouse/client'
import { expect, test } from 'vitest'
import { publishOrThrow } from '../../../../internal/broker/publisher.js'
import { admissionHistory } from '../../../../internal/ingest/keys/history.js'
import { encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { invocationsSubject } from '../../../../streams/invocations.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'
import { launchLogBroker } from '../../../support/planned-logs.js'

const NO_STORE = {} as ClickHouseClient

test('admitted but unrecorded events are found in every partition, independent of the current setting', async () => {
  const broker = await launchLogBroker()
  const send = async (partition: number, number: number): Promise<void> => {
    const admission = {
      tenantId: 'tnt_one',
      principal: 'key_one',
      id: idOf(number),
      receivedAtMs: NOW_MS,
      key: undefined,
    }
    const group = encodeGroup([encodeEntry(admission, validEvent())])
    await publishOrThrow(broker.publish, invocationsSubject('a', partition), group, String(number))
  }
  await send(0, 1)
  await send(0, 2)
  await send(63, 3)
  await broker.deps.checkpoints.put('a.0', JSON.stringify({ done: 1 }))

  const pending: string[] = []
  for await (const { id } of admissionHistory(broker.manager, broker.deps.checkpoints, NO_STORE).pending()) {
    pending.push(Buffer.from(id).toString('hex'))
  }

  expect(pending.sort()).toEqual([idOf(2), idOf(3)].map((id) => Buffer.from(id).toString('hex')).sort())
})
