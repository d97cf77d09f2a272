import { beforeAll, expect, test } from 'vitest'
import { Budget } from '../../../internal/auth/rate-limits.js'
import { type DownloadRouteDeps, downloadRoute } from '../../../internal/exports/download.js'
import { DOWNLOAD_PATH } from '../../../internal/exports/download-url.js'
import { TENANT } from '../../support/scope-keys.js'
import { serveRoutes } from '../../support/serve-routes.js'

let url = ''
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
  url = (await serveRoutes([downloadRoute(deps)])).url
})

test('a download that finds the budget of its tenant exhausted shows it', async () => {
  const download = () => fetch(`${url}${DOWNLOAD_PATH}/token`)

  const first = await download()
  const second = await download()

  expect([first.status, first.headers.get('ratelimit-limit')]).toEqual([404, null])
  expect([second.status, second.headers.get('ratelimit-limit'), second.headers.get('ratelimit-remaining')]).toEqual([
    429,
    '1',
    '0',
  ])
})
