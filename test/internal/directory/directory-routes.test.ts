import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { WatchedDirectory } from '../../../internal/directory/directory.js'
import { directoryRoutes } from '../../../internal/directory/directory-routes.js'
import { openDirectory } from '../../../internal/directory/open-directory.js'
import { createCursorCodec } from '../../../internal/http/resource/pages.js'
import { formatId, type IdPrefix, randomId, tenantIdsCache } from '../../../internal/ids/ids.js'
import { DIRECTORY } from '../../../streams/buckets.js'
import { type Ask, askAs } from '../../support/ask.js'
import { launchBroker } from '../../support/broker.js'
import { type MutationGateway, SECRET, startMutationGateway } from '../../support/mutation-gateway.js'
import { TENANT } from '../../support/scope-keys.js'

let gateway: MutationGateway
let ask: Ask
let isOver = false

beforeAll(async () => {
  const { url } = await launchBroker()
  gateway = await startMutationGateway(url, async (mutate, broker) => {
    const idsOf = tenantIdsCache(SECRET)
    return directoryRoutes({
      ...(await openDirectory(await broker.bucket(DIRECTORY), idsOf, (cause) => isOver || fail(cause))),
      mutate,
      idsOf,
      isPool: (_tenantId, name) => name === 'rest',
      cursors: createCursorCodec(new Uint8Array(32)),
      clock: Date.now,
    })
  })
  ask = askAs(gateway.url, { 'x-api-key': 'admin:config' })
})
afterAll(async () => {
  isOver = true
  await gateway.stop()
})

const fail = (cause: unknown): never => {
  throw cause
}

const SERVICES = '/api/v1/directory/services'
const IDENTITIES = '/api/v1/directory/identities'
const PRINCIPALS = '/api/v1/directory/principals'
const SOURCES = '/api/v1/directory/sources'
const OTHER_TENANT = formatId('svc', new Uint8Array(16))
const own = (prefix: IdPrefix): string => randomId(prefix, tenantIdsCache(SECRET)(TENANT))
const CLIENT = own('cli')

/** The directory as stage A reads it from the bucket. */
async function asStageASeesIt(): Promise<WatchedDirectory> {
  const directory = new WatchedDirectory()
  const bucket = await gateway.broker.bucket(DIRECTORY)
  for await (const key of await bucket.keys()) directory.apply(key, (await bucket.get(key))?.json())
  return directory
}

const codeOf = ({ status, json }: Awaited<ReturnType<Ask>>) => `${status} ${json?.error_code}`

