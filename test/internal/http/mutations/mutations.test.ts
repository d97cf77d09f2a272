import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditEntry } from '../../../../internal/auth/audit-entry.js'
import { type KeptAnswer, openAnswer, sealAnswer } from '../../../../internal/http/mutations/kept-answer.js'
import type { Mutation, MutationRequest, Reply } from '../../../../internal/http/mutations/mutation.js'
import { type Problem, problem } from '../../../../internal/problems/problem-catalogue.js'
import { DIRECTORY, IDEMPOTENCY } from '../../../../streams/buckets.js'
import { launchBroker, type RunningBroker } from '../../../support/broker.js'
import {
  createThing,
  deleteThing,
  MUTATION_GATEWAY_MAIN,
  type MutationGateway,
  type MutationGatewayOptions,
  SECRET,
  startMutationGateway,
  type Thing,
} from '../../../support/mutation-gateway.js'
import { launch } from '../../../support/processes.js'

let broker: RunningBroker
const UUID = '138390bf-79bd-4678-8029-42e85b31cab9'
const gateways: MutationGateway[] = []

beforeAll(async () => {
  broker = await launchBroker()
})
afterAll(async () => {
  for (const gateway of gateways) await gateway.stop()
})

type Handle = (request: MutationRequest<Thing>) => Promise<Reply | Problem>

/** Creates things in memory that all its gateways share, like a store. */
function makesThings() {
  const things = new Map<string, Thing>()
  const handle: Handle = async ({ body, newId }) => {
    const id = newId('key')
    things.set(id, body)
    return { status: 201, body: { id, secret: `s3cret-of-${id}` }, location: `/things/${id}`, target: id }
  }
  return { things, handle }
}

async function gateway(
  handle: Handle,
  options: MutationGatewayOptions & Partial<Pick<Mutation<Thing>, 'needsStepUp' | 'mayAppear' | 'refusalOf'>> = {},
) {
  const { needsStepUp, mayAppear, refusalOf, ...more } = options
  const stated = {
    ...(needsStepUp && { needsStepUp }),
    ...(mayAppear && { mayAppear }),
    ...(refusalOf && { refusalOf }),
  }
  const started = await startMutationGateway(
    broker.url,
    (mutate) => [mutate(createThing(handle, stated)), mutate(deleteThing(async () => ({ status: 204 })))],
    more,
  )
  gateways.push(started)
  return started
}

interface Sent {
  readonly status: number
  readonly isReplay: boolean
  readonly headers: Headers
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
  readonly json: any
}

async function post(
  { url }: { readonly url: string },
  body: unknown = { name: 'one' },
  headers: Record<string, string> = {},
  path = '/things',
  method = 'POST',
): Promise<Sent> {
  const answer = await fetch(url + path, {
    method,
    body: typeof body === 'string' || body === null ? body : JSON.stringify(body),
    headers: {
      'x-api-key': 'admin:config',
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
      ...headers,
    },
  })
  const text = await answer.text()
  return {
    status: answer.status,
    isReplay: answer.headers.get('idempotency-replayed') === 'true',
    headers: answer.headers,
    text,
    json: text === '' ? undefined : JSON.parse(text),
  }
}

const key = (idempotencyKey: string): Record<string, string> => ({ 'idempotency-key': idempotencyKey })

function expectProblem({ status, headers, json }: Sent, expected: number, code: string): void {
  expect({ status, code: json?.error_code }).toEqual({ status: expected, code })
  expect(headers.get('content-type')).toBe('application/problem+json')
}

