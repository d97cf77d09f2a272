import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SCOPES, type Scope } from '../../internal/auth/scopes.js'
import { type Answer, outcomeOf } from '../support/contract/check-answer.js'
import { type Credential, credentialsFor } from '../support/contract/credentials.js'
import { openTarget, send, type Target } from '../support/contract/target.js'
import { beginFlow, redeem, signIn } from '../support/oauth-client.js'
import { RUNS_BOTH_RINGS } from '../support/run/rings.js'
import type { Instance } from '../support/service.js'

/** Every way to give a scope to somebody, with every kind of credential. */

let target: Target
let credentials: readonly Credential[]
beforeAll(async () => {
  target = await openTarget()
  credentials = await credentialsFor(target)
})
afterAll(() => target.stop())

interface Cell {
  readonly operation: string
  readonly credential: string
  readonly outcome: string
}

/** The rules are the same for every scope: the inner ring looks at the one that gives, and at one more. */
const GIVEN = SCOPES.filter((scope) => RUNS_BOTH_RINGS || ['admin:config', 'read:attribution'].includes(scope))

/** A way to give a scope to somebody. */
interface Gift {
  readonly name: string
  readonly path: string
  readonly body: (scope: Scope) => Record<string, unknown>
  /** What shows a new secret of the one that was created. */
  readonly renewal?: 'rotate' | 'rotate-secret'
}
const named = () => `Given ${randomUUID()}`
const GIFTS: readonly Gift[] = [
  {
    name: 'create a key',
    path: '/api/v1/api-keys',
    body: (scope) => ({ name: named(), scopes: [scope] }),
    renewal: 'rotate',
  },
  {
    name: 'create a client',
    path: '/api/v1/clients',
    body: (scope) => ({ name: named(), scopes: [scope] }),
    renewal: 'rotate-secret',
  },
  { name: 'create a person', path: '/api/v1/users', body: (scope) => ({ username: randomUUID(), scopes: [scope] }) },
  {
    name: 'create a connector',
    path: '/api/v1/connectors',
    body: (scope) => ({ name: named(), scopes: [scope], source_systems: ['data-cloud'] }),
    renewal: 'rotate-secret',
  },
]

test('a credential gives what it holds and nothing else, and an owner everything', async () => {
  const { credentials: first, service } = target
  const owners = service === undefined ? [] : [await tokenOfOwner(service)]
  const givers = [
    ...credentials.filter(
      ({ worth, tenantId, isPartners }) => typeof worth !== 'string' && tenantId === first.tenant_id && !isPartners,
    ),
    ...owners,
  ]
  const post = async (path: string, headers: Credential['headers'], body: object): Promise<Answer> => {
    const key = randomUUID()
    for (;;) {
      const answer = await send(first.base_url, {
        method: 'POST',
        path,
        headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': key },
        body: JSON.stringify(body),
      })
      // Passwords are hashed a few at a time.
      if (answer.status !== 429 && answer.status !== 503) return answer
      await sleep(Number(answer.headers.get('retry-after')) * 1_000)
    }
  }
  const cells: Cell[] = []
  const table: Cell[] = []
  for (const { name, path, body, renewal } of GIFTS) {
    for (const scope of GIVEN) {
      if (name === 'create a connector' && scope === 'admin:config') continue
      for (const giver of givers) {
        const worth = giver.worth as ReadonlySet<string>
        const mayGive = worth.has('admin:config') && (worth.has(scope) || owners.includes(giver))
        const operations: [string, string, object, string][] = [[`${name} with ${scope}`, path, body(scope), '201']]
        if (renewal !== undefined) {
          const made = JSON.parse((await post(path, { 'x-api-key': first.api_key }, body(scope))).text) as {
            id: string
          }
          operations.push([
            `${renewal} what has ${scope}`,
            `${path}/${made.id}/${renewal}`,
            {},
            renewal === 'rotate' ? '201' : '200',
          ])
        }
        for (const [operation, at, sent, success] of operations) {
          const outcome = outcomeOf(await post(at, giver.headers, sent))
          cells.push({ operation, credential: giver.name, outcome })
          table.push({ operation, credential: giver.name, outcome: mayGive ? success : '403 INSUFFICIENT_SCOPE' })
        }
      }
    }
  }

  expect(cells).toEqual(table)
  expect(new Set(cells.map(({ outcome }) => outcome))).toEqual(new Set(['200', '201', '403 INSUFFICIENT_SCOPE']))
}, 600_000)

/** A token of the first administrator that carries `admin:config` alone. */
async function tokenOfOwner(service: Instance): Promise<Credential> {
  const flow = await beginFlow(service, 'admin:config')
  const { access_token } = await redeem(flow, await signIn(service, flow))
  return {
    name: "owner's token for admin:config only",
    headers: { authorization: `Bearer ${access_token}` },
    worth: new Set(['admin:config']),
    tenantId: service.credentials.tenant_id,
  }
}
