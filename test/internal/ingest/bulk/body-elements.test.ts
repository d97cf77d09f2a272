import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { findElements, holdsSeveral } from '../../../../internal/ingest/bulk/body-elements.js'
import { EventRanges } from '../../../../internal/ingest/bulk/event-ranges.js'
import { drawn } from '../../../support/run/rings.js'

async function elements(text: string, isLines = false): Promise<readonly string[]> {
  const bytes = Buffer.from(text)
  const ranges = new EventRanges()
  expect(await findElements(bytes, text.search(/\S/), isLines, ranges)).toBe(true)
  return Array.from({ length: ranges.count }, (_, i) => bytes.toString('utf8', ranges.start(i), ranges.end(i)))
}

const [A, B, C] = ['{"a":1}', '{"b":{"x":["},{"]}}', '{"c":"}{"}']

describe('good elements', () => {
  test.each([
    ['an array', `[${A},${B},${C}]`],
    ['an array without its end', `[${A},${B},${C}`],
    ['an array with a comma too many', `[${A},${B},${C},]`],
    ['an array and what follows it', `[${A}],[${B}] [${C}]`],
    ['lines', `${A}\n${B}\r\n\n${C}`],
    ['lines that end with commas', `[${A},\n${B},\n${C}`],
    ['lines with an array each', `[${A},${B}]\n[${C}]\n`],
    ['objects one behind the other', `${A}${B}${C}`],
    ['objects with blanks between them', `${A} ${B}\n${C}\n`],
    ['objects with commas between them', `${A},${B},${C}`],
  ])('%s', async (_, text) => {
    expect(await elements(text)).toEqual([A, B, C])
    expect(await elements(text, true)).toEqual([A, B, C])
  })

  test('may be written on several lines each', async () => {
    const [one, two] = [JSON.stringify({ a: [{ b: 1 }, {}] }, null, 2), JSON.stringify({ c: { d: 1 } }, null, 2)]

    for (const text of [`${one}\n${two}\n`, `${one}${two}`, `[\n${one},\n${two}\n`]) {
      expect(await elements(text)).toEqual([one, two])
    }
  })
})

test.each([
  ['commas on a line of lines', `${A},${B}\n${C}`],
  ['tabs', `${A}\t${B}\t${C}`],
  ['several blanks', `${A}   ${B}   ${C}`],
])('objects on one line are told apart: %s', async (_, text) => {
  for (const isLines of [true, false]) {
    expect((await elements(text, isLines)).filter(isObject)).toEqual([A, B, C])
  }
})

test('text in front of an array on its line costs the first element, not all', async () => {
  for (const isLines of [true, false]) {
    expect((await elements(`text [${A},${B},${C}]`, isLines)).filter(isObject)).toEqual([B, C])
  }
})