describe('a directory entry that is added', () => {
  test('may not have the name of a cost pool, nor that of another service in other letters', async () => {
    await ask('POST', SERVICES, { name: 'Ledger', owner: 'team-a' })

    expect(codeOf(await ask('POST', SERVICES, { name: 'rest', owner: 'team-a' }))).toBe('409 CONFLICT')
    expect(codeOf(await ask('POST', SERVICES, { name: 'a', owner: 'a', aliases: ['rest'] }))).toBe('409 CONFLICT')
    expect(codeOf(await ask('POST', SERVICES, { name: ' ledger', owner: 'team-a' }))).toBe('409 CONFLICT')
  })

  test.each([
    [SERVICES, { name: 'l\u0435dger', owner: 'team-a' }, '/name'],
    [SERVICES, { name: 'x', owner: 'team-a', aliases: ['ledger\u200b'] }, '/aliases/0'],
    [IDENTITIES, { name: 'x', service: '\u202eregdel' }, '/service'],
  ])('%s refuses a name that looks like another: %j', async (path, fields, pointer) => {
    const { status, json } = await ask('POST', path, fields)

    expect([status, json.errors.map((error: { pointer: string }) => error.pointer)]).toEqual([422, [pointer]])
  })

  test.each([
    [
      SERVICES,
      { name: 'chat/ä 🦊', owner: 'team-a', aliases: ['chat-alias', 'chat-alias'] },
      { aliases: ['chat-alias'], changes: [], now: { name: 'chat/ä 🦊', owner: 'team-a', merged_into: null } },
    ],
    [
      SERVICES,
      { name: 'plain', owner: 'team-a', aliases: null },
      { aliases: [], changes: [], now: { name: 'plain', owner: 'team-a', merged_into: null } },
    ],
    [IDENTITIES, { name: 'ada@example.com', owner: 'team-a' }, { service: null, is_workload: false, is_active: true }],
    [IDENTITIES, { name: 'bob@example.com', service: 'plain', owner: null }, { is_workload: false, is_active: true }],
    [IDENTITIES, { name: 'cron', owner: null, is_workload: true }, { service: null, is_active: true }],
    [SOURCES, { name: 'firewall', is_discovery_only: true }, { pathway: null }],
    [PRINCIPALS, { principal_id: own('key'), service: 'plain' }, { exclusive: false }],
    [PRINCIPALS, { principal_id: own('key'), service: 'plain', exclusive: true }, {}],
  ])('%s %j gets an id, and is found by id and by name', async (path, fields, more) => {
    const made = await ask('POST', path, fields)

    expect(made.json).toEqual({ id: expect.stringMatching(/^(svc|idn|prn|src)_[0-9a-z]{26}$/), ...fields, ...more })
    expect(made).toMatchObject({ status: 201 })
    expect(made.headers.get('location')).toBe(`${path}/${made.json.id}`)
    expect(await ask('GET', `${path}/${made.json.id}`)).toMatchObject({ status: 200, json: made.json })
    const [field, name] = Object.entries(fields)[0] as [string, string]
    const found = await ask('GET', `${path}?${new URLSearchParams({ [field]: name })}`)
    expect(found.json.data).toEqual([made.json])
  })

  test('is visible to stage A', async () => {
    await ask('POST', SERVICES, { name: 'read', owner: 'team-r', aliases: ['read-too'] })
    await ask('POST', IDENTITIES, { name: 'reader', owner: 'team-r', service: null })
    await ask('POST', PRINCIPALS, { principal_id: CLIENT, service: 'read' })

    const directory = await asStageASeesIt()

    expect(directory.serviceEntry(TENANT, 'read-too')).toEqual({ name: 'read', owner: 'team-r', aliases: ['read-too'] })
    expect(directory.identity(TENANT, 'reader')).toEqual({ name: 'reader', owner: 'team-r' })
    expect(directory.principal(TENANT, CLIENT)).toMatchObject({ service: 'read' })
  })

  test('is created once when twelve requests add it concurrently', async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, i) => ask('POST', SERVICES, { name: 'raced', owner: `team-${i}` })),
    )

    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(answers.filter((answer) => codeOf(answer) === '409 CONFLICT')).toHaveLength(11)
  })

  test.each([
    [SERVICES, { name: 'x' }, '/owner'],
    [SERVICES, { name: '', owner: 'a' }, '/name'],
    [SERVICES, { name: 'ä'.repeat(129), owner: 'a' }, '/name'],
    [SERVICES, { name: 'x', owner: 'a\u0000' }, '/owner'],
    [SERVICES, { name: 'x', owner: 'a', aliases: Array.from({ length: 65 }, (_, i) => `n${i}`) }, '/aliases'],
    [IDENTITIES, { name: 'x', owner: 1 }, '/owner'],
    [PRINCIPALS, { principal_id: 'ada', service: 'a' }, '/principal_id'],
  ])('%s %j is refused for %s', async (path, fields, pointer) => {
    const refused = await ask('POST', path, fields)

    expect(codeOf(refused)).toBe('422 VALIDATION_FAILED')
    expect(refused.json.errors).toMatchObject([{ pointer }])
  })

  test('is refused when its name or alias belongs to another service', async () => {
    await ask('POST', SERVICES, { name: 'taken', owner: 'a', aliases: ['taken-too'] })

    for (const fields of [
      { name: 'taken-too', owner: 'b' },
      { name: 'other', owner: 'b', aliases: ['taken'] },
      { name: 'other', owner: 'b', aliases: ['taken-too'] },
    ]) {
      expect(codeOf(await ask('POST', SERVICES, fields))).toBe('409 CONFLICT')
    }
  })
})

