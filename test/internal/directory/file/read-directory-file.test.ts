import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readJsonFile } from '../../../../internal/directory/file/read-directory-file.js'

const read = (text: string, pause = async (): Promise<void> => undefined) => readJsonFile(Buffer.from(text), pause)
const LISTS = ['services', 'identities', 'principals', 'sources'] as const

const element = fc.oneof(
  { weight: 3, arbitrary: fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 })) },
  fc.jsonValue(),
)
const documents = fc.dictionary(fc.constantFrom(...LISTS), fc.array(element, { maxLength: 6 }))

test('a document is read as if it were parsed as a whole, however it is written', async () => {
  await fc.assert(
    fc.asyncProperty(documents, fc.constantFrom(0, 1, '\t'), async (drawn, space) => {
      const text = JSON.stringify(drawn, null, space)
      const document = JSON.parse(text) as Readonly<Record<string, readonly unknown[]>>
      const all = LISTS.flatMap((kind) => (document[kind] ?? []).map((fields, i) => ({ kind, fields, i })))
      const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value)
      const file = await read(text)
      if (!file.ok) return expect.unreachable(file.detail)

      const places = (rows: readonly { readonly pointer: string | null }[]) => rows.map(({ pointer }) => pointer).sort()
      const expected = (rows: typeof all) => rows.map(({ kind, i }) => `/${kind}/${i}`).sort()
      expect(places(file.bad)).toEqual(expected(all.filter(({ fields }) => !isObject(fields))))
      expect(places(file.rows)).toEqual(expected(all.filter(({ fields }) => isObject(fields))))
      for (const { kind, pointer, fields } of file.rows) {
        expect(fields).toEqual(document[kind]?.[Number(pointer?.split('/')[2])])
      }
    }),
  )
})

test('what is no JSON is refused, wherever it is broken', async () => {
  const whole = '{"services":[{"name":"a","owner":"b"}],"sources":[{"name":"c"}]}'
  for (let at = 0; at < whole.length; at++) expect((await read(whole.slice(0, at))).ok).toBe(false)
  for (const text of [`${whole}x`, whole.replace('],', ']'), whole.replace('}]', '},]'), whole.replace('"a"', 'a')]) {
    expect((await read(text)).ok).toBe(false)
  }
})

test('a long document is read in turns, and no further than a directory may be', async () => {
  let turns = 0
  const pause = async (): Promise<void> => void turns++
  const entries = (count: number): string => `{"services":[${'{"name":"a"},'.repeat(count - 1)}{"name":"a"}]}`

  expect(await read(entries(100_000), pause)).toMatchObject({ ok: true })
  // 1.3 MB, in turns of 16 kB.
  expect(turns).toBeGreaterThan(70)
  expect(await read(`{"services":[${'[],'.repeat(5_000_000)}[]]}`, pause)).toMatchObject({ ok: false })
  expect(await read(`{"services":[{"a":"${'b'.repeat(2 * 1024 * 1024)}"}]}`)).toMatchObject({
    ok: true,
    rows: [],
    bad: [{ pointer: '/services/0' }],
  })
})
