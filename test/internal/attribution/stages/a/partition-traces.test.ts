import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { traceName } from '../../../../../internal/attribution/stages/a/traces.js'
import { noTraces } from '../../../../support/stages.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const at = (atMs: number) => ({ atMs, eventTimeMs: atMs - Math.random() * 1000 })

const occupiedBytes = (): number => {
  collect()
  // Buffers are freed asynchronously; a second collection waits for the first to finish that.
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}

/** Texts and ids as decoded messages have them: each text a separate copy, each id a view of its message. */
const read = (text: string): string => Buffer.from(text).toString()
const readId = (number: number): Uint8Array => {
  const message = Buffer.alloc(1_000)
  message.writeUInt32BE(number, 500)
  return message.subarray(500, 516)
}

test('a trace takes 400 bytes and an open event 350, and neither keeps its message in memory', () => {
  const count = 20_000
  const traces = noTraces()
  const nameOf = (i: number): string =>
    traceName(read('tnt_2hvqzk6f3m5n7p4r8s9t0v1w2x'), read(`4bf92f3577b34da6a3ce929d${String(i).padStart(8, '0')}`))
  const names = Array.from({ length: count }, (_, i) => nameOf(i))

  const before = occupiedBytes()
  for (const trace of names) {
    const fact = { service: read('search'), owner: read('team-search'), confidence: 9_000, strength: 4 }
    traces.learn(trace, fact, at(Date.now()))
  }
  traces.settle()
  const withTraces = occupiedBytes()
  for (const [i, trace] of names.entries()) {
    const event = {
      tenantId: read('tnt_2hvqzk6f3m5n7p4r8s9t0v1w2x'),
      id: readId(i),
      own: undefined,
      owners: { team: undefined, identity: undefined },
      call: { provider: read('openai'), ingestionLayer: read('application'), principal: read('key_one') },
      byTrace: undefined,
    }
    traces.keepOpen(trace, event, at(Date.now()))
  }
  const withOpenEvents = occupiedBytes()

  // The trace names were allocated before: 120 bytes each.
  expect((withTraces - before) / count).toBeLessThan(400 - 120)
  expect((withOpenEvents - withTraces) / count).toBeLessThan(350)
  expect(traces.correlate(nameOf(count - 1), at(Date.now()))).toMatchObject({ service: 'search' })
})
