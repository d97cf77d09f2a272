import { beforeAll, expect, test } from 'vitest'
import type { Operation } from '../../../internal/http/contract/operation.js'
import { readsWithinRegion } from '../../../internal/http/residency-guard.js'
import type { Route } from '../../../internal/http/route.js'
import { serveRoutes } from '../../support/serve-routes.js'

const operation: Operation = { id: 'ask', tag: 'Contract', summary: 'Ask', replies: { 200: { description: 'Fine.' } } }
const REGIONS: Readonly<Record<string, string | null>> = {
  tnt_here: 'eu-west-1',
  tnt_there: 'us-east-1',
  tnt_free: null,
}
const ROUTES: readonly Route[] = [
  {
    method: 'get',
    path: '/records',
    access: 'read:attribution',
    rateClass: 'read',
    operation,
    handle: (exchange) => exchange.replyJson('200 OK', {}),
  },
]

let url = ''
beforeAll(async () => {
  const routes = readsWithinRegion(ROUTES, {
    instanceRegion: 'eu-west-1',
    residencyRegionOf: (tenantId) => REGIONS[tenantId] ?? null,
  })
  url = (await serveRoutes(routes)).url
})

test.each([
  ['tnt_here', 200, undefined],
  ['tnt_free', 200, undefined],
  ['tnt_there', 409, 'RESIDENCY_BLOCKED'],
])('a read of %s gets %i', async (tenant, status, code) => {
  const answer = await fetch(`${url}/records`, {
    headers: { 'x-api-key': `${tenant}:read:attribution` },
  })

  expect(answer.status).toBe(status)
  expect(((await answer.json()) as { error_code?: string }).error_code).toBe(code)
})
