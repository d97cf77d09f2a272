import { beforeEach, describe, expect, test } from 'vitest'
import type { Caller } from '../../../../internal/auth/authenticate.js'
import type { IdentityEntry } from '../../../../internal/directory/directory.js'
import { directoryKey } from '../../../../internal/directory/directory-key.js'
import { EntryIndex, entryId } from '../../../../internal/directory/entry-index.js'
import { PeopleIndex } from '../../../../internal/directory/people.js'
import { GroupIndex, type ScimGroup } from '../../../../internal/directory/scim/scim-group.js'
import { scimGroupRoutes } from '../../../../internal/directory/scim/scim-group-routes.js'
import type { ScimDeps } from '../../../../internal/directory/scim/scim-route.js'
import { scimUserRoutes } from '../../../../internal/directory/scim/scim-user-routes.js'
import type { Exchange } from '../../../../internal/http/exchange.js'
import { randomId } from '../../../../internal/ids/ids.js'
import type { Problem } from '../../../../internal/problems/problem-catalogue.js'
import { TENANT, TENANT_IDS } from '../../../support/api-keys.js'

/** Changes by SCIM, on a directory in memory. */

/** A bucket whose writers each see every write that was begun before theirs ended. */
function bucket<T>(onChange: (key: string, record: T | undefined) => void) {
  const records = new Map<string, T>()
  const put = (key: string, record: T | undefined): void => {
    if (record === undefined) records.delete(key)
    else records.set(key, record)
    onChange(key, record)
  }
  return {
    get: (key: string) => records.get(key),
    countOf: () => records.size,
    put,
    async createOnce(key: string, record: T): Promise<T> {
      if (!records.has(key)) put(key, record)
      const made = records.get(key) as T
      await new Promise(setImmediate)
      return made
    },
    async change(key: string, change: (record: T) => T | undefined): Promise<T | undefined> {
      const before = records.get(key)
      const after = before && change(before)
      if (after !== undefined) put(key, after)
      return after ?? before
    },
    async delete(key: string, isMeant: (record: T) => boolean = () => true): Promise<boolean> {
      const before = records.get(key)
      if (before === undefined || !isMeant(before)) return false
      put(key, undefined)
      return true
    },
  }
}

const memory = () => {
  const [people, entries, groupIndex] = [
    new PeopleIndex(() => TENANT_IDS),
    new EntryIndex(() => TENANT_IDS),
    new GroupIndex(),
  ]
  const identities = bucket<IdentityEntry>((key, entry) => {
    people.apply(key, entry)
    entries.apply(key, entry)
  })
  const groups = bucket<ScimGroup>((id, group) => groupIndex.apply(id, group))
  const ended: string[] = []
  const deps = {
    ...{ people, entries, groupIndex, groups, recordsOf: { identities }, idsOf: () => TENANT_IDS, clock: Date.now },
    ...{ baseUrl: 'https://example.com', auditSink: { record: async () => undefined } },
    endSignIns: async (_: string, name: string) => void ended.push(name),
    prepareLeaving: async () => undefined,
  } as unknown as ScimDeps
  return { identities, groups, people, ended, routes: [...scimUserRoutes(deps), ...scimGroupRoutes(deps)] }
}
let directory: ReturnType<typeof memory>
beforeEach(() => {
  directory = memory()
})

interface Answer {
  readonly status: string
  readonly body?: { readonly id: string }
  readonly refusal?: unknown
}

/** Sends a change to a route of SCIM. */
const send = (method: 'post' | 'put' | 'patch', path: string, stated: unknown): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const [kind = '', parameter = ''] = path.split('/')
    const wanted = `/scim/v2/${kind}${parameter && '/:id'}`
    const route = directory.routes.find((each) => each.method === method && each.path === wanted)
    const exchange = {
      ...{ parameter, query: '', traceId: '', address: '', keepAddress: () => undefined, fail: reject },
      readBody: (_: number, read: (body: Buffer) => void) => read(Buffer.from(JSON.stringify(stated))),
      reply: (head: string, body: string) => resolve({ status: head.slice(0, 3), body: JSON.parse(body) }),
      replyEmpty: (head: string) => resolve({ status: head.slice(0, 3) }),
      replyProblem: ({ code, members }: Problem) => resolve({ status: code, refusal: members?.['scimType'] }),
    }
    const caller = { tenantId: TENANT, principal: 'key_1' }
    if (route === undefined) reject(new Error(`no route ${wanted}`))
    else route.handle(exchange as unknown as Exchange, caller as unknown as Caller)
  })
