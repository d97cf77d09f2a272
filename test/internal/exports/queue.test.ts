import { beforeAll, expect, test } from 'vitest'
import { NotStored } from '../../../internal/broker/errors.js'
import { isQueuedIn, jobQueue } from '../../../internal/exports/queue.js'
import { EXPORTS, exportsSubject } from '../../../streams/exports.js'
import { type LogBroker, launchLogBroker } from '../../support/planned-logs.js'

/** The queue of export jobs, on a real broker. */

let broker: LogBroker
beforeAll(async () => {
  broker = await launchLogBroker()
})

const jobOf = (id: string) => ({ tenant_id: 'tnt_queue', id })
const messagesOf = async (id: string): Promise<number> => {
  const subject = exportsSubject('tnt_queue', id)
  const info = await broker.manager.streams.info(EXPORTS.name, { subjects_filter: subject })
  return info.state.subjects?.[subject] ?? 0
}

test('a job that another process has queued already is queued once', async () => {
  const job = jobOf('job_twice')
  const enqueue = jobQueue(broker.publish, isQueuedIn(broker))
  await enqueue(job)

  await enqueue(job)

  expect(await messagesOf(job.id)).toBe(1)
})

test('a job that an exporter takes from the queue while it is queued again is queued again', async () => {
  const job = jobOf('job_taken')
  await jobQueue(broker.publish, isQueuedIn(broker))(job)
  const enqueue = jobQueue(broker.publish, async (subject) => {
    await broker.manager.streams.purge(EXPORTS.name, { filter: subject })
    return isQueuedIn(broker)(subject)
  })

  await enqueue(job)

  expect(await messagesOf(job.id)).toBe(1)
})

test('a job that the queue has no room for is not queued', async () => {
  const info = await broker.manager.streams.info(EXPORTS.name)
  await broker.manager.streams.update(EXPORTS.name, { ...info.config, max_msgs: info.state.messages })

  const queued = jobQueue(broker.publish, isQueuedIn(broker))(jobOf('job_too_many'))

  await expect(queued).rejects.toThrow(NotStored)
  expect(await messagesOf('job_too_many')).toBe(0)
})