test.each(['key', 'cli', 'usr', 'con'] as const)(
  'a principal with a %s_ id of another tenant is refused',
  async (prefix) => {
    const foreign = { principal_id: formatId(prefix, new Uint8Array(16)), service: 'plain' }
    // The unused bits are set: it looks like an id, but is not valid.
    const invalid = { ...foreign, principal_id: `${foreign.principal_id.slice(0, -1)}1` }

    expect(codeOf(await ask('POST', PRINCIPALS, foreign))).toBe('403 TENANT_MISMATCH')
    expect(codeOf(await ask('POST', PRINCIPALS, invalid))).toBe('422 VALIDATION_FAILED')
    expect(codeOf(await ask('POST', PRINCIPALS, { ...foreign, principal_id: own(prefix) }))).toBe('201 undefined')
  },
)

describe('a directory entry that is updated', () => {
  test('keeps omitted fields and clears null fields', async () => {
    const { json } = await ask('POST', IDENTITIES, { name: 'cy', owner: 'team-a', service: 'one' })
    const path = `${IDENTITIES}/${json.id}`

    expect((await ask('PATCH', path, { owner: 'team-b' })).json).toEqual({ ...json, owner: 'team-b' })
    expect((await ask('PATCH', path, { service: null })).json).toEqual({ ...json, owner: 'team-b', service: null })
    expect((await ask('GET', path)).json).toEqual({ ...json, owner: 'team-b', service: null })
  })

  test('keeps both of two concurrent updates', async () => {
    const { json } = await ask('POST', SERVICES, { name: 'busy', owner: 'team-a' })

    const answers = await Promise.all([
      ask('PATCH', `${SERVICES}/${json.id}`, { owner: 'team-z' }),
      ask('PATCH', `${SERVICES}/${json.id}`, { aliases: ['busier'] }),
    ])

    expect(answers.map(({ status }) => status)).toEqual([200, 200])
    expect((await ask('GET', `${SERVICES}/${json.id}`)).json).toMatchObject({ owner: 'team-z', aliases: ['busier'] })
  })

  test('cannot be renamed: the update gets a 422', async () => {
    const { json } = await ask('POST', SERVICES, { name: 'named', owner: 'team-a' })

    expect(codeOf(await ask('PATCH', `${SERVICES}/${json.id}`, { name: 'renamed' }))).toBe('422 VALIDATION_FAILED')
  })

  test('cannot claim an alias of another service', async () => {
    await ask('POST', SERVICES, { name: 'holder', owner: 'a', aliases: ['held'] })
    const { json } = await ask('POST', SERVICES, { name: 'greedy', owner: 'a' })

    expect(codeOf(await ask('PATCH', `${SERVICES}/${json.id}`, { aliases: ['held'] }))).toBe('409 CONFLICT')
  })
})

test('a deleted directory entry is removed for stage A too, and can be added again', async () => {
  const fields = { name: 'brief', owner: 'team-a', aliases: ['short'] }
  const { json } = await ask('POST', SERVICES, fields)
  const path = `${SERVICES}/${json.id}`

  expect(await ask('DELETE', path)).toMatchObject({ status: 204, json: undefined })

  expect(codeOf(await ask('GET', path))).toBe('404 NOT_FOUND')
  expect(codeOf(await ask('DELETE', path))).toBe('404 NOT_FOUND')
  expect((await asStageASeesIt()).serviceEntry(TENANT, 'short')).toBeUndefined()
  expect(await ask('POST', SERVICES, fields)).toMatchObject({ status: 201, json: { id: json.id } })
})

