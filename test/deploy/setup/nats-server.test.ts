import { delimiter, join } from 'node:path'
import { expect, test } from 'vitest'
import { candidates, firstNewEnough, noteOn } from '../../../deploy/setup/nats-server.mjs'
import { SetUpError } from '../../../deploy/setup/steps.mjs'

const root = '/project'
const local = join(root, '.local', 'bin', 'nats-server')
const versions = (known: Record<string, string>) => async (path: string) => known[path]

test('the folders of PATH are searched in order, then the one of the project', () => {
  const paths = candidates({ PATH: ['/a', '', '/b'].join(delimiter) }, root).map(({ path }) => path)

  expect(paths).toEqual(['/a/nats-server', '/b/nats-server', local])
})

test('a named nats-server is the only candidate', () => {
  const env = { NATS_SERVER_BIN: '/named', ATTRIBUTION_NATS_SERVER_BIN: '/other', PATH: '/a' }

  expect(candidates(env, root)).toEqual([{ path: '/named', isNamed: true }])
  expect(candidates({ ...env, NATS_SERVER_BIN: '' }, root)).toEqual([{ path: '/other', isNamed: true }])
})

test('the search skips a nats-server that is too old', async () => {
  const found = await firstNewEnough(
    candidates({ PATH: ['/a', '/b'].join(delimiter) }, root),
    versions({ '/a/nats-server': 'nats-server: v2.9.10', '/b/nats-server': 'nats-server: v2.12.5' }),
  )

  expect(found).toBe('/b/nats-server')
})

test('a nats-server in PATH is preferred to a fetched one', async () => {
  const both = versions({ '/a/nats-server': 'nats-server: v2.12.6', [local]: 'nats-server: v2.15.1' })

  expect(await firstNewEnough(candidates({ PATH: '/a' }, root), both)).toBe('/a/nats-server')
  expect(await firstNewEnough(candidates({ PATH: '/b' }, root), both)).toBe(local)
})

test('the search may find no nats-server', async () => {
  expect(await firstNewEnough(candidates({ PATH: '/a' }, root), versions({}))).toBeUndefined()
})

test.each([
  ['nats-server: v2.9.10', /is 2\.9\.10; 2\.12\.5 or newer is required/],
  [undefined, /cannot be run/],
])('a named nats-server with the version output %j is an error', async (version, message) => {
  const found = firstNewEnough(candidates({ NATS_SERVER_BIN: '/named' }, root), async () => version)

  await expect(found).rejects.toBeInstanceOf(SetUpError)
  await expect(found).rejects.toThrow(message)
})

test('a fetched binary that the tests have not run with is taken, and named with its digest', () => {
  expect(noteOn('25379e8f6ff59d0f9b96f06b3572da8c513dfe97fe54f693bb03aa802b87480c', 'nats-server: v2.15.1\n')).toBe(
    undefined,
  )
  expect(noteOn('ab'.repeat(32), 'nats-server: v2.16.0\n')).toBe(
    'the package of nats-server: v2.16.0 is signed by Debian, but not one that the tests have run with ' +
      `(SHA-256 ${'ab'.repeat(32)})`,
  )
})
