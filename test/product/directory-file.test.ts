import { execFile } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { type Ask, askAs, refusalOf } from '../support/ask.js'
import { ROOT } from '../support/docs.js'
import { newTenantOfProduct } from '../support/product.js'
import { atEnd } from '../support/run/at-end.js'
import type { Instance } from '../support/service.js'

/** The directory as a file: imported, exported, and taken from LiteLLM; by the API and by the command line. */

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'attribution-directory-'))
let service: Instance
let ask: Ask
const PATH = '/api/v1/directory/import'

beforeAll(async () => {
  service = await newTenantOfProduct()
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})

async function put(body: string, query = '', type = 'text/csv') {
  const answer = await fetch(`${service.baseUrl}${PATH}?${query}`, {
    method: 'PUT',
    headers: { 'x-api-key': service.credentials.api_key, 'content-type': type },
    body,
  })
  return { status: answer.status, headers: answer.headers, json: JSON.parse(await answer.text()) }
}

const cli = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
  run(process.execPath, [join(ROOT, 'dist/cmd/attribution/main.js'), 'directory', ...args, '--url', service.baseUrl], {
    env: { ...process.env, ATTRIBUTION_API_KEY: service.credentials.api_key, ...env },
  })

const CSV = [
  'kind,name,owner,aliases,is_workload',
  'services,checkout,team-shop,checkout-v2;shop,',
  'services,search,team-search,,',
  'identities,ada@example.com,team-shop,,',
  'identities,ci-bot,team-platform,,true',
  'identities,eve@example.com,team-shop,,perhaps',
  '',
].join('\r\n')

test('a file is tried, imported and exported again; a later one removes what it lacks, within limits', async () => {
  const tried = await put(CSV, 'dry_run=true')
  expect(tried).toMatchObject({ status: 200, json: { dry_run: true, adds: 4, changes: 0, removals: 0, refusals: 1 } })
  expect(tried.json.refused).toEqual([
    { kind: 'identities', line: 6, pointer: null, reason: 'is_workload must be true or false' },
  ])
  expect((await ask('GET', '/api/v1/directory/services')).json.data).toEqual([])

  const made = await put(CSV)
  expect(made).toMatchObject({ status: 200, json: { dry_run: false, status: 'done', adds: 4, applied: 4 } })
  expect((await ask('GET', `/api/v1/directory/imports/${made.json.id}`)).json).toEqual(made.json)
  expect((await ask('GET', '/api/v1/directory/identities?name=ci-bot')).json.data).toMatchObject([
    { owner: 'team-platform', is_workload: true },
  ])
  const exported = await fetch(`${service.baseUrl}/api/v1/directory/export?format=csv`, {
    headers: { 'x-api-key': service.credentials.api_key },
  })
  expect(exported.headers.get('content-type')).toBe('text/csv; charset=utf-8')
  expect((await put(await exported.text())).json).toMatchObject({ adds: 0, changes: 0, removals: 0, unchanged: 4 })

  const fewer = 'kind,name,owner\nidentities,ada@example.com,team-search\n'
  expect((await put(fewer, 'dry_run=true')).json).toMatchObject({
    changed: [{ name: 'ada@example.com', fields: [{ field: 'owner', before: 'team-shop', after: 'team-search' }] }],
    removals: 1,
    needs_allow_removals: true,
  })
  const refused = await put(fewer)
  expect(refusalOf(refused)).toEqual([409, 'CONFLICT'])
  expect(refused.json.detail).toContain('remove 1 of 2')
  expect((await put(fewer, 'keep_missing=true')).json).toMatchObject({ changes: 1, removals: 0 })
  expect((await put(fewer, 'allow_removals=true')).json).toMatchObject({ removals: 1, unchanged: 1 })
  expect((await ask('GET', '/api/v1/directory/services')).json.data).toHaveLength(2)
})

