import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Answer, answerChecker, outcomeOf } from '../support/contract/check-answer.js'
import { type Credential, credentialsFor } from '../support/contract/credentials.js'
import type { DescribedOperation } from '../support/contract/described.js'
import { EVERY_NTH, openTarget, send, type Target } from '../support/contract/target.js'
import { wireEvent } from '../support/gateway.js'
import { RUNS_BOTH_RINGS } from '../support/run/rings.js'

/**
 * Every operation with every kind of credential: a status for each cell of that table. The inner ring looks at a tenth
 * of the cells, of each row and of each column, and at all of another tenant.
 */
const ONE_IN = RUNS_BOTH_RINGS ? 1 : 10
const OTHER_TENANT = "other tenant's key"

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

test('every operation answers every kind of credential with the status that its route declares', async () => {
  const wrongIn = answerChecker(target.described)
  const cells: Cell[] = []
  const table: Cell[] = []
  const faults: unknown[] = []
  const asked = target.described.operations.filter((_, at) => at % EVERY_NTH === 0)
  for (const [row, operation] of asked.entries()) {
    // Of a public operation; it is the same with every credential.
    const none = { name: 'none', headers: {}, worth: new Set<string>(), tenantId: undefined }
    const withNone = operation.scope === undefined ? outcomeOf(await ask(operation, none)) : ''
    for (const [column, credential] of credentials.entries()) {
      if ((row + column) % ONE_IN !== 0 && credential.name !== OTHER_TENANT) continue
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
}, 600_000)

test('a tenant id in query, header or body changes neither whose data is written nor whose is read', async () => {
  const { base_url } = target.credentials
  const own = credentials.find(({ name }) => name === 'all scopes')
  const other = credentials.find(({ name }) => name === OTHER_TENANT)
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
