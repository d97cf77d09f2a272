import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { identityEntry, principalEntry, serviceEntry, sourceEntry } from '../../../../internal/directory/entries.js'
import { planImport } from '../../../../internal/directory/file/plan-directory-file.js'
import { readCsvFile, readJsonFile } from '../../../../internal/directory/file/read-directory-file.js'
import { type AllEntries, csvFile, jsonFile } from '../../../../internal/directory/file/write-directory-file.js'
import { deriveTenantIds, randomId } from '../../../../internal/ids/ids.js'
import { drawn } from '../../../support/run/rings.js'

const NOW_MS = Date.UTC(2026, 10, 20)
const IDS = deriveTenantIds(new Uint8Array(32), 'tnt_one')
const KEY_ID = randomId('key', IDS)
const pause = async (): Promise<void> => undefined
const NONE: AllEntries = { services: [], identities: [], principals: [], sources: [] }

async function planned(current: Partial<AllEntries>, file: string, keepsMissing = false) {
  const bytes = Buffer.from(file)
  const read = await (file.startsWith('{') ? readJsonFile : readCsvFile)(bytes, pause)
  if (!read.ok) throw new Error(read.detail)
  return planImport('tnt_one', { ...NONE, ...current }, read.rows, read.bad, {
    nowMs: NOW_MS,
    keepsMissing,
    isPool: (_, name) => name === 'unallocated',
    idsOf: () => IDS,
    pause,
  })
}
const namesOf = (changes: readonly { readonly name: string }[]): string[] => changes.map(({ name }) => name)
const service = (name: string, stated: Partial<Parameters<typeof serviceEntry>[0]> = {}) =>
  serviceEntry({ name, owner: `team-${name}`, ...stated })

describe('a CSV file', () => {
  test('adds, changes and removes what differs; a kind that it does not have stays', async () => {
    const current = {
      services: [service('a'), service('b'), service('c')],
      identities: [identityEntry({ name: 'ada', owner: 'x' })],
    }
    const file = 'kind,name,owner,aliases\nservices,a,team-a,\nservices,b,other,\nservices,d,team-d,x; y\n'
    const plan = await planned(current, file)

    expect(plan).toMatchObject({ unchanged: 1, refusals: [], there: 3 })
    expect(plan.adds).toMatchObject([{ name: 'd', line: 4, after: { owner: 'team-d', aliases: ['x', 'y'] } }])
    expect(plan.changes).toMatchObject([{ name: 'b', line: 3, before: { owner: 'team-b' }, after: { owner: 'other' } }])
    expect(plan.removals).toMatchObject([{ name: 'c', line: null, after: undefined }])
    expect((await planned(current, file, true)).removals).toEqual([])
  })

  test('is refused line by line, without a value; a line that is refused leaves the entry of its name', async () => {
    const current = { identities: [identityEntry({ name: 'ada', owner: 'x' }), identityEntry({ name: 'bob' })] }
    const plan = await planned(
      current,
      [
        'kind,name,owner,is_workload,service',
        'identities,ada,"two\nlines",,',
        'identities,bob,team,maybe,',
        'people,eve,team,,',
        'identities,eve,team,,',
        'identities,eve,again,,',
        'identities,x',
        'services,shop,,,',
        'services,shop,team,true,',
      ].join('\n'),
    )

    expect(plan.refusals.map(({ line, reason }) => [line, reason])).toEqual([
      [4, 'is_workload must be true or false'],
      [5, 'kind must be one of services, identities, principals, sources'],
      [8, 'must have 5 fields'],
      [10, 'is_workload is no field of services'],
      [9, expect.stringContaining('owner')],
      [2, expect.stringContaining('owner')],
      [7, 'has the name of an entry above'],
    ])
    expect(namesOf(plan.adds)).toEqual(['eve'])
    expect(JSON.stringify(plan.refusals)).not.toContain('two')
    expect(plan.removals).toEqual([])
  })

  test('removes nothing while a line does not say which entry it is', async () => {
    const current = { identities: [identityEntry({ name: 'ada' }), identityEntry({ name: 'bob' })] }
    const head = 'kind,name,owner\nidentities,eve,x\n'

    expect(namesOf((await planned(current, head)).removals)).toEqual(['ada', 'bob'])
    expect((await planned(current, `${head}identities,bob\n`)).removals).toEqual([])
    expect(namesOf((await planned(current, `${head}identities,bob,${'x'.repeat(300)}\n`)).removals)).toEqual(['ada'])
  })

  test.each([
    ['', 'has no line of column names'],
    ['kind,name,colour\n', 'must have no other columns'],
    ['name,owner\n', 'must have the columns kind and name'],
    ['kind,name,name\n', 'only once'],
    ['kind,name\nservices,"a', 'does not end'],
    ['kind,name\nservices,\xe9', 'UTF-8'],
  ])('that is none is refused as a whole: %j', async (file, detail) => {
    expect(await readCsvFile(Buffer.from(file, 'latin1'), pause)).toEqual({
      ok: false,
      detail: expect.stringContaining(detail),
    })
  })
})

