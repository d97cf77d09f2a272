import { afterAll, beforeAll, expect, test } from 'vitest'
import { delegationChecks } from '../../../../internal/access/delegation/delegation.js'
import { sqlUserRoutes } from '../../../../internal/access/sql-users/sql-user-routes.js'
import type { StoredSqlUser } from '../../../../internal/auth/sql-users.js'
import { type WatchedRecords, watchRecords } from '../../../../internal/broker/watched-records.js'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import { tenantIdsCache } from '../../../../internal/ids/ids.js'
import { SQL_USERS } from '../../../../streams/buckets.js'
import { type Ask, askAs, refusalOf } from '../../../support/ask.js'
import { launchBroker } from '../../../support/broker.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../../support/mutation-gateway.js'
import { tenantRecords } from '../../../support/tenant-records.js'

const PATH = '/api/v1/sql-users'

let gateway: MutationGateway
let users: WatchedRecords<StoredSqlUser>
let ask: Ask
let isOver = false
beforeAll(async () => {
  const { url } = await launchBroker()
  gateway = await startMutationGateway(url, async (mutate, broker) => {
    users = await watchRecords<StoredSqlUser>(await broker.bucket(SQL_USERS), (cause) => {
      if (!isOver) throw cause
    })
    return sqlUserRoutes({
      mutate,
      mode: 'production',
      users,
      delegationCheckOf: delegationChecks((await tenantRecords(broker)).tenants.read),
      lifeDaysMaxOf: () => 90,
      idsOf: tenantIdsCache(SECRET),
      cursors: createCursorCodec(SECRET),
      clock: Date.now,
    })
  })
  ask = askAs(gateway.url, { 'x-api-key': 'admin:config' })
})
afterAll(async () => {
  isOver = true
  await gateway.stop()
})

test('an SQL user is created and revoked only after a recent sign-in', async () => {
  const { id } = (await ask('POST', PATH, { name: 'dashboards' })).json
  const stale = { 'x-api-key': `admin:config@${Math.floor(Date.now() / 1_000) - 901}` }

  for (const answer of [
    await ask('POST', PATH, { name: 'more' }, stale),
    await ask('DELETE', `${PATH}/${id}`, undefined, stale),
  ]) {
    expect(refusalOf(answer)).toEqual([401, 'STEP_UP_REQUIRED'])
  }
  const { json } = await ask('GET', PATH, undefined, stale)
  expect(json.data.map((user: { id: string; status: string }) => [user.id, user.status])).toEqual([[id, 'active']])
})
