/**
 * The load generator for machines without wrk: raw keep-alive sockets, one request in flight each. Every status is
 * read; anything but 202 ends it with exit code 1.
 *
 * Arguments: port, file of requests, connections, mean pause in ms, then `seconds N` or `requests N`.
 * Writes one JSON line, a `LoadResult`.
 */
import { createConnection, type Socket } from 'node:net'
import { createHistogram } from 'node:perf_hooks'
import type { LoadResult } from './load.js'
import { answerEnd, requestsOf } from './raw-http.js'

const [port, file = '', connections, pause, unit, amount] = process.argv.slice(2)
const pauseMs = Number(pause)
const requestsMax = unit === 'requests' ? Number(amount) : Number.POSITIVE_INFINITY
const secondsMax = unit === 'seconds' ? Number(amount) : Number.POSITIVE_INFINITY

const nextRequest = requestsOf(file)

const latencies = createHistogram({ lowest: 1, highest: 60_000_000, figures: 3 })
let sent = 0
let accepted = 0
let acceptedInTime = 0
let open = 0
let isOver = false
const startedAt = performance.now()

function next(socket: Socket, state: { sentAt: number }): void {
  if (isOver || sent >= requestsMax) {
    socket.end()
    return
  }
  sent++
  state.sentAt = performance.now()
  socket.write(nextRequest(), 'latin1')
}

function connect(): void {
  const socket = createConnection({ host: '127.0.0.1', port: Number(port), noDelay: true })
  const state = { sentAt: 0 }
  let held = ''
  open++
  socket.setEncoding('latin1')
  socket.once('connect', () => next(socket, state))
  socket.on('data', (text: string) => {
    held += text
    const end = answerEnd(held)
    if (end === undefined) return
    if (!held.startsWith('HTTP/1.1 202 ')) fail(`an answer was not 202: ${held.slice(0, 1_000)}`)
    if (held.length > end) fail('a server answered more than it was asked')
    held = ''
    accepted++
    if (!isOver) acceptedInTime++
    latencies.record(Math.max(1, Math.round((performance.now() - state.sentAt) * 1000)))
    if (pauseMs === 0 || isOver) next(socket, state)
    else setTimeout(next, 1 + Math.random() * (2 * pauseMs - 2), socket, state)
  })
  socket.once('error', (cause) => fail(`a connection failed: ${cause.message}`))
  socket.once('close', () => {
    if (--open === 0) report()
  })
}

let tookMs = 0
function report(): void {
  if (tookMs === 0) tookMs = performance.now() - startedAt
  if (accepted !== sent) fail(`${sent - accepted} of ${sent} requests were not answered`)
  const result: LoadResult = {
    eventsPerSecond: acceptedInTime / (tookMs / 1000),
    accepted,
    unseenMax: 0,
    p50Us: latencies.percentile(50),
    p99Us: latencies.percentile(99),
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
}

function fail(why: string): never {
  process.stderr.write(`${why}\n`)
  process.exit(1)
}

if (Number.isFinite(secondsMax)) {
  setTimeout(() => {
    tookMs = performance.now() - startedAt
    isOver = true
  }, secondsMax * 1000)
}
for (let i = 0; i < Number(connections); i++) connect()
