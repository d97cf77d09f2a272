/**
 * Requests at a constant rate, independent of the answers: each millisecond as many as are due, over a pool of
 * keep-alive connections; what finds none free waits for one. Latency counts from the instant a request was due, so
 * that a stall of the server, or of this process, is in the figure of every request that met it (no coordinated
 * omission).
 *
 * Arguments: port, file of requests, connections, requests per second, seconds. Writes one JSON line, an
 * `OpenLoopResult`.
 */
import { createConnection, type Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import type { OpenLoopResult } from './open-loop.js'
import { answerEnd, requestsOf } from './raw-http.js'

const [port, file = '', connections, rate, seconds] = process.argv.slice(2)
const perMs = Number(rate) / 1000
const total = Math.floor(Number(rate) * Number(seconds))
const nextRequest = requestsOf(file)

interface Connection {
  readonly socket: Socket
  dueAt: number
  held: string
}

const latencies = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 })
const lags = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 })
const free: Connection[] = []
/** When the waiting ones were due; the index of the first is `firstWaiting`. */
const waiting: number[] = []
let firstWaiting = 0
let due = 0
let accepted = 0
let startedAt = 0

const micros = (ms: number): number => Math.max(1, Math.round(ms * 1000))

function send(connection: Connection, dueAt: number): void {
  connection.dueAt = dueAt
  connection.socket.write(nextRequest(), 'latin1')
}

function tick(): void {
  const now = performance.now()
  const slots = Math.floor(now - startedAt)
  while (due < total) {
    const slot = Math.floor(due / perMs)
    if (slot > slots) break
    const dueAt = startedAt + slot
    lags.record(micros(now - dueAt))
    due++
    // In turn, so that none idles until the server closes it.
    const connection = free.shift()
    if (connection === undefined) waiting.push(dueAt)
    else send(connection, dueAt)
  }
  if (due < total) setTimeout(tick, 1)
}

function answered(connection: Connection, text: string): void {
  connection.held += text
  const end = answerEnd(connection.held)
  if (end === undefined) return
  if (!connection.held.startsWith('HTTP/1.1 202 ')) fail(`an answer was not 202: ${connection.held.slice(0, 1_000)}`)
  if (connection.held.length > end) fail('a server answered more than it was asked')
  connection.held = ''
  latencies.record(micros(performance.now() - connection.dueAt))
  if (++accepted === total) return report()
  const dueAt = waiting[firstWaiting]
  if (dueAt === undefined) {
    free.push(connection)
  } else {
    firstWaiting++
    send(connection, dueAt)
  }
}

function report(): void {
  const result: OpenLoopResult = {
    eventsPerSecond: accepted / ((performance.now() - startedAt) / 1000),
    accepted,
    unseenMax: 0,
    p50Us: latencies.percentile(50),
    p99Us: latencies.percentile(99),
    lagP99Us: lags.percentile(99),
  }
  process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit(0))
}

function fail(why: string): never {
  process.stderr.write(`${why}\n`)
  process.exit(1)
}

for (let i = 0; i < Number(connections); i++) {
  const socket = createConnection({ host: '127.0.0.1', port: Number(port), noDelay: true })
  const connection = { socket, dueAt: 0, held: '' }
  socket.setEncoding('latin1')
  socket.on('data', (text: string) => answered(connection, text))
  socket.once('error', (cause) => fail(`a connection failed: ${cause.message}`))
  socket.once('close', () => fail('a server closed a connection'))
  socket.once('connect', () => {
    free.push(connection)
    if (free.length < Number(connections)) return
    startedAt = performance.now()
    tick()
  })
}