describe('a bad element costs only itself', () => {
  const BAD = [
    ['truncated in a string', '{"a":1,"b":"tru'],
    ['truncated in a key', '{"a":{"x":1},"prompt_tok'],
    ['truncated in an object', '{"a":1,"b":{"x":1'],
    ['truncated in an array', '{"a":[{"x":1'],
    ['no JSON', "{'a':1}"],
    ['text', 'Traceback (most recent call last):'],
    ['text in brackets', '[2026-11-28 22:00:00] started, 2 workers'],
    ['another value', '7'],
  ] as const
  const FORMS = [
    ['lines', (all: readonly string[]) => all.join('\n'), [0, 1, 2]],
    ['lines and a feed at the end', (all: readonly string[]) => `${all.join('\r\n')}\n`, [0, 1, 2]],
    ['an array', (all: readonly string[]) => `[${all.join(',')}]`, [0, 1, 2]],
    ['an array on several lines', (all: readonly string[]) => `[\n  ${all.join(',\n  ')}\n]\n`, [0, 1, 2]],
    ['an array that does not end', (all: readonly string[]) => `[${all.join(', ')}`, [0, 1, 2]],
    // Of text before an object nobody can tell where it ends.
    ['objects one behind the other', (all: readonly string[]) => all.join(''), [2]],
  ] as const

  for (const [form, write, places] of FORMS) {
    test.each(BAD)(`in ${form}: %s`, async (_, bad) => {
      for (const place of places) {
        const all = [A, B]
        all.splice(place, 0, bad)

        const found = await elements(write(all))

        expect(found.filter((one) => one === A || one === B)).toEqual([A, B])
        expect(found.length).toBeGreaterThan(2)
      }
    })
  }

  test.each(['7', '-1.5e3', 'null', '"text"', '"a {\\"b"', '[1, {"a":2}]', 'word'])(
    'before an object behind it, as in concatenated JSON: %s',
    async (bad) => {
      for (const between of ['', ' ', '\t']) {
        const text = [A, bad, B, bad, C].join(between)
        expect((await elements(text)).filter(isObject)).toEqual([A, B, C])
      }
      expect((await elements(`${bad} ${A} ${B}`)).filter(isObject)).toEqual([A, B])
    },
  )

  test('in lines, also where some hold several objects', async () => {
    expect(await elements(`${A}${B}\n{"x":"tru\n${C}{"y":\n${A}`, true)).toEqual([A, B, '{"x":"tru', C, '{"y":', A])
  })

  test('a text of the same container is one element per line', async () => {
    expect(await elements(`Traceback:\n  File "x"\n${A}\n  exit, 1\n`)).toEqual([
      'Traceback:',
      'File "x"',
      A,
      'exit, 1',
    ])
  })

  test('for any objects and any bad lines among them', async () => {
    const objects = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 3 })).map((value) => JSON.stringify(value))
    const cut = fc.tuple(objects, fc.nat()).map(([text, at]) => text.slice(0, at % text.length))
    const bad = fc.oneof(
      cut,
      fc.string().filter((text) => !/[\r\n]/.test(text)),
    )
    const list = fc.array(fc.oneof(objects, bad), { maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(list, objects, async (all, last) => {
        const lines = [...all, last]
        const good = lines.filter((line) => isObject(line))

        const found = await elements(lines.join('\n'), true)

        expect(found.filter((one) => isObject(one))).toEqual(expect.arrayContaining(good))
      }),
      { numRuns: drawn(300) },
    )
  })
})

function isObject(text: string): boolean {
  try {
    return typeof JSON.parse(text) === 'object' && text.startsWith('{')
  } catch {
    return false
  }
}

test.each([
  ['["a":{"b":', 200_000],
  [',{"a":[,{"b":1}', 100_000],
  ['{}   ', 300_000],
  [' {"x":[\n', 300_000],
  [`${'x'.repeat(500)}}{\n`, 29_000],
])('the search for elements that do not end grows with the body, not with its square: %#', async (part, count) => {
  const [of8, whole] = [await searchMs(part, count / 8), await searchMs(part, count)]

  // Eight times as much takes 8 times as long, or 64.
  expect(whole).toBeLessThan(32 * Math.max(of8, 1))
})

/** Processor time: the least of three. */
async function searchMs(part: string, count: number): Promise<number> {
  const bytes = Buffer.from(`[${part.repeat(count)}`)
  const took: number[] = []
  for (let i = 0; i < 3; i++) {
    const before = process.cpuUsage()
    await findElements(bytes, 0, false, new EventRanges())
    await findElements(bytes, 0, true, new EventRanges())
    took.push(process.cpuUsage(before).user / 1_000)
  }
  return Math.min(...took)
}

test.each([
  [A, false],
  [`\n${A}\n`, false],
  [`${A}${B}`, true],
  [`${A}\n${B}`, true],
  [`${A} x`, false],
  [`text\n${A}`, true],
  [JSON.stringify({ a: [{}, {}] }, null, 1), false],
  ['{"a":[\n{"b":"}{"}\n]}', false],
])('%j holds several objects: %s', (text, expected) => {
  expect(holdsSeveral(Buffer.from(text))).toBe(expected)
})

test.each(['{', '{"', '},', '\n\n'])('a body of %j alone is looked through in turns', async (unit) => {
  const bytes = Buffer.alloc(8 * 1024 * 1024, unit)
  let turns = 0
  const count = (): void => {
    turns++
    timer = setImmediate(count)
  }
  let timer = setImmediate(count)
  await findElements(bytes, 0, false, new EventRanges())
  clearImmediate(timer)

  // A slice is a quarter of a MiB.
  expect(turns).toBeGreaterThan(30)
})

test('objects behind many that do not end are still found whole', async () => {
  const many = '{"a":[[[[[[[[[[[[[[[[[[[['.repeat(40)
  const text = `${many}},${A},${B} , ${C}`
  const nested = '{"a":[{"b":1},{"c":2}]}'

  for (const isLines of [true, false]) {
    expect((await elements(text, isLines)).filter(isObject)).toEqual([A, B, C])
  }
  expect((await elements(`${text}\n${nested}\n`, true)).filter(isObject)).toEqual([A, B, C, nested])
})