describe('changes of a service from a time on', () => {
  const JULY = '2026-07-01T00:00:00Z'
  const AHEAD = '2036-01-01T00:00:00Z'
  const make = async (fields: object) => (await ask('POST', SERVICES, { owner: 'team-a', ...fields })).json

  test('are shown in order; one from the past says that calls since then stay until re-attributed', async () => {
    const { id } = await make({ name: 'dated' })
    const ahead = { from: AHEAD, name: 'dated-anew' }

    const made = await ask('PATCH', `${SERVICES}/${id}`, { changes: [ahead, { from: JULY, owner: 'team-b' }] })
    const again = await ask('PATCH', `${SERVICES}/${id}`, { changes: [{ from: JULY, owner: 'team-b' }, ahead] })

    expect(made.json).toMatchObject({
      name: 'dated',
      owner: 'team-a',
      changes: [
        { from: JULY, owner: 'team-b', name: null, merged_into: null, reattribution: { from: JULY } },
        { ...ahead, owner: null, merged_into: null, reattribution: null },
      ],
      now: { name: 'dated', owner: 'team-b', merged_into: null },
    })
    // What was stated before stays stated then.
    expect(again.json).toEqual(made.json)
    const patched = await ask('PATCH', `${SERVICES}/${id}`, { owner: 'team-c' })
    expect(patched.json.changes).toEqual(made.json.changes)
    expect((await ask('PATCH', `${SERVICES}/${id}`, { changes: null })).json.changes).toEqual([])
  })

  test('claim their names, and free them when they go', async () => {
    const { id } = await make({ name: 'namer', changes: [{ from: JULY, name: 'titled' }] })

    expect(codeOf(await ask('POST', SERVICES, { name: 'Titled', owner: 'x' }))).toBe('409 CONFLICT')
    expect(
      codeOf(await ask('POST', SERVICES, { name: 'n', owner: 'x', changes: [{ from: JULY, name: 'rest' }] })),
    ).toBe('409 CONFLICT')
    await ask('PATCH', `${SERVICES}/${id}`, { changes: [] })
    expect((await ask('POST', SERVICES, { name: 'titled', owner: 'x' })).status).toBe(201)
  })

  test('merge a service into another one of the directory, and never into itself', async () => {
    const mergedInto = (name: string) => ({ changes: [{ from: JULY, merged_into: name }] })
    const [one, two] = [await make({ name: 'one' }), await make({ name: 'two', ...mergedInto('one') })]
    expect(two.now).toEqual({ name: 'two', owner: 'team-a', merged_into: 'one' })

    for (const name of ['one', 'two', 'nowhere']) {
      expect(codeOf(await ask('PATCH', `${SERVICES}/${one.id}`, mergedInto(name)))).toBe('409 CONFLICT')
    }
    expect(codeOf(await ask('POST', SERVICES, { name: 'three', owner: 'x', ...mergedInto('two') }))).toBe(
      '201 undefined',
    )
  })

  test.each([
    ['nothing', [{ from: JULY }], '/changes/0'],
    ['a merge and an owner', [{ from: JULY, owner: 'x', merged_into: 'plain' }], '/changes/0'],
    [
      'one time twice',
      [
        { from: JULY, owner: 'x' },
        { from: JULY, name: 'y' },
      ],
      '/changes/1/from',
    ],
    [
      'a change after a merge',
      [
        { from: JULY, merged_into: 'plain' },
        { from: AHEAD, name: 'y' },
      ],
      '/changes/0/merged_into',
    ],
    ['a name that looks like another', [{ from: JULY, name: 'x\u200b' }], '/changes/0/name'],
    ['no time', [{ owner: 'x' }], '/changes/0/from'],
  ])('that state %s are refused', async (_, changes, pointer) => {
    const { status, json } = await ask('POST', SERVICES, { name: 'refused', owner: 'x', changes })

    expect([status, json.errors?.map((error: { pointer: string }) => error.pointer)]).toEqual([422, [pointer]])
  })
})

