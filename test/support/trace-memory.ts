/**
 * Measures what a trace and an open event of stage A take in memory, in a process that has done nothing else: in a
 * worker of the tests, which has run other files, V8 may keep the same objects in another form. Prints one line of
 * JSON, bytes. Run it compiled: node dist/test/support/trace-memory.js
 */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { traceName } from '../../internal/attribution/stages/t/traces.js'
import { noTraces } from './stages.js'

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

const COUNT = 20_000
const traces = noTraces()
const nameOf = (i: number): string =>
  traceName(read('tnt_2hvqzk6f3m5n7p4r8s9t0v1w2x'), read(`4bf92f3577b34da6a3ce929d${String(i).padStart(8, '0')}`))
const names = Array.from({ length: COUNT }, (_, i) => nameOf(i))

const before = occupiedBytes()
for (const trace of names) {
  const fact = { service: read('search'), owner: read('team-search'), confidence: 9_000, strength: 4 }
  traces.learn(trace, fact, at(Date.now()))
}
traces.markSent()
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

console.log(
  JSON.stringify({
    trace: (withTraces - before) / COUNT,
    openEvent: (withOpenEvents - withTraces) / COUNT,
    correlation: traces.correlate(nameOf(COUNT - 1), at(Date.now())),
  }),
)
