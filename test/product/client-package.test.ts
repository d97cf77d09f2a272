import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { runInNewContext } from 'node:vm'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Attribution } from '../../internal/sdk/attribution.js'
import { type Provider, startProvider } from '../internal/sdk/provider.js'
import { newTenantOfProduct } from '../support/product.js'
import { atEnd } from '../support/run/at-end.js'
import type { Instance } from '../support/service.js'

/** The JavaScript client library as others install it: packed, into a folder that has nothing else. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const BYTES_MAX = 60_000
const run = promisify(execFile)

let service: Instance
let provider: Provider
let folder: string
let archive: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'attribution-client-'))
  atEnd(() => rmSync(folder, { recursive: true, force: true }))
  ;[service, provider] = await Promise.all([newTenantOfProduct(), startProvider()])
  await run(process.execPath, [join(ROOT, 'deploy', 'setup', 'client-package.mjs'), join(folder, 'packed')])
  const name = readdirSync(join(folder, 'packed')).find((file) => file.endsWith('.tgz'))
  archive = join(folder, 'packed', name ?? '')
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}')
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', archive], { cwd: folder })
  symlinkSync(join(ROOT, 'node_modules', 'openai'), join(folder, 'node_modules', 'openai'))
})

test('it is small, needs no other package, and has the version of the product', () => {
  const { dependencies, version } = JSON.parse(
    readFileSync(join(folder, 'node_modules', 'attribution-service-client', 'package.json'), 'utf8'),
  )

  expect(statSync(archive).size).toBeLessThan(BYTES_MAX)
  expect(dependencies).toBeUndefined()
  expect(version).toBe(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')).version)
})

const ESM = "import { Attribution } from 'attribution-service-client'\nimport OpenAI from 'openai'\n"
const CJS = "const { Attribution } = require('attribution-service-client')\nconst OpenAI = require('openai')\n"
const TEN_LINES = `
async function call() {
  const attribution = new Attribution({
    baseUrl: process.env.ATTRIBUTION_URL,
    apiKey: process.env.ATTRIBUTION_API_KEY,
    context: { service: process.env.SERVICE },
  })
  const openai = attribution.wrap(new OpenAI({ baseURL: process.env.PROVIDER, apiKey: 'k' }))
  await openai.chat.completions.create({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'hello' }] })
}
`

interface Ended {
  readonly end: { readonly code?: unknown; readonly signal?: unknown }
  /** Whose calls it made. */
  readonly service: string
}

/**
 * Runs a program in the folder. An end sends for three seconds at most, within which a loaded machine may not start the
 * process that does: the program then says what it lost, and another one runs.
 */
async function ran(name: string, program: string): Promise<Ended> {
  writeFileSync(join(folder, name), program)
  for (let attempt = 0; ; attempt++) {
    const caller = `${attempt}-${name}`
    const env = {
      ...process.env,
      ATTRIBUTION_URL: service.baseUrl,
      ATTRIBUTION_API_KEY: service.credentials.api_key,
      SERVICE: caller,
      PROVIDER: provider.url,
    }
    const { stderr, ...end } = await run(process.execPath, [name], { cwd: folder, env, timeout: 60_000 }).then(
      (output) => ({ code: 0, stderr: output.stderr }),
      (error) => ({ code: error.code, signal: error.signal, stderr: String(error.stderr) }),
    )
    if (!stderr.includes(' calls without a record')) return { end, service: caller }
  }
}

async function costsOf(name: string, count: number): Promise<readonly string[]> {
  for (;;) {
    const response = await fetch(`${service.baseUrl}/v1/attribution?filter[service][eq]=${name}`, {
      headers: { 'x-api-key': service.credentials.api_key },
    })
    const { data = [] } = (await response.json()) as { data?: readonly { cost_usd: string }[] }
    if (data.length >= count) return data.map(({ cost_usd }) => cost_usd)
    await sleep(50)
  }
}

