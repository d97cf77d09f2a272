import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type EcologitsRows,
  parseEcologits,
  tableRow,
} from '../../../../../internal/valuation/books/sources/ecologits.js'
import { ecologitsAlias, ecologitsFile, ecologitsModel } from '../../../../support/ecologits-files.js'

function rowsOf(...file: Parameters<typeof ecologitsFile>): EcologitsRows {
  const parsed = parseEcologits(ecologitsFile(...file))
  if (parsed.kind === 'invalid') throw new Error(parsed.problems.join('\n'))
  return parsed.rows
}
const problemsOf = (text: string): readonly string[] => {
  const parsed = parseEcologits(text)
  return parsed.kind === 'invalid' ? parsed.problems : []
}

test('a dense model has as many active parameters as it has', () => {
  const parameters = { min: 15, max: 58.5 }
  const rows = rowsOf([
    ecologitsModel('gpt-5.4-nano', {
      architecture: { type: 'dense', parameters },
      warnings: ['model-arch-not-released'],
      deployment: { tps: 95.5, ttft: 1.1 },
    }),
  ])

  expect(rows.models.map(tableRow)).toEqual([
    {
      provider: 'openai',
      model: 'gpt-5.4-nano',
      arch: 'dense',
      active: ['15', '58.5'],
      total: ['15', '58.5'],
      tps: '95.5',
      ttft: '1.1',
      warnings: ['model-arch-not-released'],
      sources: ['https://example.com/models'],
    },
  ])
})

test('a mixture of experts has total and active parameters, each a number or a range', () => {
  const rows = rowsOf([
    ecologitsModel('gemini-3-pro', {
      provider: 'google_genai',
      architecture: { type: 'moe', parameters: { total: 1200, active: { min: 120, max: 360 } } },
      sources: null,
      deployment: null,
    }),
  ])

  expect(rows.models.map(tableRow)).toEqual([
    { provider: 'gemini', model: 'gemini-3-pro', arch: 'moe', active: ['120', '360'], total: ['1200', '1200'] },
  ])
})

test.each([
  ['mistralai', 'mistral'],
  ['google_genai', 'gemini'],
  ['huggingface_hub', 'huggingface'],
  ['anthropic', 'anthropic'],
  ['someone_new', 'someone_new'],
])('the provider %s is our %s', (theirs, ours) => {
  expect(rowsOf([ecologitsModel('one', { provider: theirs })]).models).toMatchObject([{ provider: ours }])
})

describe('an alias', () => {
  test('names the model that is listed', () => {
    const { aliases } = rowsOf([ecologitsModel('Haiku-20251001')], [ecologitsAlias('haiku', 'haiku-20251001')])

    expect(aliases).toEqual([{ provider: 'openai', alias: 'haiku', model: 'Haiku-20251001' }])
  })

  test('of an alias names its model', () => {
    const { aliases } = rowsOf([ecologitsModel('a')], [ecologitsAlias('b', 'a'), ecologitsAlias('c', 'b')])

    expect(aliases.map(({ alias, model }) => [alias, model])).toEqual([
      ['b', 'a'],
      ['c', 'a'],
    ])
  })

  test('wins over a model of its name, as in EcoLogits', () => {
    const small = ecologitsModel('small', { architecture: { type: 'dense', parameters: 2 } })
    const { models, aliases } = rowsOf([ecologitsModel('large'), small], [ecologitsAlias('large', 'small')])

    expect(models.map(({ model, active }) => [model, active])).toEqual([
      ['large', [2, 2]],
      ['small', [2, 2]],
    ])
    expect(aliases).toEqual([])
  })

  test('of a model that is not listed makes the file invalid', () => {
    expect(problemsOf(ecologitsFile([ecologitsModel('a')], [ecologitsAlias('b', 'gone')]))).toEqual([
      'the alias openai/b is of a model that is not listed',
    ])
  })
})

test.each([
  ['no JSON', '{', 'invalid JSON'],
  ['no models', '{"models": []}', 'models'],
  [
    'parameters as text',
    ecologitsFile([ecologitsModel('a')]).replace('10', '"10"'),
    'models.0.architecture.parameters',
  ],
  ['a name with control characters', ecologitsFile([ecologitsModel('a\u0007')]), 'models.0.name'],
  ['a model twice', ecologitsFile([ecologitsModel('a'), ecologitsModel('A')]), 'openai/a is a duplicate'],
])('a file with %s is refused, and says where', (_, text, problem) => {
  expect(problemsOf(text).join('\n')).toContain(problem)
})

test('every number of the file is kept to its last digit', () => {
  const amount = fc.double({ min: 1e-6, max: 1e9, noNaN: true })
  fc.assert(
    fc.property(amount, amount, amount, (active, total, tps) => {
      const architecture = { type: 'moe', parameters: { total, active } }
      const { models } = rowsOf([ecologitsModel('a', { architecture, deployment: { tps, ttft: 0 } })])
      const [row] = models.map(tableRow)
      expect([row?.active[0], row?.total[1], row?.tps].map(Number)).toEqual([active, total, tps])
      expect(row?.ttft).toBe('0')
      for (const text of [row?.active[0], row?.total[0], row?.tps]) expect(text).toMatch(/^\d+(\.\d+)?$/)
    }),
  )
})
