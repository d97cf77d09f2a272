import type { JetStreamManager } from '@nats-io/jetstream'
import { expect, test } from 'vitest'
import { publishOrThrow } from '../../../internal/broker/publisher.js'
import { purgeOnce } from '../../../internal/broker/purge.js'
import { INVOCATIONS, invocationsSubject } from '../../../streams/invocations.js'
import { launchLogBroker } from '../../support/planned-logs.js'

const KEEP_MS = 60_000
const LOGS = [0, 1].map((partition) => ({
  key: `a.${partition}`,
  stream: INVOCATIONS.name,
  subject: invocationsSubject('a', partition),
  bytesMax: Number.MAX_SAFE_INTEGER,
  keepMs: KEEP_MS,
}))

test('a stream without messages that are old enough is asked for its state once per round, and for nothing else', async () => {
  const broker = await launchLogBroker()
  let infos = 0
  let purges = 0
  const { streams } = broker.manager
  const manager = {
    ...broker.manager,
    direct: broker.manager.direct,
    streams: {
      info: (name: string) => {
        infos++
        return streams.info(name)
      },
      purge: (...asked: Parameters<typeof streams.purge>) => {
        purges++
        return streams.purge(...asked)
      },
    },
  } as unknown as JetStreamManager
  let checkpoints = 0
  const deps = {
    ...broker.deps,
    manager,
    isOwner: () => true,
    checkpoints: {
      get: (key: string) => {
        checkpoints++
        return broker.deps.checkpoints.get(key)
      },
    } as typeof broker.deps.checkpoints,
  }

  const wasEmpty = await purgeOnce(deps, LOGS, Date.now())
  await publishOrThrow(broker.publish, invocationsSubject('a', 0), Buffer.from('x'), 'one')
  await broker.deps.checkpoints.put('a.0', JSON.stringify({ done: 1 }))
  const wasYoung = await purgeOnce(deps, LOGS, Date.now())
  expect([wasEmpty, wasYoung, infos, checkpoints, purges]).toEqual([false, true, 2, 0, 0])

  await purgeOnce(deps, LOGS, Date.now() + 2 * KEEP_MS)
  expect((await streams.info(INVOCATIONS.name)).state.messages).toBe(0)
})
