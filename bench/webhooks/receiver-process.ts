/**
 * An https receiver that acknowledges and counts. `BENCH_CERT`, `BENCH_KEY`: PEM files. What begins with `/hang` is
 * never answered; what begins with `/close` costs its connection. `GET /stats` returns the counts since the last call.
 */
import { readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'

/** What `GET /stats` tells. */
export interface ReceiverStats {
  count: number
  firstAtMs: number
  lastAtMs: number
  /** From `created_at` of an event to here. */
  latenciesMs: number[]
}

const nothing = (): ReceiverStats => ({ count: 0, firstAtMs: 0, lastAtMs: 0, latenciesMs: [] })
let stats = nothing()

const files = { cert: process.env['BENCH_CERT'] ?? '', key: process.env['BENCH_KEY'] ?? '' }
const server = createServer(
  { cert: readFileSync(files.cert), key: readFileSync(files.key), keepAliveTimeout: 60_000 },
  (request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(stats))
      stats = nothing()
      return
    }
    const path = request.url ?? ''
    read(request, path.startsWith('/timed'), (createdAtMs) => {
      if (path.startsWith('/hang')) return
      const now = Date.now()
      stats.count++
      if (stats.firstAtMs === 0) stats.firstAtMs = now
      stats.lastAtMs = now
      if (createdAtMs !== undefined) stats.latenciesMs.push(now - createdAtMs)
      response.writeHead(204, path.startsWith('/close') ? { connection: 'close' } : {}).end()
    })
  },
)

function read(request: IncomingMessage, isTimed: boolean, done: (createdAtMs: number | undefined) => void): void {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => isTimed && chunks.push(chunk))
  request.on('end', () => {
    const text = isTimed ? Buffer.concat(chunks).toString() : ''
    done(isTimed ? Date.parse((JSON.parse(text) as { created_at: string }).created_at) : undefined)
  })
}

server.listen(0, '127.0.0.1', () => {
  const address = server.address()
  process.stdout.write(`listening ${address !== null && typeof address === 'object' ? address.port : 0}\n`)
})
process.stdin.resume().once('close', () => process.exit(0))
