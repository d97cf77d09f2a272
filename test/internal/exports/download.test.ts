import { afterAll, beforeAll, expect, test } from 'vitest'
import { Budget } from '../../../internal/auth/rate-limits.js'
import { type DownloadRouteDeps, downloadRoute } from '../../../internal/exports/download.js'
import { DOWNLOAD_PATH } from '../../../internal/exports/download-url.js'
import { type RunningServer, serve } from '../../../internal/http/server.js'
import { createLog } from '../../../internal/telemetry/log.js'
import { scopeKeys, TENANT } from '../../support/scope-keys.js'

let server: RunningServer
beforeAll(async () => {
  const budget = new Budget({ perSecond: 0.001, burst: 1 })
  const deps = {
    tokens: { read: () => ({ tenantId: TENANT, jobId: 'job_one', download: 'result' }) },
    jobs: { get: () => undefined, read: async () => undefined },
    places: [],
    residencyRegionOf: () => undefined,
    downloadBudgetOf: () => budget,
    isBrokerUp: () => true,
    clock: Date.now,
  } as unknown as DownloadRouteDeps
  server = await serve({ host: '127.0.0.1', port: 0, errorDocsUrl: 'http://docs/errors' }, [downloadRoute(deps)], {
    authenticator: scopeKeys(),
    credentialsAwayMs: () => 0,
    log: createLog('test', 'silent'),
  })
})
afterAll(() => server.drain())

test('a download that finds the budget of its tenant exhausted shows it', async () => {
  const download = () => fetch(`http://127.0.0.1:${server.port}${DOWNLOAD_PATH}/token`)

  const first = await download()
  const second = await download()

  expect([first.status, first.headers.get('ratelimit-limit')]).toEqual([404, null])
  expect([second.status, second.headers.get('ratelimit-limit'), second.headers.get('ratelimit-remaining')]).toEqual([
    429,
    '1',
    '0',
  ])
})
