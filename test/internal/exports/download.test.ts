import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { Budget } from '../../../internal/auth/rate-limits.js'
import type { BlobStore } from '../../../internal/exports/blobs/blob-store.js'
import { s3Blobs } from '../../../internal/exports/blobs/s3.js'
import { type DownloadRouteDeps, downloadRoute } from '../../../internal/exports/download.js'
import { DOWNLOAD_PATH } from '../../../internal/exports/download-url.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { atEnd } from '../../support/run/at-end.js'
import { TENANT } from '../../support/scope-keys.js'
import { serveRoutes } from '../../support/serve-routes.js'

const CONTENT = 'a file of an export'

afterEach(() => {
  vi.useRealTimers()
})

/** @param blobs undefined: the job has expired */
async function download(blobs?: BlobStore, burst = 100): Promise<() => Promise<Response>> {
  const budget = new Budget({ perSecond: 0.001, burst })
  const file = { key: 'k', name: 'f.csv', media_type: 'text/csv', bytes: CONTENT.length, sha256: 'aa' }
  const job = {
    tenant_id: TENANT,
    status: 'succeeded',
    result: { file, expires_at: new Date(Date.now() + 60_000).toISOString() },
  }
  const deps = {
    tokens: { read: () => ({ tenantId: TENANT, jobId: 'job_one', download: 'file' }) },
    jobs: { get: () => undefined, read: async () => (blobs === undefined ? undefined : job) },
    places: [],
    blobs,
    residencyRegionOf: () => undefined,
    downloadBudgetOf: () => budget,
    isBrokerUp: () => true,
    clock: Date.now,
    log: createLog('test', 'silent'),
  } as unknown as DownloadRouteDeps
  const { url } = await serveRoutes([downloadRoute(deps)])
  return () => fetch(`${url}${DOWNLOAD_PATH}/token`)
}

test('a download that finds the budget of its tenant exhausted shows it', async () => {
  const ask = await download(undefined, 1)

  const first = await ask()
  const second = await ask()

  expect([first.status, first.headers.get('ratelimit-limit')]).toEqual([404, null])
  expect([second.status, second.headers.get('ratelimit-limit'), second.headers.get('ratelimit-remaining')]).toEqual([
    429,
    '1',
    '0',
  ])
})

/** A bucket that answers as it is told, and says when it was asked. */
async function bucket(answer: (method: string, response: ServerResponse) => void) {
  const asked = new Map<string, () => void>()
  const server = createServer((request, response) => {
    const { method = '' } = request
    answer(method, response)
    asked.get(method)?.()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(async () => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const blobs = s3Blobs({
    bucket: 'b',
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-central-1',
    accessKey: 'a',
    secretKey: 'b',
  })
  return { blobs, wasAsked: (method: string) => new Promise<void>((resolve) => asked.set(method, resolve)) }
}

const HEAD = { 'content-length': CONTENT.length, etag: '"aa"' }
const PATIENCE_MS = 1_500
const SILENCE_MS = 10_000

test('a file comes as its bucket has it', async () => {
  const { blobs } = await bucket((method, response) => {
    response.writeHead(200, HEAD).end(method === 'GET' ? CONTENT : undefined)
  })

  const answer = await (await download(blobs))()

  expect([answer.status, await answer.text()]).toEqual([200, CONTENT])
})

test.each([
  ['says nothing', 'HEAD', () => undefined],
  [
    'says the size only',
    'GET',
    (method: string, response: ServerResponse) => {
      if (method === 'HEAD') response.writeHead(200, HEAD).end()
    },
  ],
  [
    'begins a file without a byte of it',
    'GET',
    (method: string, response: ServerResponse) => {
      response.writeHead(200, HEAD).flushHeaders()
      if (method === 'HEAD') response.end()
    },
  ],
])('a bucket that %s is said within two seconds', async (_, last, freeze) => {
  const { blobs, wasAsked } = await bucket(freeze)
  const ask = await download(blobs)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const reached = wasAsked(last)

  const answer = ask()
  await reached
  vi.advanceTimersByTime(PATIENCE_MS)

  const { status, headers } = await answer
  expect([status, headers.get('retry-after')]).toEqual([503, '5'])
})

test('a bucket that stops within a file costs the connection, so that nobody takes half a file for one', async () => {
  let response: ServerResponse | undefined
  const { blobs, wasAsked } = await bucket((method, to) => {
    to.writeHead(200, HEAD)
    if (method === 'HEAD') to.end()
    else {
      to.write(CONTENT.slice(0, 5))
      response = to
    }
  })
  const ask = await download(blobs)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const reached = wasAsked('GET')

  const answer = await ask()
  await reached
  const body = answer.text().catch(() => 'cut')
  const closed = once(response as ServerResponse, 'close')
  vi.advanceTimersByTime(SILENCE_MS)
  await closed

  expect([answer.status, await body]).toEqual([200, 'cut'])
})

const statuses = (head: number, get: number) => (method: string, response: ServerResponse) => {
  response.writeHead(method === 'HEAD' ? head : get, HEAD).end(method === 'GET' ? CONTENT : undefined)
}

test.each([
  ['cannot be reached', (_: string, response: ServerResponse) => response.destroy()],
  [
    'hangs up before the first byte of a file',
    (method: string, response: ServerResponse) => {
      response.writeHead(200, HEAD).flushHeaders()
      if (method === 'HEAD') response.end()
      else response.destroy()
    },
  ],
  ['fails', statuses(500, 500)],
  ['is overloaded', statuses(200, 503)],
])('a bucket that %s is unavailable', async (_, answer) => {
  const { blobs } = await bucket(answer)

  const { status, headers } = await (await download(blobs))()

  expect([status, headers.get('retry-after')]).toEqual([503, '5'])
})

test.each([
  ['does not let the service in', statuses(403, 403)],
  ['shows the size of a file alone', statuses(200, 403)],
  ['is in another region', statuses(301, 301)],
])('a bucket that %s is an error, which no repeat mends', async (_, answer) => {
  const { blobs } = await bucket(answer)

  const { status, headers } = await (await download(blobs))()

  expect([status, headers.get('retry-after')]).toEqual([500, null])
})

test('a defect is an error, and not a store that is unavailable', async () => {
  const defect = new TypeError("Cannot read properties of undefined (reading 'size')")
  const blobs = { size: () => Promise.reject(defect) } as unknown as BlobStore

  expect((await (await download(blobs))()).status).toBe(500)
})
