import { beforeEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { WatchedRecords } from '../../../../internal/broker/watched-records.js'
import type { Mutation, MutationRequest } from '../../../../internal/http/mutations/mutation.js'
import type { Mutate } from '../../../../internal/http/mutations/mutations.js'
import { createCursorCodec } from '../../../../internal/http/resource/pages.js'
import { type Resource, resource, watchedCollection } from '../../../../internal/http/resource/resource.js'
import { formatId, idOfName, tenantIdsCache } from '../../../../internal/ids/ids.js'
import { problem } from '../../../../internal/problems/problem-catalogue.js'
import { TENANT } from '../../../support/scope-keys.js'

interface Thing {
  readonly id: string
  readonly tenant_id: string
  readonly created_at: string
  readonly name: string
  readonly size: number
}
type Fields = Pick<Thing, 'name' | 'size'>
interface Changes {
  readonly size?: number | undefined
}

const idsOf = tenantIdsCache(new Uint8Array(32))
const idOfThing = (name: string): string => idOfName('pool', idsOf(TENANT), 'things', name)
let bucket: Map<string, Thing>
let nowMs: number

const records = {
  get: (key: string) => bucket.get(key),
  of: () => bucket.values(),
  countOf: () => bucket.size,
  async createOnce(key: string, thing: Thing) {
    const found = bucket.get(key)
    if (found === undefined) bucket.set(key, thing)
    return found ?? thing
  },
  async change(key: string, change: (thing: Thing) => Thing | undefined) {
    const found = bucket.get(key)
    if (found === undefined) return undefined
    const changed = change(found)
    if (changed !== undefined) bucket.set(key, changed)
    return changed ?? found
  },
  async delete(key: string, isMeant: (thing: Thing) => boolean) {
    const found = bucket.get(key)
    return found !== undefined && isMeant(found) && bucket.delete(key)
  },
} as unknown as WatchedRecords<Thing>

const THINGS: Resource<Thing, Fields, Changes> = {
  path: '/things',
  prefix: 'pool',
  tag: 'Pools',
  word: 'IceThing',
  plural: 'IceThings',
  order: 'newest first',
  record: z.object({ name: z.string() }),
  fields: z.object({ name: z.string(), size: z.int() }),
  changes: z.object({ size: z.int().optional() }),
  example: { record: {}, fields: {}, changes: {} },
  actions: { create: 'pool.create', delete: 'pool.delete' },
  update: { action: 'pool.update', apply: (thing, { size = thing.size }) => ({ ...thing, size }) },
  max: 2,
  collection: watchedCollection(records),
  make(fields) {
    const id = idOfThing(fields.name)
    return {
      id,
      key: id,
      record: { id, tenant_id: TENANT, created_at: new Date(nowMs++).toISOString(), ...fields },
    }
  },
  duplicate: 'This thing already exists.',
  refuse: (_, { size }) => (size > 9 ? problem('CONFLICT', 'Too large.') : undefined),
  show: ({ name, size }, id) => ({ id, name, size }),
  audited: ({ size }) => ({ size }),
}

/** Calls the mutations of a resource without a server. */
function mutationsOf(kind: Resource<Thing, Fields, Changes>) {
  const declared = new Map<string, Mutation<unknown>>()
  const mutate = ((mutation: Mutation<unknown>) => {
    declared.set(mutation.method, mutation)
    return { ...mutation, handle: () => undefined }
  }) as unknown as Mutate
  const cursors = createCursorCodec(new Uint8Array(32))
  const routes = resource(kind, { mutate, idsOf, cursors, clock: () => nowMs })
  const call = (method: string, request: { body?: unknown; parameter?: string; isRepeat?: boolean; by?: string }) =>
    declared.get(method)?.handle({
      caller: { tenantId: TENANT, principal: request.by },
      parameter: '',
      isRepeat: false,
      ...request,
    } as MutationRequest<unknown>)
  return { routes, call }
}

beforeEach(() => {
  bucket = new Map()
  nowMs = Date.parse('2026-11-21T09:30:00Z')
})

const LARGE = { name: 'one', size: 10 }
const ONE = { name: 'one', size: 1 }

describe('a resource', () => {
  const { routes, call } = mutationsOf(THINGS)

  test('names its operations after itself, with spaces in summaries', () => {
    expect(routes.map(({ method, path, operation: { id, summary } }) => [method, path, id, summary])).toEqual([
      ['get', '/things', 'listIceThings', 'List ice things, newest first'],
      ['get', '/things/:id', 'getIceThing', 'Get an ice thing'],
      ['post', '/things', 'createIceThing', 'Add an ice thing'],
      ['patch', '/things/:id', 'updateIceThing', 'Update an ice thing'],
      ['del', '/things/:id', 'deleteIceThing', 'Delete an ice thing'],
    ])
  })

  test('has no PATCH when its records never change', () => {
    const { update: _, changes: __, ...immutable } = THINGS

    expect(mutationsOf(immutable).routes.map(({ method }) => method)).toEqual(['get', 'get', 'post', 'del'])
  })

  test('replies 409 to a POST beyond its limit per tenant', async () => {
    await call('post', { body: ONE })
    await call('post', { body: { ...ONE, name: 'two' } })

    expect(await call('post', { body: { ...ONE, name: 'three' } })).toMatchObject({
      code: 'CONFLICT',
      detail: 'Limit reached: at most 2 ice things per tenant.',
    })
    expect(bucket.size).toBe(2)
  })

  test('replies 409 to a POST of an existing record, and 201 to a repeat of the request that created it', async () => {
    const body = { id: idOfThing('one'), ...ONE }
    const reply = {
      status: 201,
      body,
      location: `/things/${body.id}`,
      target: body.id,
      changes: { after: { size: 1 } },
    }

    expect(await call('post', { body: ONE })).toEqual(reply)
    expect(await call('post', { body: ONE, isRepeat: true })).toEqual(reply)
    expect(await call('post', { body: ONE })).toMatchObject({ detail: 'This thing already exists.' })
    expect(await call('post', { body: { ...ONE, size: 2 }, isRepeat: true })).toMatchObject({ code: 'CONFLICT' })
  })

  test('replies 201 with the existing record when its ids are random', async () => {
    const { duplicate: _, ...random } = THINGS
    const withRandomIds = mutationsOf(random)
    await withRandomIds.call('post', { body: ONE })

    expect(await withRandomIds.call('post', { body: { ...ONE, size: 2 } })).toMatchObject({ status: 201, body: ONE })
  })

  test('does not write a record that `refuse` rejects', async () => {
    const parameter = idOfThing('one')

    expect(await call('post', { body: LARGE })).toMatchObject({ code: 'CONFLICT' })
    expect(bucket.size).toBe(0)
    await call('post', { body: ONE })
    expect(await call('patch', { body: { size: 10 }, parameter })).toMatchObject({ code: 'CONFLICT' })
    expect(bucket.get(parameter)).toMatchObject(ONE)
  })

  test('audits a record before and after a PATCH', async () => {
    await call('post', { body: ONE })

    expect(await call('patch', { body: { size: 2 }, parameter: idOfThing('one') })).toEqual({
      status: 200,
      body: { id: idOfThing('one'), name: 'one', size: 2 },
      changes: { before: { size: 1 }, after: { size: 2 } },
    })
  })

  test('replies 404 to a second DELETE, and 204 to the repeat of the first', async () => {
    const parameter = idOfThing('one')
    await call('post', { body: ONE })

    expect(await call('del', { parameter })).toEqual({ status: 204, changes: { before: { size: 1 } } })
    expect(await call('del', { parameter })).toMatchObject({ code: 'NOT_FOUND' })
    expect(await call('del', { parameter, isRepeat: true })).toEqual({ status: 204 })
  })

  test.each(['patch', 'del'])(
    'is not there for a %s of who does not see it, and stays with who may not',
    async (method) => {
      const parameter = idOfThing('one')
      const guarded = mutationsOf({
        ...THINGS,
        isSeenBy: (_, { principal }) => principal !== 'stranger',
        refuseChange: (_, { principal }) => (principal === 'maker' ? undefined : problem('CONFLICT', 'Not yours.')),
      })
      await guarded.call('post', { body: ONE })
      const by = (principal: string) => guarded.call(method, { body: { size: 2 }, parameter, by: principal })

      expect(await by('stranger')).toMatchObject({ code: 'NOT_FOUND' })
      expect(await by('reader')).toMatchObject({ code: 'CONFLICT' })
      expect(bucket.get(parameter)).toMatchObject(ONE)
      expect(await by('maker')).toMatchObject({ status: method === 'del' ? 204 : 200 })
    },
  )

  test.each(['patch', 'del'])('replies 403 to a %s of an id of another tenant', async (method) => {
    const parameter = formatId('pool', new Uint8Array(16))

    expect(await call(method, { body: {}, parameter })).toMatchObject({ code: 'TENANT_MISMATCH' })
  })
})