describe('people of SCIM', () => {
  const ada = { ...identityEntry({ name: 'ada@example.com', owner: 'x' }), inactive: true as const }

  test('are not removed by a file that does not name them', async () => {
    const bob = identityEntry({ name: 'bob' })
    const marked = [{ external_id: '1' }, { groups: ['grp_1'] }, { renamed: ['carl'] }].map((mark, i) => ({
      ...identityEntry({ name: `person-${i}` }),
      ...mark,
    }))
    const plan = await planned({ identities: [ada, bob, ...marked] }, 'kind,name,owner\nidentities,eve,x\n')

    expect(namesOf(plan.removals)).toEqual(['bob'])
  })

  test('are the same in another spelling, and by a later name', async () => {
    const renamed = { ...ada, renamed: ['Ada.Lovelace@example.com'] }
    for (const name of ['ADA@example.com', 'ada.lovelace@EXAMPLE.com']) {
      const plan = await planned({ identities: [renamed] }, `kind,name,owner\nidentities,${name},y\n`)

      expect(plan).toMatchObject({ adds: [], removals: [], refusals: [] })
      expect(plan.changes).toMatchObject([{ name: ada.name, before: renamed, after: { ...renamed, owner: 'y' } }])
    }
  })

  test('are not what another entry of that very spelling is, nor a workload', async () => {
    const other = identityEntry({ name: 'Ada@example.com', owner: 'y' })
    const plan = await planned({ identities: [ada, other] }, 'kind,name,owner\nidentities,Ada@example.com,y\n')
    expect(plan).toMatchObject({ adds: [], changes: [], removals: [], unchanged: 1 })

    const workload = 'kind,name,owner,is_workload\nidentities,ADA@example.com,y,true\n'
    expect(namesOf((await planned({ identities: [ada] }, workload)).adds)).toEqual(['ADA@example.com'])
  })
})

describe('services', () => {
  test('cannot share a name, have that of a pool, or be merged into nothing', async () => {
    const merged = (into: string) => [{ from: '2027-01-01T00:00:00Z', merged_into: into }]
    const file = JSON.stringify({
      services: [
        { name: 'a', owner: 'x', aliases: ['b'] },
        { name: 'B', owner: 'x' },
        { name: 'unallocated', owner: 'x' },
        { name: 'c', owner: 'x', changes: merged('nowhere') },
        { name: 'd', owner: 'x', changes: merged('e') },
        { name: 'e', owner: 'x' },
      ],
    })
    const plan = await planned({}, file)

    expect(namesOf(plan.adds)).toEqual(['a', 'd', 'e'])
    expect(plan.refusals.map(({ pointer, reason }) => [pointer, reason])).toEqual([
      ['/services/1', 'The name or an alias belongs to another service.'],
      ['/services/2', 'The name or an alias is that of a cost pool.'],
      ['/services/3', 'The service to merge into is not in the directory.'],
    ])
  })

  test('may take over the alias of a service that goes', async () => {
    const plan = await planned({ services: [service('old', { aliases: ['x'] })] }, 'kind,name,owner\nservices,x,team\n')

    expect([namesOf(plan.adds), namesOf(plan.removals), plan.refusals]).toEqual([['x'], ['old'], []])
  })
})

test('a credential of another tenant is refused', async () => {
  const foreign = randomId('key', deriveTenantIds(new Uint8Array(32), 'tnt_two'))
  const plan = await planned({}, `kind,name,service\nprincipals,${foreign},a\nprincipals,${KEY_ID},a\n`)

  expect(namesOf(plan.adds)).toEqual([KEY_ID])
  expect(plan.refusals).toMatchObject([{ line: 2 }])
})

test.each(['[]', '{"people": []}', '{"services": {}}', '{'])(
  'a JSON document that is no directory is refused: %s',
  async (text) => {
    expect(await readJsonFile(Buffer.from(text), pause)).toMatchObject({ ok: false })
  },
)

test('what is exported, imported again, changes nothing: as JSON and as CSV', async () => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'B', ' ', ',', '"', ';', '[', 'é', '='),
    minLength: 1,
    maxLength: 6,
  })
  const name = text.map((value) => `n${value}`)
  const distinct = <T>(of: fc.Arbitrary<T>, by: (one: T) => string) =>
    fc.uniqueArray(of, { selector: by, maxLength: 5 })
  const owner = fc.option(name, { nil: undefined })
  const entries = fc.record({
    services: distinct(
      fc
        .record({ name, owner: name, hasChange: fc.boolean(), aliases: fc.array(name, { maxLength: 2 }) })
        .map(({ hasChange, aliases, ...rest }) =>
          serviceEntry({
            ...rest,
            aliases: aliases.map((alias) => `${rest.name} ${alias}`),
            ...(hasChange && {
              changes: [{ from: '2027-01-01T00:00:00Z', owner: 'later', stated_at: '2026-01-01T00:00:00.000Z' }],
            }),
          }),
        ),
      // So that no two services claim one name.
      (one) => one.name.toLowerCase().trim().split(' ')[0] ?? '',
    ),
    identities: distinct(
      fc.record({ name, owner, service: owner, is_workload: fc.boolean() }).map(identityEntry),
      (one) => one.name,
    ),
    principals: fc.constantFrom([], [principalEntry({ principal_id: KEY_ID, service: 'a', exclusive: true })]),
    sources: distinct(fc.record({ name, is_discovery_only: fc.boolean() }).map(sourceEntry), (one) => one.name),
  })
  await fc.assert(
    fc.asyncProperty(entries, async (current) => {
      const count = Object.values(current).flat().length
      for (const write of [jsonFile, csvFile]) {
        const plan = await planned(current, await write(current, pause))
        expect(plan).toMatchObject({ adds: [], changes: [], removals: [], refusals: [], unchanged: count })
      }
    }),
    { numRuns: drawn(300) },
  )
})