describe('a repeated mutation', () => {
  test('gets the same status, headers and body and has one effect, even at another gateway', async () => {
    const { things, handle } = makesThings()
    const [one, other] = [await gateway(handle), await gateway(handle)]
    const id = randomUUID()

    const first = await post(one, { name: 'a' }, key(id))
    const again = [await post(one, { name: 'a' }, key(id)), await post(other, { name: 'a' }, key(id))]

    expect(first).toMatchObject({ status: 201, isReplay: false })
    expect(first.json).toEqual({ id: expect.stringMatching(/^key_[0-9a-z]{26}$/), secret: expect.any(String) })
    for (const { status, isReplay, text, headers } of again) {
      expect({ status, isReplay, text }).toEqual({ status: 201, isReplay: true, text: first.text })
      expect(headers.get('location')).toBe(first.headers.get('location'))
      expect(headers.get('content-type')).toBe('application/json')
      expect(headers.get('cache-control')).toBe('no-store')
    }
    expect(things.size).toBe(1)
  })

  test('with another spelling of its key is the same request', async () => {
    const { things, handle } = makesThings()
    const one = await gateway(handle)
    const id = randomUUID()

    await post(one, { name: 'a' }, key(id))
    const again = [
      await post(one, { name: 'a' }, key(`"${id}"`)),
      await post(one, { name: 'a' }, key(id.toUpperCase())),
    ]

    expect(again.map(({ isReplay }) => isReplay)).toEqual([true, true])
    expect(things.size).toBe(1)
  })

  test('with another body, even an invalid one, or on another resource gets a 422', async () => {
    const { things, handle } = makesThings()
    const one = await gateway(handle)
    const id = randomUUID()

    await post(one, { name: 'a' }, key(id))
    await post(one, null, key(id), '/things/key_a', 'DELETE')

    for (const body of [{ name: 'b' }, '{"name": "a"}', '{}', 'not JSON'])
      expectProblem(await post(one, body, key(id)), 422, 'IDEMPOTENCY_CONFLICT')
    expectProblem(await post(one, null, key(id), '/things/key_b', 'DELETE'), 422, 'IDEMPOTENCY_CONFLICT')
    expect(things.size).toBe(1)
  })

  test('sent a hundred times at once to two gateways has one effect and one reply, and costs one request', async () => {
    const { things, handle } = makesThings()
    const limits = { controlPerSecond: 1 }
    const [one, other] = [await gateway(handle, limits), await gateway(handle, limits)]
    const id = randomUUID()

    const sent = await Promise.all(Array.from({ length: 100 }, (_, i) => post(i % 2 ? one : other, undefined, key(id))))

    expect(things.size).toBe(1)
    expect(new Set(sent.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(sent[0]?.status).toBe(201)
    expect(sent.filter(({ isReplay }) => !isReplay)).toHaveLength(1)
  })

  test('that deletes gets a 204 again, without a body or Content-Length', async () => {
    const one = await gateway(makesThings().handle)
    const id = randomUUID()

    const sent = [
      await post(one, null, key(id), '/things/key_a', 'DELETE'),
      await post(one, null, key(id), '/things/key_a', 'DELETE'),
    ]

    expect(sent.map(({ status, isReplay, text }) => ({ status, isReplay, text }))).toEqual([
      { status: 204, isReplay: false, text: '' },
      { status: 204, isReplay: true, text: '' },
    ])
    for (const { headers } of sent) expect(headers.get('content-length')).toBeNull()
  })

  test('waits for the original request, and gets IDEMPOTENCY_IN_PROGRESS after two seconds', async () => {
    let finish: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    let begin: () => void = () => undefined
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const { things, handle } = makesThings()
    const one = await gateway(async (request) => {
      begin()
      await gate
      return handle(request)
    })
    const id = randomUUID()

    const first = post(one, undefined, key(id))
    await begun
    const impatient = await post(one, undefined, key(id))
    const patient = post(one, undefined, key(id))
    finish()

    expectProblem(impatient, 409, 'IDEMPOTENCY_IN_PROGRESS')
    expect(impatient.headers.get('retry-after')).toBe('1')
    expect((await first).isReplay).toBe(false)
    expect(await patient).toMatchObject({ status: 201, isReplay: true, text: (await first).text })
    expect(things.size).toBe(1)
  })
})

describe('a replay by another credential', () => {
  const ALL = 'admin:config,read:attribution'
  const as = (apiKey: string, id: string) => ({ 'x-api-key': apiKey, ...key(id) })
  /** Makes things with a secret, for callers who may read. */
  const secretThings = () =>
    ({
      refusalOf: async ({ caller }) =>
        caller.scopes.has('read:attribution') ? undefined : problem('INSUFFICIENT_SCOPE', 'not this one'),
      handle: async ({ newId, newSecret }) => ({
        status: 201,
        body: { id: newId('key'), secret: Buffer.from(newSecret()).toString('hex') },
      }),
    }) satisfies Pick<Mutation<Thing>, 'handle' | 'refusalOf'>

  test('is refused what a request of its own would be', async () => {
    const { handle, refusalOf } = secretThings()
    const one = await gateway(handle, { refusalOf })
    const id = randomUUID()

    const made = await post(one, undefined, as(`${ALL}#key_one`, id))
    const lesser = await post(one, undefined, as('admin:config#key_two', id))
    const narrower = await post(one, undefined, as('admin:config#key_one', id))

    expect(made.status).toBe(201)
    for (const refused of [lesser, narrower]) {
      expectProblem(refused, 403, 'INSUFFICIENT_SCOPE')
      expect(refused.text).not.toContain(made.json.secret)
    }
    expect(await post(one, undefined, as(`${ALL}#key_one`, id))).toMatchObject({ isReplay: true, text: made.text })
    expect(one.audited.map(({ outcome, actor }) => [outcome, actor])).toEqual([
      ['succeeded', 'key_one'],
      ['refused', 'key_two'],
      ['refused', 'key_one'],
    ])
  })

  test('gets the same reply, unless that has a secret', async () => {
    const [open, closed] = [await gateway(makesThings().handle), await gateway(secretThings().handle)]
    const [id, secretId] = [randomUUID(), randomUUID()]

    const shown = await post(open, undefined, as(`${ALL}#key_one`, id))
    const again = await post(open, undefined, as('admin:config#key_two', id))
    const secret = await post(closed, undefined, as(`${ALL}#key_one`, secretId))
    const refused = await post(closed, undefined, as(`${ALL}#key_two`, secretId))

    expect(again).toMatchObject({ status: 201, isReplay: true, text: shown.text })
    expectProblem(refused, 422, 'IDEMPOTENCY_CONFLICT')
    expect(refused.text).not.toContain(secret.json.secret)
  })

  describe('of what an earlier version kept, without whose it is', () => {
    /** Makes a thing as a first credential, and forgets whose the reply is. */
    async function made(handle: Mutation<Thing>['handle']) {
      const one = await gateway(handle)
      const id = randomUUID()
      const { text, json } = await post(one, undefined, as(`${ALL}#key_one`, id))
      const bucket = await one.broker.bucket(IDEMPOTENCY)
      for await (const recordKey of await bucket.keys('mutation.createThing.>')) {
        const record = (await bucket.get(recordKey))?.json<{ sealed: string }>()
        const answer = opened(id, recordKey, record?.sealed)
        if (answer === undefined) continue
        const { maker: _, ...kept } = answer
        await bucket.put(recordKey, JSON.stringify({ ...record, sealed: sealAnswer(SECRET, id, recordKey, kept) }))
      }
      return { one, id, text, json }
    }

    test.each(['secret', 'client_secret', 'signing_secret', 'password'])('gets no %s', async (member) => {
      const { one, id, json } = await made(async ({ newId, newSecret }) => ({
        status: 201,
        body: { id: newId('key'), [member]: Buffer.from(newSecret()).toString('hex') },
      }))

      for (const apiKey of [`${ALL}#key_two`, 'admin:config#key_one']) {
        const other = await post(one, undefined, as(apiKey, id))

        expectProblem(other, 422, 'IDEMPOTENCY_CONFLICT')
        expect(other.text).not.toContain(json[member])
      }
    })

    test('gets the same reply where that has no secret', async () => {
      const { one, id, text } = await made(async ({ newId }) => ({ status: 201, body: { id: newId('key') } }))

      expect(await post(one, undefined, as(`${ALL}#key_two`, id))).toMatchObject({ status: 201, isReplay: true, text })
    })
  })

  /** @returns undefined for the answer to another key */
  function opened(id: string, recordKey: string, sealed = ''): KeptAnswer | undefined {
    try {
      return openAnswer(SECRET, id, recordKey, sealed)
    } catch {
      return undefined
    }
  }

  test('gets no secret of a request that was interrupted, whose own credential still does', async () => {
    let isDying = true
    const things = new Map<string, string>()
    const one = await gateway(async ({ newId, newSecret }) => {
      const secret = Buffer.from(newSecret()).toString('hex')
      things.set(newId('key'), secret)
      if (isDying) throw new Error('died here')
      return { status: 201, body: { secret } }
    })
    const id = randomUUID()

    await post(one, undefined, as(`${ALL}#key_one`, id))
    isDying = false
    const other = await post(one, undefined, as(`${ALL}#key_two`, id))
    const own = await post(one, undefined, as(`${ALL}#key_one`, id))

    expectProblem(other, 422, 'IDEMPOTENCY_CONFLICT')
    expect([own.status, [...things.values()]]).toEqual([201, [own.json.secret]])
  })

  test('gets no secret of a request that was interrupted in an earlier version, which did not keep whose it is', async () => {
    const { handle } = secretThings()
    const one = await gateway(handle)
    const id = randomUUID()
    await post(one, undefined, as(`${ALL}#key_one`, id))
    const bucket = await one.broker.bucket(IDEMPOTENCY)
    for await (const recordKey of await bucket.keys('mutation.createThing.>')) {
      const { fingerprint, sealed } =
        (await bucket.get(recordKey))?.json<{ fingerprint: string; sealed: string }>() ?? {}
      if (opened(id, recordKey, sealed) === undefined) continue
      await bucket.put(recordKey, JSON.stringify({ fingerprint, seed: 'ab'.repeat(16), attempt: 1, isLeft: true }))
    }

    const [first, again] = [
      await post(one, undefined, as(`${ALL}#key_two`, id)),
      await post(one, undefined, as(`${ALL}#key_two`, id)),
    ]

    expectProblem(first, 422, 'IDEMPOTENCY_CONFLICT')
    expectProblem(again, 422, 'IDEMPOTENCY_CONFLICT')
  })
})

/** Blocks all callers until it is opened. */
function gate() {
  let open: () => void = () => undefined
  const isOpen = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, isOpen }
}

test('a mutation that waits for the original until its timeout costs one request', async () => {
  const { open, isOpen } = gate()
  const begun = gate()
  const { things, handle } = makesThings()
  const one = await gateway(
    async (request) => {
      begun.open()
      await isOpen
      return handle(request)
    },
    { controlPerSecond: 1 },
  )
  const id = randomUUID()

  const first = post(one, undefined, key(id))
  await begun.isOpen
  const waited = await Promise.all(Array.from({ length: 20 }, () => post(one, undefined, key(id))))
  open()

  expect(new Set(waited.map(({ status }) => status))).toEqual(new Set([409, 429]))
  expect((await first).status).toBe(201)
  expect(things.size).toBe(1)
})

test('a tenant has at most 200 mutations in progress, and blocks no other tenant with them', async () => {
  const { open, isOpen } = gate()
  const full = gate()
  let begun = 0
  const { things, handle } = makesThings()
  const one = await gateway(async (request) => {
    if (++begun === 200) full.open()
    if (request.caller.tenantId === 'tnt_one') await isOpen
    return handle(request)
  })

  const open200 = Array.from({ length: 200 }, () => post(one))
  await full.isOpen
  expectProblem(await post(one), 429, 'RATE_LIMITED')
  expect((await post(one, undefined, { 'x-api-key': 'tnt_two:admin:config' })).status).toBe(201)
  open()

  expect(new Set((await Promise.all(open200)).map(({ status }) => status))).toEqual(new Set([201]))
  expect((await post(one)).status).toBe(201)
  expect(things.size).toBe(202)
})

describe('a reply that is not final leaves the key free', () => {
  test.each<[string, unknown, Record<string, string>, number, string]>([
    ['not JSON', '{', {}, 400, 'MALFORMED_REQUEST'],
    ['a field of the wrong type', { name: 1 }, {}, 422, 'VALIDATION_FAILED'],
    ['a missing field', {}, {}, 422, 'VALIDATION_FAILED'],
    ['a body that is not an object', '[]', {}, 422, 'VALIDATION_FAILED'],
    ['content', { name: 'a', messages: 'x' }, {}, 422, 'VALIDATION_FAILED'],
    ['another media type', { name: 'a' }, { 'content-type': 'text/plain' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['a compressed body', { name: 'a' }, { 'content-encoding': 'gzip' }, 415, 'UNSUPPORTED_MEDIA_TYPE'],
    ['another scope', { name: 'a' }, { 'x-api-key': 'read:attribution' }, 403, 'INSUFFICIENT_SCOPE'],
    ['no credential', { name: 'a' }, { 'x-api-key': '' }, 401, 'INVALID_CREDENTIALS'],
    ['a body that is too long', { name: 'x'.repeat(65_536) }, {}, 413, 'PAYLOAD_TOO_LARGE'],
  ])('%s', async (_, body, headers, status, code) => {
    const { things, handle } = makesThings()
    const one = await gateway(handle)
    const id = randomUUID()

    expectProblem(await post(one, body, { ...key(id), ...headers }), status, code)

    expect(await post(one, { name: 'a' }, key(id))).toMatchObject({ status: 201, isReplay: false })
    expect(things.size).toBe(1)
  })

  test.each(['', '1', 'not-a-key', `"${UUID}`, `${UUID}, ${UUID}`])(
    'without a valid Idempotency-Key: %j',
    async (idempotencyKey) => {
      const { things, handle } = makesThings()
      const one = await gateway(handle)

      expectProblem(await post(one, { name: 'a' }, key(idempotencyKey)), 400, 'IDEMPOTENCY_KEY_REQUIRED')
      expect(things.size).toBe(0)
    },
  )

  test('and names the invalid field, never its value', async () => {
    const one = await gateway(makesThings().handle)

    const { json, text } = await post(one, { name: 'fox'.repeat(50), size: 'fox', prompt: 'fox' })
    const other = await post(one, { size: 'fox' })

    expect(json.errors).toEqual([{ pointer: '/prompt', detail: expect.any(String) }])
    expect(other.json.errors).toEqual([
      { pointer: '/name', detail: 'is required' },
      { pointer: '/size', detail: expect.any(String) },
    ])
    expect(text + other.text).not.toContain('fox')
  })

  test.each(['TENANT_MISMATCH', 'NO_SCOPE', 'VALIDATION_FAILED'] as const)('an error reply with %s', async (code) => {
    let isRefused = true
    const one = await gateway(async () => (isRefused ? problem(code, 'not so') : { status: 200, body: {} }))
    const id = randomUUID()

    expect((await post(one, undefined, key(id))).json.error_code).toBe(code)
    isRefused = false
    expect(await post(one, { name: 'corrected' }, key(id))).toMatchObject({ status: 200, isReplay: false })
  })

  test('a 404 for a target that may still appear', async () => {
    const { things, handle } = makesThings()
    let code: 'NOT_FOUND' | 'CONFLICT' | undefined = 'NOT_FOUND'
    const one = await gateway(async (request) => (code ? problem(code, 'not so') : handle(request)), {
      mayAppear: true,
    })
    const [id, other] = [randomUUID(), randomUUID()]

    expectProblem(await post(one, undefined, key(id)), 404, 'NOT_FOUND')
    code = 'CONFLICT'
    expectProblem(await post(one, undefined, key(other)), 409, 'CONFLICT')
    code = undefined

    expect(await post(one, undefined, key(id))).toMatchObject({ status: 201, isReplay: false })
    expect(await post(one, undefined, key(other))).toMatchObject({ status: 409, isReplay: true })
    expect(things.size).toBe(1)
  })

  test('a rate limit', async () => {
    const { handle } = makesThings()
    const one = await gateway(handle, { controlPerSecond: 1 })
    const id = randomUUID()
    const burst = await Promise.all(Array.from({ length: 5 }, () => post(one)))

    const limited = await post(one, undefined, key(id))
    expectProblem(limited, 429, 'RATE_LIMITED')
    let retried = limited
    while (retried.status === 429) retried = await post(one, undefined, key(id))

    expect(burst.map(({ status }) => status)).toEqual([201, 201, 201, 201, 201])
    expect(retried).toMatchObject({ status: 201, isReplay: false })
  })
})

test.each<[string, number, Record<string, string>]>([
  ['another media type', 415, { 'content-type': 'text/plain' }],
  ['no Idempotency-Key', 400, { 'idempotency-key': '' }],
  ['another scope', 403, { 'x-api-key': 'read:attribution' }],
  ['an old sign-in', 401, { 'x-api-key': 'admin:config@1' }],
  ['the key of another request', 422, key(UUID)],
])('a mutation rejected for %s costs a request', async (_, status, headers) => {
  const one = await gateway(makesThings().handle, { controlPerSecond: 1, needsStepUp: true })
  if (status === 422) await post(one, { name: 'another' }, headers)

  const refused = await Promise.all(Array.from({ length: 10 }, () => post(one, undefined, headers)))

  expect(new Set(refused.map((sent) => sent.status))).toEqual(new Set([status, 429]))
  expect(refused.filter((sent) => sent.status === status).length).toBeLessThan(8)
})

test.each(['NOT_FOUND', 'CONFLICT', 'RESIDENCY_BLOCKED', 'WEBHOOK_URL_REJECTED'] as const)(
  'a reply with %s is final and is repeated',
  async (code) => {
    let calls = 0
    const one = await gateway(async () => {
      calls++
      return problem(code, 'not so')
    })
    const id = randomUUID()

    const first = await post(one, undefined, key(id))
    const again = await post(one, undefined, key(id))

    expect(first.json.error_code).toBe(code)
    expect(again).toMatchObject({ status: first.status, isReplay: true, text: first.text })
    expect(again.headers.get('content-type')).toBe('application/problem+json')
    expect(calls).toBe(1)
  },
)

describe('a mutation whose attempt fails', () => {
  test('is retried with the same ids', async () => {
    const ids: string[] = []
    const one = await gateway(async ({ newId, isRepeat }) => {
      ids.push(newId('key'))
      if (!isRepeat) throw new Error('lost in the middle')
      return { status: 201, body: {} }
    })
    const id = randomUUID()

    const first = await post(one, undefined, key(id))
    const again = await post(one, undefined, key(id))

    expectProblem(first, 500, 'INTERNAL_ERROR')
    expect(again).toMatchObject({ status: 201, isReplay: false })
    expect(new Set(ids).size).toBe(1)
    expect(ids).toHaveLength(2)
    expect(one.audited.map(({ outcome }) => outcome)).toEqual(['failed', 'succeeded'])
  })

  test('because the audit log is unavailable gets a 503, and the retry has the only effect', async () => {
    const { things, handle } = makesThings()
    let isAway = true
    const record = async (): Promise<void> => {
      if (isAway) throw new Error('unavailable')
    }
    const one = await gateway(handle, { auditSink: { record } })
    const id = randomUUID()

    const first = await post(one, undefined, key(id))
    isAway = false
    const again = await post(one, undefined, key(id))

    expectProblem(first, 503, 'SERVICE_UNAVAILABLE')
    expect(first.headers.get('retry-after')).toBe('1')
    expect(again).toMatchObject({ status: 201, isReplay: false })
    expect(things.size).toBe(1)
  })

  test.each<[string, number, MutationGatewayOptions]>([
    ['the rate limit', 429, { controlPerSecond: 1 }],
    ['its route', 422, {}],
  ])('keeps its ids when the next attempt is refused by %s', async (_, status, limit) => {
    const { things, handle } = makesThings()
    let isAway = true
    const record = async (): Promise<void> => {
      if (isAway) throw new Error('unavailable')
    }
    let isRefused = false
    const refusing: Handle = async (request) => (isRefused ? problem('NO_SCOPE', 'not now') : handle(request))
    const one = await gateway(refusing, { auditSink: { record }, ...limit })
    const id = randomUUID()

    const first = await post(one, undefined, key(id))
    const made = [...things.keys()]
    isAway = false
    if (status === 429)
      await Promise.all(Array.from({ length: 4 }, () => post(one, null, {}, '/things/key_a', 'DELETE')))
    isRefused = status === 422
    const refused = await post(one, undefined, key(id))
    isRefused = false
    let again = await post(one, undefined, key(id))
    while (again.status === 429) again = await post(one, undefined, key(id))

    expectProblem(first, 503, 'SERVICE_UNAVAILABLE')
    expect(refused.status).toBe(status)
    expect(again).toMatchObject({ status: 201, json: { id: made[0] } })
    expect([...things.keys()]).toEqual(made)
  })

  test('because its gateway was killed after the effect is taken over once its lease expires', async () => {
    const start = (holdMs: number) => launch(MUTATION_GATEWAY_MAIN, { args: [broker.url, '0', String(holdMs), '1000'] })
    const [killed, second] = [start(600_000), start(0)]
    const urls = await Promise.all(
      [killed, second].map(async (gateway) => (await gateway.line(/^listening at /)).replace('listening at ', '')),
    )
    const [one, other] = [{ url: urls[0] ?? '' }, { url: urls[1] ?? '' }]
    const id = randomUUID()

    const lost = post(one, { name: 'made once' }, key(id)).catch(() => 'lost')
    const made = (await killed.line(/^made /)).replace('made ', '')
    await killed.kill('SIGKILL')
    let again = await post(other, { name: 'made once' }, key(id))
    while (again.status === 409) again = await post(other, { name: 'made once' }, key(id))

    expect(await lost).toBe('lost')
    expect(again).toMatchObject({ status: 201, json: { id: made, was_repeat: true } })
    const directory = await (gateways[0] as MutationGateway).broker.bucket(DIRECTORY)
    expect((await directory.status()).values).toBe(1)
  })

  test('a slow owner keeps its claim beyond the lease while it runs', async () => {
    const { things, handle } = makesThings()
    let calls = 0
    let finish: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      finish = resolve
    })
    let begin: () => void = () => undefined
    const begun = new Promise<void>((resolve) => {
      begin = resolve
    })
    const one = await gateway(
      async (request) => {
        calls++
        begin()
        await gate
        return handle(request)
      },
      // Less than the two seconds that the other request waits, but longer than the pauses of a busy machine.
      { leaseMs: 1_200 },
    )
    const id = randomUUID()

    const first = post(one, undefined, key(id))
    await begun
    const waiting = await post(one, undefined, key(id))
    finish()

    expectProblem(waiting, 409, 'IDEMPOTENCY_IN_PROGRESS')
    expect((await first).status).toBe(201)
    expect({ calls, things: things.size }).toEqual({ calls: 1, things: 1 })
  })
})

describe('a mutation that requires a recent sign-in, with a sign-in', () => {
  const nowS = Math.floor(Date.now() / 1_000)

  test.each([
    ['of one minute ago', `admin:config@${nowS - 60}`, 201],
    ['that does not apply, since no person is involved', 'admin:config', 201],
    ['of 16 minutes ago', `admin:config@${nowS - 960}`, 401],
  ])('%s', async (_, apiKey, status) => {
    const one = await gateway(makesThings().handle, { needsStepUp: true })

    const sent = await post(one, undefined, { 'x-api-key': apiKey })

    expect(sent.status).toBe(status)
    if (status === 401) {
      expectProblem(sent, 401, 'STEP_UP_REQUIRED')
      expect(sent.headers.get('www-authenticate')).toContain('Bearer')
    }
  })
})

test('the audit log records every mutation and every refusal once, and no replay', async () => {
  const one = await gateway(makesThings().handle)
  const id = randomUUID()

  const { json } = await post(one, { name: 'a' }, key(id))
  await post(one, { name: 'a' }, key(id))
  await post(one, { name: 'b' }, key(id))
  await post(one, { name: 1 })
  await post(one, { name: 'a' }, { 'x-api-key': 'read:reporting' })
  await post(one, null, {}, '/things/key_7v3k9q2m', 'DELETE')
  await post(one, null, {}, '/things/what-somebody-typed', 'DELETE')

  const shown = one.audited.map(({ action, target, outcome, errorCode }: AuditEntry) => [
    action,
    target,
    outcome,
    errorCode,
  ])
  expect(shown).toEqual([
    ['api_key.create', json.id, 'succeeded', null],
    ['api_key.create', null, 'refused', 'IDEMPOTENCY_CONFLICT'],
    ['api_key.create', null, 'refused', 'VALIDATION_FAILED'],
    ['api_key.create', null, 'refused', 'INSUFFICIENT_SCOPE'],
    ['api_key.revoke', 'key_7v3k9q2m', 'succeeded', null],
    ['api_key.revoke', null, 'succeeded', null],
  ])
  expect(new Set(one.audited.map(({ sourceAddress }) => sourceAddress))).toEqual(new Set(['127.0.0.1']))
})

test('the stored record reveals neither the reply, nor the key, nor the body', async () => {
  const one = await gateway(makesThings().handle)
  const id = randomUUID()
  const { json } = await post(one, { name: 'a-name-to-look-for' }, key(id))

  const bucket = await one.broker.bucket(IDEMPOTENCY)
  const kept: string[] = []
  for await (const name of await bucket.keys()) kept.push(name, (await bucket.get(name))?.string() ?? '')
  const all = kept.join('\n')

  expect(all).toContain('sealed')
  for (const text of [id, json.id, json.secret, 'a-name-to-look-for']) expect(all).not.toContain(text)
})