test.each(['GET', 'PATCH', 'DELETE'])(
  '%s replies 403 for an entry id of another tenant and 404 for an unknown id',
  async (method) => {
    const body = method === 'PATCH' ? {} : undefined

    expect(codeOf(await ask(method, `${SERVICES}/${OTHER_TENANT}`, body))).toBe('403 TENANT_MISMATCH')
    expect(codeOf(await ask(method, `${SERVICES}/nothing`, body))).toBe('404 NOT_FOUND')
  },
)

test('pages of directory entries are sorted by name and contain each entry once while others are added', async () => {
  const names = Array.from({ length: 7 }, (_, i) => `page-${i}`)
  for (const name of names) await ask('POST', IDENTITIES, { name })
  const seen: string[] = []
  let query = 'limit=2'
  for (;;) {
    const { json } = await ask('GET', `${IDENTITIES}?${query}`)
    seen.push(...json.data.map(({ name }: { name: string }) => name))
    await ask('POST', IDENTITIES, { name: `0-${seen.length}` })
    if (!json.page.has_more) break
    query = `limit=2&cursor=${json.page.next_cursor}`
  }

  expect(seen).toEqual([...seen].sort())
  expect(seen.filter((name) => names.includes(name))).toEqual(names)
})

test('entries are found by a part of their name, in any case, page by page', async () => {
  for (const name of ['Zoe Anders', 'zoe.berg', 'ZOE', 'Enzo Erhart'])
    await ask('POST', IDENTITIES, { name, owner: 'x' })

  const first = (await ask('GET', `${IDENTITIES}?contains=zo%65&limit=2`)).json
  const rest = (await ask('GET', `${IDENTITIES}?contains=zo%65&limit=2&cursor=${first.page.next_cursor}`)).json
  const none = (await ask('GET', `${IDENTITIES}?contains=anders&name=ZOE`)).json

  const names = [first, rest].map(({ data }) => data.map(({ name }: { readonly name: string }) => name))
  expect(names).toEqual([['ZOE', 'Zoe Anders'], ['zoe.berg']])
  expect(rest.page.has_more).toBe(false)
  expect(none.data).toEqual([])
})

test('a part of a name that no name has room for is refused', async () => {
  const longest = encodeURIComponent('🦉'.repeat(256))

  expect((await ask('GET', `${IDENTITIES}?contains=${longest}`)).json.data).toEqual([])
  const { status, json } = await ask('GET', `${IDENTITIES}?contains=${longest}x`)
  expect(status).toBe(400)
  expect(json.errors).toEqual([{ pointer: '/contains', detail: 'contains must have at most 256 characters.' }])
})

test('the audit log records each change of an identity without its name', async () => {
  const traceId = randomUUID().replaceAll('-', '')
  const traced = { traceparent: `00-${traceId}-0000000000000001-00` }
  const made = await ask('POST', IDENTITIES, { name: 'dora@example.com', owner: 'team-a' }, traced)
  const path = `${IDENTITIES}/${made.json.id}`
  await ask('PATCH', path, { owner: 'team-b' }, traced)
  await ask('DELETE', path, undefined, traced)
  await ask('POST', IDENTITIES, { name: 1 }, traced)

  const entries = gateway.audited.filter((entry) => entry.traceId === traceId)

  const common = { target: made.json.id, outcome: 'succeeded', errorCode: null }
  expect(entries).toMatchObject([
    { ...common, action: 'directory.put', changes: { after: { owner: 'team-a' } } },
    { ...common, action: 'directory.put', changes: { before: { owner: 'team-a' }, after: { owner: 'team-b' } } },
    { ...common, action: 'directory.delete', changes: { before: { owner: 'team-b' } } },
    { action: 'directory.put', target: null, outcome: 'refused', errorCode: 'VALIDATION_FAILED' },
  ])
  expect(JSON.stringify(entries)).not.toContain('dora')
})
