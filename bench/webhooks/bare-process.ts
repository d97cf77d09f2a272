/**
 * What a user would write: a loop of `undici` requests on each connection, the same body to the same receiver, and
 * nothing else. Prints requests a second, and microseconds of processor time a request.
 */
import { readFileSync } from 'node:fs'
import { Pool } from 'undici'

const env = (name: string): string => process.env[`BENCH_${name}`] ?? ''
const [count, connections] = [Number(env('COUNT')), Number(env('CONNECTIONS'))]
const body = env('BODY')
const pool = new Pool(env('ORIGIN'), {
  connections,
  connect: { ca: readFileSync(env('CERT')), servername: 'localhost' },
})

let started = 0
async function loop(): Promise<void> {
  while (started++ < count) {
    const { statusCode, body: answer } = await pool.request({
      path: env('PATH'),
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    })
    await answer.dump()
    if (statusCode !== 204) throw new Error(`the receiver answers ${statusCode}`)
  }
}

const startedAt = performance.now()
const before = process.cpuUsage()
await Promise.all(Array.from({ length: connections }, loop))
const perSecond = count / ((performance.now() - startedAt) / 1_000)
const { user, system } = process.cpuUsage(before)
process.stdout.write(`${JSON.stringify({ perSecond, cpuUs: (user + system) / count })}\n`)
process.exit(0)
