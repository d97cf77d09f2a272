import { expect, test } from 'vitest'
import {
  type AttributionRoutesDeps,
  attributionRoutes,
} from '../../../../internal/attribution/records/record-routes.js'
import type { Caller } from '../../../../internal/auth/authenticate.js'
import { MirrorBehind } from '../../../../internal/broker/errors.js'
import { readFilteredQuery } from '../../../../internal/filters/parse.js'
import type { Exchange } from '../../../../internal/http/exchange.js'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import type { Problem } from '../../../../internal/problems/problem-catalogue.js'

/** What a list is answered with. */
async function list(deps: Partial<AttributionRoutesDeps>, query = ''): Promise<Problem | undefined> {
  let told: Problem | undefined
  const exchange = {
    query,
    onAborted: () => undefined,
    replyJson: () => undefined,
    replyProblem: (what: Problem) => {
      told = what
    },
  }
  const [route] = attributionRoutes({
    list: async () => ({ value: [] }),
    watermark: { latest: async () => 1, renewed: async () => 1 },
    cursors: createCursorCodec(new Uint8Array(32)),
    dimensionsOf: () => [],
    clock: () => 1,
    ...deps,
  } as AttributionRoutesDeps)
  await route?.handle(exchange as unknown as Exchange, { tenantId: 'tnt_one' } as Caller)
  return told
}
const failing = (cause: Error) => async () => {
  throw cause
}

test('the attribution route answers 503 when the store is unavailable', async () => {
  const cause = Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })

  expect(await list({ list: failing(cause) })).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})

test('the attribution route answers 503 when the broker cannot give the watermark', async () => {
  const cause = new MirrorBehind('the fence was not set')

  expect(await list({ watermark: { latest: failing(cause), renewed: failing(cause) } })).toMatchObject({
    code: 'SERVICE_UNAVAILABLE',
  })
})

test.each([new TypeError('rows is not iterable'), new RangeError('Invalid time value'), new Error('no such place')])(
  'a defect is thrown, so that it is logged: %s',
  async (cause) => {
    await expect(list({ list: failing(cause) })).rejects.toBe(cause)
  },
)

test('a cursor to a place among providers as they were stated is of another query', async () => {
  const [cursors, sort] = [createCursorCodec(new Uint8Array(32)), 'sort=provider']
  const read = readFilteredQuery(sort, [])
  const digest = read.ok ? read.query.digest : undefined
  const cursor = cursors.encode(
    { tenantId: 'tnt_one', query: `/v1/attribution ${digest}`, lastKey: ['bedrock', ''], snapshotMs: 1 },
    1,
  )

  const credentialNames = () => new Map<string, string>()
  expect(await list({ cursors, credentialNames }, `${sort}&cursor=${cursor}`)).toMatchObject({ code: 'INVALID_CURSOR' })
  expect(await list({ cursors, credentialNames }, sort)).toBeUndefined()
})
