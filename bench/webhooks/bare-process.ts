/**
 * The plain alternative: a loop of `undici` requests on each connection, the same body to the same receiver, and
 * nothing else. Prints requests per second, and microseconds of processor time per request.
 *
 * In its favour, as with the courier: certificates are read once, TLS sessions are resumed, and what is measured
 * comes behind requests that are not.
 */
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { Pool } from 'undici'

const env = (name: string): string => process.env[`BENCH_${name}`] ?? ''
const [count, connections] = [Number(env('COUNT')), Number(env('CONNECTIONS'))]
const body = env('BODY')
const secureContext = createSecureContext({ ca: readFileSync(env('CERT')) })
const pool = new Pool(env('ORIGIN'), { connections, connect: { secureContext, servername: 'localhost' } })

async function send(requests: number): Promise<void> {
  let started = 0
  const loop = async (): Promise<void> => {
    while (started++ < requests) await post()
  }
  await Promise.all(Array.from({ length: connections }, loop))
}

async function post(): Promise<void> {
  const { statusCode, body: answer } = await pool.request({
    path: env('PATH'),
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  })
  await answer.dump()
  if (statusCode !== 204) throw new Error(`the receiver answers ${statusCode}`)
}

await send(Number(env('WARM_UP')))
const [startedAt, before] = [performance.now(), process.cpuUsage()]
await send(count)
const perSecond = count / ((performance.now() - startedAt) / 1_000)
const { user, system } = process.cpuUsage(before)
process.stdout.write(`${JSON.stringify({ perSecond, cpuUs: (user + system) / count })}\n`)
process.exit(0)