test('it runs where there is nothing but web APIs', async () => {
  const code = readFileSync(join(folder, 'node_modules', 'attribution-service-client', 'cjs', 'index.js'), 'utf8')
  const web = {
    fetch,
    Headers,
    Response,
    ReadableStream,
    FormData,
    Blob,
    URL,
    AbortController,
    TextEncoder,
    TextDecoder,
  }
  const module = { exports: {} as { Attribution: typeof Attribution } }
  // Workers of an older date have none.
  const none = { FinalizationRegistry: undefined }
  runInNewContext(code, {
    ...web,
    ...none,
    crypto,
    performance,
    setTimeout,
    clearTimeout,
    module,
    exports: module.exports,
  })
  const attribution = new module.exports.Attribution({
    baseUrl: service.baseUrl,
    apiKey: service.credentials.api_key,
    context: { service: 'edge' },
  })
  const usage = { input_tokens: 1_000, output_tokens: 100 }
  const fetching = attribution.fetch({}, async () => Response.json({ id: 'resp_1', model: 'gpt-4o-mini', usage }))
  const body = JSON.stringify({ model: 'gpt-4o-mini', input: 'hello' })
  await (await fetching('https://api.openai.com/v1/responses', { method: 'POST', body })).json()
  await attribution.flush()

  expect(await costsOf('edge', 1)).toEqual(['0.00021'])
})

describe('a call is a record, however its program ends', () => {
  test.each([
    ['by itself', 'itself.mjs', `${ESM}${TEN_LINES}await call()`, { code: 0 }],
    ['as CommonJS', 'common.cjs', `${CJS}${TEN_LINES}call()`, { code: 0 }],
    ['at once', 'exit.mjs', `${ESM}${TEN_LINES}await call(); process.exit(3)`, { code: 3 }],
    ['by an error', 'error.mjs', `${ESM}${TEN_LINES}await call(); throw new Error('x')`, { code: 1 }],
    [
      'by a signal',
      'signal.mjs',
      `${ESM}${TEN_LINES}await call(); setInterval(() => {}, 1000); process.kill(process.pid, 'SIGTERM')`,
      { signal: 'SIGTERM' },
    ],
    [
      'by a signal that it handles itself',
      'handled.mjs',
      `${ESM}${TEN_LINES}await call(); process.on('SIGTERM', () => process.exit(5)); setInterval(() => {}, 1000)
       process.kill(process.pid, 'SIGTERM')`,
      { code: 5 },
    ],
    [
      'by a signal that it handles once, from before',
      'once.mjs',
      `${ESM}process.once('SIGTERM', () => setTimeout(() => process.exit(6), 50))
       ${TEN_LINES}await call(); setInterval(() => {}, 1000); process.kill(process.pid, 'SIGTERM')`,
      { code: 6 },
    ],
    [
      'while its answer is read',
      'reading.mjs',
      `${ESM}${TEN_LINES.replace("model: 'gpt-4o-mini',", "model: 'endless', stream: true,")}await call(); process.exit(0)`,
      { code: 0 },
    ],
  ])('%s', async (_, name, program, end) => {
    const ended = await ran(name, program)

    expect(ended.end).toMatchObject(end)
    // An answer that was not read to its end states no counts.
    expect(await costsOf(ended.service, 1)).toEqual([name === 'reading.mjs' ? '0' : '0.000285'])
  })

  test.each([
    [
      'workers of a cluster',
      'cluster.mjs',
      `${ESM}import cluster from 'node:cluster'
       ${TEN_LINES}
       if (cluster.isPrimary) for (let i = 0; i < 2; i++) cluster.fork()
       else await call(), process.disconnect()`,
    ],
    [
      'threads',
      'threads.mjs',
      `${ESM}import { isMainThread, Worker } from 'node:worker_threads'
       ${TEN_LINES}
       if (isMainThread) for (let i = 0; i < 2; i++) new Worker(new URL(import.meta.url))
       else await call()`,
    ],
  ])('in %s', async (_, name, program) => {
    const ended = await ran(name, program)

    expect(ended.end).toEqual({ code: 0 })
    expect(await costsOf(ended.service, 2)).toEqual(['0.000285', '0.000285'])
  })
})