const patch = (path: string, ...operations: readonly object[]) => send('patch', path, { Operations: operations })

describe('a group', () => {
  const GROUP = randomId('grp', TENANT_IDS)
  const group = (id: string, name: string): ScimGroup => ({ id, tenant_id: TENANT, name, created_at: '' })
  let ids: readonly string[]
  beforeEach(() => {
    directory.groups.put(GROUP, group(GROUP, 'Team'))
    ids = ['ada', 'bob', 'eve'].map((name) => {
      directory.identities.put(directoryKey(TENANT, 'identities', name), { name, groups: [GROUP] })
      return entryId('identities', name, TENANT_IDS)
    })
  })
  const members = (): readonly string[] => [...directory.people.of(TENANT).memberIds(GROUP)]

  test('loses all members by a removal without a value, and none by one of an empty list', async () => {
    expect(await patch(`Groups/${GROUP}`, { op: 'remove', path: 'members', value: [] })).toEqual({ status: '204' })
    expect(members()).toEqual(ids)
    await patch(`Groups/${GROUP}`, { op: 'remove', path: 'members' })
    expect(members()).toEqual([])
  })

  test('loses the member that a path names', async () => {
    const [ada, bob, eve] = ids
    await patch(
      `Groups/${GROUP}`,
      { op: 'remove', path: `members[value eq "${ada}"]` },
      { op: 'remove', path: `members[value eq "${bob}" and type eq "User"]` },
      { op: 'remove', path: `members[value eq "${eve}" and type eq "Group"]` },
    )
    expect(members()).toEqual([eve])
  })

  test.each(['type eq "User"', 'value eq "a" or type eq "User"', 'value eq "a" or value eq "b"', 'value sw "idn"'])(
    'is not read through for a path by %s',
    async (filter) => {
      const answer = await patch(`Groups/${GROUP}`, { op: 'remove', path: `members[${filter}]` })

      expect(answer).toEqual({ status: 'MALFORMED_REQUEST', refusal: 'invalidFilter' })
      expect(members()).toEqual(ids)
    },
  )

  test('that has the name of another in another spelling, from an earlier version, can be changed', async () => {
    const other = randomId('grp', TENANT_IDS)
    directory.groups.put(other, group(other, 'TEAM'))

    expect(await patch(`Groups/${GROUP}`, { op: 'remove', path: 'members' })).toEqual({ status: '204' })
    expect(await send('put', `Groups/${GROUP}`, { displayName: 'Team' })).toMatchObject({ status: '200' })
    expect(await send('put', `Groups/${GROUP}`, { displayName: 'team' })).toMatchObject({ refusal: 'uniqueness' })
  })
})

describe('a user', () => {
  test('of whom it is said from the start that they have left is signed out', async () => {
    expect(await send('post', 'Users', { userName: 'Ada', active: false })).toMatchObject({ status: '201' })
    expect(directory.ended).toEqual(['Ada'])
    expect(await send('post', 'Users', { userName: 'bob' })).toMatchObject({ status: '201' })
    expect(directory.ended).toEqual(['Ada'])
  })

  test('who has left is signed out under a further name', async () => {
    const { body } = await send('post', 'Users', { userName: 'ada', active: false })
    directory.ended.length = 0

    await patch(`Users/${body?.id}`, { op: 'replace', path: 'userName', value: 'ada.lovelace' })

    expect(directory.ended).toContain('ada.lovelace')
  })

  test('is made by exactly one of several requests at once, in whatever spelling', async () => {
    const spellings = ['CARLA', 'carla', 'Carla', 'cArla']
    const made = await Promise.all(spellings.map((userName) => send('post', 'Users', { userName })))

    expect(made.map(({ status }) => status).sort()).toEqual(['201', 'CONFLICT', 'CONFLICT', 'CONFLICT'])
    expect(directory.people.of(TENANT).named('carla')).toHaveLength(1)
  })
})
