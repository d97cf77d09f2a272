import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { GrowingBytes } from '../../../../internal/ingest/bodies/growing-bytes.js'
import { JsonObjects } from '../../../../internal/ingest/bodies/json-objects.js'
import { openBulkBody } from '../../../../internal/ingest/bulk/bulk-body.js'
import { drawn } from '../../../support/run/rings.js'

/** A body whose sender was cut off: all records but the last are there, and the last counts as one. */

const ON_LINES = (record: object): string => JSON.stringify(record, null, 2)
const FORMS: Readonly<
  Record<string, { text: (record: object) => string; write: (texts: readonly string[]) => string }>
> = {
  array: { text: JSON.stringify, write: (texts) => `[${texts.join(',')}` },
  'array with a line each': { text: JSON.stringify, write: (texts) => `[\n${texts.join(',\n')}` },
  'array with many lines each': { text: ON_LINES, write: (texts) => `[\n${texts.join(',\n')}` },
  NDJSON: { text: JSON.stringify, write: (texts) => texts.join('\n') },
  concatenated: { text: JSON.stringify, write: (texts) => texts.join('') },
  'concatenated on many lines': { text: ON_LINES, write: (texts) => texts.join('\n') },
}

const object = (value: fc.Arbitrary<unknown>) => fc.dictionary(fc.string({ maxLength: 8 }), value, { maxKeys: 4 })
const record = object(
  fc.oneof(
    fc.jsonValue({ maxDepth: 2 }),
    fc.constantFrom('x,{"a":1}', '}{', '\n{"b":', '\\"'),
    fc.array(object(fc.jsonValue({ maxDepth: 1 })), { minLength: 2, maxLength: 3 }),
  ),
).map((members) => ({ id: 'call', ...members }))

const cutOff = fc
  .record({
    form: fc.constantFrom(...Object.keys(FORMS)),
    records: fc.array(record, { minLength: 1, maxLength: 4 }),
    at: fc.nat(),
    end: fc.constantFrom('', '\n', '\r\n', ' '),
  })
  .map(({ form, records, at, end }) => {
    const { text, write } = FORMS[form] as NonNullable<(typeof FORMS)[string]>
    const texts = records.map(text)
    const last = Buffer.from(texts.pop() as string)
    // Behind its bracket, since blanks before a record are no part of it.
    const cut = last.subarray(0, 1 + (at % (last.length - 1)))
    const body = Buffer.concat([Buffer.from(write([...texts, ''])), cut, Buffer.from(end)])
    return { form, body, whole: texts.length }
  })
  // This may as well be a whole array with a record in it that lacks its end: what follows that is looked for.
  .filter(({ body }) => !(body[0] === 0x5b && body.toString().trimEnd().endsWith(']')))

/** Whole and broken records, as the bulk route counts them. */
async function inBulk(body: Buffer, contentType: string, contentEncoding: string): Promise<readonly [number, number]> {
  const sent = { headers: { contentType, contentEncoding }, bytes: body, shippedRows: () => (value: unknown) => value }
  const opened = await openBulkBody(sent, { hold: () => true, release: () => undefined, isSettled: false })
  if (opened.kind !== 'bulk') return [0, 1]
  let whole = 0
  for (const item of opened.items) if (typeof item.value() === 'object') whole++
  return [whole, opened.items.count - whole]
}

/** The same at the intake. */
function atIntake(body: Buffer): readonly [number, number] {
  const copy = new JsonObjects(new GrowingBytes(), { members: new Map(['id', 't'].map((name) => [name, 'scalar'])) })
  for (let at = 0; at < body.length; at += 7) copy.write(body.subarray(at, at + 7))
  copy.end()
  const whole = copy.starts.filter((start, i) => start < (copy.ends[i] as number)).length
  return [whole, copy.count - whole]
}

test('a record that is cut off at the end of a body counts once, in each form', async () => {
  await fc.assert(
    fc.asyncProperty(cutOff, async ({ form, body, whole }) => {
      expect(atIntake(body), form).toEqual([whole, 1])
      for (const type of ['application/json', 'application/x-ndjson']) {
        expect(await inBulk(body, type, ''), `${form} as ${type}`).toEqual([whole, 1])
      }
      expect(await inBulk(gzipSync(body), 'application/json', 'gzip'), `${form} in gzip`).toEqual([whole, 1])
    }),
    { numRuns: drawn(500) },
  )
})

test.each(['x,{y', 'x,{\\"y', 'x},{\\"y'])(
  'an element that is cut off behind the text %j counts once',
  async (text) => {
    for (const end of ['"]', '"\n]']) {
      const body = Buffer.from(`[{"id":"a"},{"id":"b","t":"${text}${end}`)

      expect(atIntake(body)).toEqual([1, 1])
    }
  },
)
