import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { SCOPES, type Scope } from '../../internal/auth/scopes.js'
import { type Answer, answerChecker } from '../support/contract/check-answer.js'
import { type Credential, credentialsFor } from '../support/contract/credentials.js'
import type { DescribedOperation } from '../support/contract/described.js'
import { openTarget, send, type Target } from '../support/contract/target.js'
import { wireEvent } from '../support/gateway.js'
import { beginFlow, redeem, signIn } from '../support/oauth-client.js'
import type { Instance } from '../support/service.js'

/** Every operation with every kind of credential: a status for each cell of that table. */

let target: Target
let credentials: readonly Credential[]
beforeAll(async () => {
  target = await openTarget()
  credentials = await credentialsFor(target)
})
afterAll(() => target.stop())

/** A request that is as short as one can be: past the credential, it is refused for what it lacks, or answered. */
async function ask(operation: DescribedOperation, { headers }: Credential): Promise<Answer> {
  const path = operation.path.replace(/\{\w+\}/g, 'unknown')
  for (;;) {
    const answer = await send(target.credentials.base_url, { method: operation.method, path, headers })
    if (answer.status !== 429) return answer
    await sleep(Number(answer.headers.get('retry-after')) * 1_000)
  }
}

interface Cell {
  readonly operation: string
  readonly credential: string
  readonly outcome: string
}

/** What the declaration of a route says of a credential. */
function expected(operation: DescribedOperation, credential: Credential, publicOutcome: string): string {
  const { scope } = operation
  const { worth } = credential
  if (scope === undefined) return publicOutcome
  if (!isOfThisApi(operation, credential)) return '401 INVALID_CREDENTIALS'
  if (typeof worth === 'string') return `401 ${worth}`
  if (scope === null ? worth.size === 0 : !scope.split(' or ').some((each) => worth.has(each)))
    return '403 INSUFFICIENT_SCOPE'
  if (operation.parameters.some(({ name }) => name === 'Idempotency-Key')) return '400 IDEMPOTENCY_KEY_REQUIRED'
  // Its body is missing.
  if (operation.method === 'PUT') return '415 UNSUPPORTED_MEDIA_TYPE'
  if (operation.parameters.some(({ place }) => place === 'path')) return '404 NOT_FOUND'
  return operation.parameters.some(({ place, required }) => place === 'query' && required)
    ? '400 INVALID_FILTER'
    : '200'
}

/** The partner API has credentials of its own. */
const isOfThisApi = ({ isForPartners }: DescribedOperation, { isPartners }: Credential): boolean =>
  isForPartners === (isPartners === true)

const outcomeOf = ({ status, text }: Answer): string => {
  // An answer may tell of others' error codes: the description does, and the audit log.
  const code = status < 400 ? undefined : /"error_code":"([A-Z_]+)"/.exec(text)?.[1]
  return code === undefined ? String(status) : `${status} ${code}`
}

test('every operation answers every kind of credential with the status that its route declares', async () => {
  const wrongIn = answerChecker(target.described)
  const cells: Cell[] = []
  const table: Cell[] = []
  const faults: unknown[] = []
  for (const operation of target.described.operations) {
    const withNone = outcomeOf(
      await ask(operation, { name: 'none', headers: {}, worth: new Set(), tenantId: undefined }),
    )
    for (const credential of credentials) {
      const answer = await ask(operation, credential)
      const cell = { operation: operation.id, credential: credential.name }
      cells.push({ ...cell, outcome: outcomeOf(answer) })
      table.push({ ...cell, outcome: expected(operation, credential, withNone) })

      const path = operation.path.replace(/\{\w+\}/g, 'unknown')
      const secrets = Object.values(credential.headers).filter((text) => text !== 'garbage')
      const tenantId = isOfThisApi(operation, credential) ? credential.tenantId : undefined
      const wrong = wrongIn({ operation, path, planted: secrets, tenantId }, answer)
      if (wrong.length > 0) faults.push({ ...cell, wrong })
    }
  }

  expect(cells).toEqual(table)
  expect(faults).toEqual([])
}, 300_000)

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
    for (const scope of SCOPES) {
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
}, 300_000)

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

test('a tenant id in query, header or body changes neither whose data is written nor whose is read', async () => {
  const { base_url } = target.credentials
  const own = credentials.find(({ name }) => name === 'all scopes')
  const other = credentials.find(({ name }) => name === "other tenant's key")
  const get = (path: string, asker: Credential | undefined, named: Credential | undefined): Promise<Answer> =>
    send(base_url, { method: 'GET', path, headers: { ...asker?.headers, 'x-tenant-id': named?.tenantId ?? 'tnt_x' } })

  const taken = await send(base_url, {
    method: 'POST',
    path: `/api/v1/invocations?tenant_id=${other?.tenantId}`,
    headers: {
      ...own?.headers,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
      'x-tenant-id': other?.tenantId ?? 'tnt_x',
    },
    body: JSON.stringify({ ...wireEvent(), tenant_id: other?.tenantId, tenant: other?.tenantId }),
  })
  const { invocation_id } = JSON.parse(taken.text) as { invocation_id: string }
  const record = `/v1/attribution/${invocation_id.replace('inv_', 'attr_')}`
  while ((await get(record, own, other)).status === 404) await sleep(20)

  expect((await get(record, own, other)).status).toBe(200)
  // An instance from outside has no second tenant that we could ask as.
  if (other === undefined) return
  expect(outcomeOf(await get(record, other, own))).toBe('403 TENANT_MISMATCH')
  expect(JSON.parse((await get('/v1/attribution', other, own)).text)).toMatchObject({ data: [] })
  const narrowed = await get(`/v1/attribution?tenant_id=${own?.tenantId}`, other, own)
  expect(outcomeOf(narrowed)).toBe('400 INVALID_FILTER')
})
