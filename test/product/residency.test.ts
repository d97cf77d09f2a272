import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { setRegion } from '../support/instance.js'
import { newTenantOfProduct } from '../support/product.js'
import type { Instance } from '../support/service.js'

let service: Instance
let ask: Ask
beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})

test('a tenant whose data stays in another region reads nothing of its calls, and gets no file address', async () => {
  const created = await ask('POST', '/v1/exports/focus', {
    format: 'focus',
    period: { from: '2026-10-01', to: '2026-10-02' },
  })

  const statusUrl: string = created.json.status_url
  let job = await ask('GET', statusUrl)
  while (['queued', 'running'].includes(job.json.status)) {
    await sleep(50)
    job = await ask('GET', statusUrl)
  }
  expect(job.json.result_url).toContain(service.baseUrl)
  const reads = [
    '/v1/attribution',
    '/v1/reports/usage?from=2026-10-01T00:00:00Z&to=2026-10-02T00:00:00Z',
    '/api/v1/directory/unknown-names',
    '/api/v1/coverage',
    '/api/v1/anomalies',
    '/api/v1/budgets',
    '/api/v1/events/log',
  ]
  for (const path of reads) expect((await ask('GET', path)).status, path).toBe(200)

  // A tenant's own change of its region waits a day.
  const changed = await ask('PATCH', '/api/v1/settings', { residency_region: 'ap-south-1' })
  expect(changed.json).toMatchObject({ residency_region: null, pending_changes: [{ setting: 'residency_region' }] })
  await setRegion(service, ask, 'ap-south-1')
  while ((await ask('GET', reads[0] as string)).status === 200) await sleep(20)

  for (const path of reads) expect(refusalOf(await ask('GET', path)), path).toEqual([409, 'RESIDENCY_BLOCKED'])
  const blocked = await ask('GET', statusUrl)
  expect([blocked.status, blocked.json.status]).toEqual([200, job.json.status])
  expect(blocked.json.result_url).toBeUndefined()
  expect(blocked.json.manifest_url).toBeUndefined()
  expect((await fetch(job.json.result_url)).status).toBe(409)
})