test('what is no file, or not asked for, is refused', async () => {
  expect(refusalOf(await put('{}', '', 'application/xml'))).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE'])
  expect(refusalOf(await put('kind,colour\n'))).toEqual([422, 'VALIDATION_FAILED'])
  expect(refusalOf(await put('[', '', 'application/json'))).toEqual([422, 'VALIDATION_FAILED'])
  expect(refusalOf(await put(CSV, 'dry_run=yes'))).toEqual([400, 'INVALID_FILTER'])
  expect(refusalOf(await ask('GET', '/api/v1/directory/imports/dim_0'))).toEqual([404, 'NOT_FOUND'])
  expect(refusalOf(await ask('GET', '/api/v1/directory/export?format=xml'))).toEqual([400, 'INVALID_FILTER'])
  const { json } = await ask('POST', '/api/v1/api-keys', { name: 'reader', scopes: ['read:attribution'] })
  const reader = askAs(service.baseUrl, { 'x-api-key': json.secret })
  expect(refusalOf(await reader('GET', '/api/v1/directory/export'))).toEqual([403, 'INSUFFICIENT_SCOPE'])
})

test('two thousand identities are imported by command, and the import is audited without their names', async () => {
  const file = join(folder, 'people.csv')
  const people = Array.from({ length: 2_000 }, (_, i) => `identities,person-${i}@example.com,team-${i % 40}`)
  writeFileSync(file, ['kind,name,owner', ...people].join('\n'))

  await expect(cli(['import', file])).rejects.toThrow('give one of --dry-run and --apply')
  await expect(cli(['import', file, '--apply'])).rejects.toThrow('would remove')
  const tried = await cli(['import', file, '--dry-run', '--allow-removals'])
  expect(tried.stdout).toContain('would be 2000 added, 0 changed, 1 removed')
  const made = JSON.parse((await cli(['import', file, '--apply', '--allow-removals', '--json'])).stdout)
  expect(made).toMatchObject({ status: 'done', adds: 2_000, removals: 1, applied: 2_001 })
  const { stdout } = await cli(['export', '--format', 'json'])
  expect(JSON.parse(stdout).identities).toHaveLength(2_000)

  const audited = async () => (await ask('GET', '/api/v1/audit-log?limit=20')).json.data
  const isOfIt = ({ target }: { target: string | null }) => target === made.id
  // The log shows an entry a moment after it is durable.
  let entries = await audited()
  while (!entries.some(isOfIt)) entries = await audited()
  expect(entries.find(isOfIt)).toMatchObject({ action: 'directory.import', outcome: 'succeeded' })
  expect(JSON.stringify(entries)).not.toContain('person-')
})

test('the members of LiteLLM’s teams become identities, beside those that are there', async () => {
  const teams = [
    {
      team_id: 't1',
      team_alias: 'research',
      members_with_roles: [{ user_id: 'u1', user_email: 'person-7@example.com' }],
    },
  ]
  const litellm = createServer((request, response) => {
    const isAllowed = request.url === '/team/list' && request.headers.authorization === 'Bearer sk-team'
    response.writeHead(isAllowed ? 200 : 401, { 'content-type': 'application/json' }).end(JSON.stringify(teams))
  })
  await new Promise<void>((resolve) => litellm.listen(0, '127.0.0.1', resolve))
  atEnd(async () => void litellm.close())
  const url = `http://127.0.0.1:${(litellm.address() as AddressInfo).port}`
  const sync = ['sync', 'litellm-teams', '--litellm-url', url, '--apply']

  const { stdout } = await cli(sync, { LITELLM_API_KEY: 'sk-team' })
  expect(stdout).toContain('1 added, 1 changed, 0 removed')
  const found = await ask('GET', '/api/v1/directory/identities?name=person-7@example.com')
  expect(found.json.data).toMatchObject([{ owner: 'research' }])
  await expect(cli(sync, { LITELLM_API_KEY: 'sk-wrong' })).rejects.toThrow('LiteLLM answered 401')
})
