import { errors } from '@nats-io/transport-node'
import { expect, test, vi } from 'vitest'
import { mirrorBucket } from '../../../internal/broker/mirror.js'
import { opened } from '../../../internal/broker/opened.js'
import { memoryBucket } from '../../support/memory-bucket.js'

test('what opens nothing yet says why, once; what no repeat would open fails at once', async () => {
  const late = new errors.TimeoutError()
  const closed = new errors.ClosedConnectionError()
  const lines: string[] = []
  const failures: Error[] = [late, late]
  const attempt = async (): Promise<string> => {
    const failure = failures.shift()
    if (failure !== undefined) throw failure
    return 'open'
  }

  expect(await opened(attempt, (line) => lines.push(line))).toBe('open')
  failures.push(closed)
  await expect(opened(attempt, (line) => lines.push(line))).rejects.toBe(closed)

  expect(lines).toEqual([`waiting for JetStream: ${late.message}`])
})

test('a start does not wait for a watch whose consumer ended with its server: it begins another', async () => {
  const bucket = memoryBucket()
  await bucket.put('tnt.services.a', { size: 1 })
  bucket.areWatchesDead = true
  const passed = vi.spyOn(performance, 'now').mockReturnValue(0)

  const opening = mirrorBucket(bucket.kv, () => undefined)
  await vi.waitUntil(() => bucket.watches === 1)
  bucket.areWatchesDead = false
  passed.mockReturnValue(6_000)

  expect([...(await opening).entries()]).toEqual([['tnt.services.a', { size: 1 }]])
  expect(bucket.watches).toBe(2)
})
