import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { energyDifference, isSameTable } from '../../../../internal/valuation/books/energy-difference.js'
import { type EnergyReview, reviewTable, uponRelease } from '../../../../internal/valuation/books/energy-review.js'
import { parseEcologits } from '../../../../internal/valuation/books/sources/ecologits.js'
import { type EnergyFile, energyModels } from '../../../../internal/valuation/energy/energy-models.js'
import { type EcologitsModel, ecologitsAlias, ecologitsFile, ecologitsModel } from '../../../support/ecologits-files.js'
import { modelRow, tableOf } from '../../../support/energy-tables.js'
import { drawn } from '../../../support/run/rings.js'

const EDITION = { asOf: '2027-01-15', edition: '0.12.0', source: 'EcoLogits 0.12.0' }

function reviewed(
  inForce: EnergyFile,
  file: Parameters<typeof ecologitsFile>,
  accepted: readonly string[] = [],
): EnergyReview {
  const parsed = parseEcologits(ecologitsFile(...file))
  if (parsed.kind === 'invalid') throw new Error(parsed.problems.join('\n'))
  return reviewTable(parsed.rows, inForce, EDITION, new Set(accepted))
}
const dense = (parameters: EcologitsModel['architecture']['parameters']) => ({
  architecture: { type: 'dense', parameters },
})
const find = (file: EnergyFile, model: string) => {
  const found = energyModels(file).find('openai', model)
  return found.kind === 'model' ? found.model : undefined
}

describe('a new edition on the table in force', () => {
  const inForce = tableOf([modelRow('stays', '10'), modelRow('changes', '10'), modelRow('drops', '10')], {
    edition: '0.11.3',
    aliases: [{ provider: 'openai', alias: 'latest', model: 'drops' }],
  })
  const { file, held } = reviewed(inForce, [
    [ecologitsModel('stays'), ecologitsModel('changes', dense({ min: 12, max: 20 })), ecologitsModel('new')],
    [ecologitsAlias('newest', 'new')],
  ])

  test('adds and changes rows, and keeps those that it drops, with the last edition that listed them', () => {
    expect(held).toEqual([])
    expect(file.models.map(({ model, active, data }) => [model, active[1], data])).toEqual([
      ['stays', '10', undefined],
      ['changes', '20', undefined],
      ['drops', '10', '0.11.3'],
      ['new', '10', undefined],
    ])
    expect([file.as_of, file.edition, file.source?.['models']]).toEqual(['2027-01-15', '0.12.0', 'EcoLogits 0.12.0'])
    expect(find(file, 'latest')).toMatchObject({ row: 'openai/drops', lastEdition: '0.11.3' })
    expect(find(file, 'newest')).toMatchObject({ row: 'openai/new', lastEdition: undefined })
  })

  test('leaves what is ours: operators, families, constants', () => {
    const { providers, families, constants, vendor_of, provider_default, validation } = file

    expect({ providers, families, constants, vendor_of, provider_default, validation }).toEqual({
      providers: inForce.providers,
      families: inForce.families,
      constants: inForce.constants,
      vendor_of: inForce.vendor_of,
      provider_default: inForce.provider_default,
      validation: inForce.validation,
    })
  })

  test('differs as a person reads it', () => {
    const { added, changed, dropped, removed, aliases, parts } = energyDifference(inForce, file)

    expect([added, changed, dropped].map((rows) => rows.map(({ name }) => name))).toEqual([
      ['openai/new'],
      ['openai/changes'],
      ['openai/drops'],
    ])
    expect(changed[0]?.members).toEqual(['active 10 -> 12 to 20', 'total 10 -> 12 to 20'])
    expect(dropped[0]?.members).toEqual(['data none -> 0.11.3'])
    expect([removed, aliases, parts]).toEqual([[], ['openai/newest: none -> new'], []])
  })

  test('a model that comes back loses the mark, and a mark is not replaced by a later one', () => {
    const back = reviewed(file, [[ecologitsModel('drops')]])

    expect(back.file.models.map(({ model, data }) => [model, data])).toEqual([
      ['stays', '0.12.0'],
      ['changes', '0.12.0'],
      ['drops', undefined],
      ['new', '0.12.0'],
    ])
    expect(reviewed(back.file, [[ecologitsModel('drops')]]).file.models).toEqual(back.file.models)
  })

  test('a row whose name is an alias now goes, and an alias that has a row now', () => {
    const both = tableOf([modelRow('one', '10')], {
      aliases: [{ provider: 'openai', alias: 'two', model: 'one' }],
    })
    const swapped = reviewed(both, [[ecologitsModel('two', dense(12))], [ecologitsAlias('one', 'two')]]).file

    expect(swapped.models.map(({ model }) => model)).toEqual(['two'])
    expect(find(swapped, 'one')).toMatchObject({ row: 'openai/two', activeB: ['12', '12'] })
    expect(energyDifference(both, swapped)).toMatchObject({ removed: [{ name: 'openai/one' }] })
  })
})

describe('a row that looks wrong is held back, and its model keeps the row in force', () => {
  const inForce = tableOf([modelRow('known', '10', { tps: '50' })])
  const moe = (total: number, active: number) => ({ architecture: { type: 'moe', parameters: { total, active } } })
  const deployed = (tps: number | null, ttft: number | null) => ({ deployment: { tps, ttft } })

  test.each([
    ['that changes by more than a factor of five', dense(900), ['jump']],
    ['with more active parameters than it has', moe(10, 20), ['active_above_total']],
    ['with more than 2e13 parameters', dense(30_000), ['parameters_out_of_bounds', 'jump']],
    ['with too many tokens per second', deployed(9_000, 1), ['speed_out_of_bounds']],
    ['with a first token after more than two minutes', deployed(50, 130), ['delay_out_of_bounds']],
  ])('one %s, until a person accepts it', (_, stated, doubts) => {
    const file: Parameters<typeof ecologitsFile> = [[ecologitsModel('Known', stated), ecologitsModel('other')]]
    const { file: without, held } = reviewed(inForce, file)
    const { file: accepted, held: left } = reviewed(inForce, file, ['openai/known'])

    expect(held).toEqual([{ name: 'openai/known', doubts }])
    expect(without.models.map(({ model, active, data }) => [model, active, data])).toEqual([
      ['known', ['10', '10'], undefined],
      ['other', ['10', '10'], undefined],
    ])
    expect(left).toEqual([])
    expect(accepted.models[0]).not.toEqual(inForce.models[0])
  })

  test.each([
    ['without parameters', dense(0), ['not_a_quantity']],
    ['with fewer than none', dense(-7), ['not_a_quantity']],
    ['with a reversed range', dense({ min: 20, max: 10 }), ['range_reversed']],
    ['that writes no token per second', deployed(0, null), ['not_a_quantity']],
    ['with a first token before the call', deployed(null, -1), ['not_a_quantity']],
  ])('one %s, even if it is accepted', (_, stated, doubts) => {
    const { file, held } = reviewed(inForce, [[ecologitsModel('known', stated)]], ['openai/known'])

    expect(held).toEqual([{ name: 'openai/known', doubts }])
    expect(file.models).toEqual(inForce.models)
  })

  test('a new one is not in the table at all', () => {
    const { file, held } = reviewed(inForce, [[ecologitsModel('known'), ecologitsModel('giant', dense(90_000))]])

    expect(held).toEqual([{ name: 'openai/giant', doubts: ['parameters_out_of_bounds'] }])
    expect(file.models.map(({ model }) => model)).toEqual(['known'])
  })
})

test('a newer release gives its operators, families and rows to the next proposal', () => {
  const inForce = tableOf([modelRow('accepted', '10')], { as_of: '2026-12-01', families: [] })
  const release = tableOf([modelRow('released', '10')], { as_of: '2027-01-01' })

  const base = uponRelease(inForce, release)

  expect(base.models.map(({ model }) => model)).toEqual(['released', 'accepted'])
  expect(base.families).toBe(release.families)
  expect(energyDifference(inForce, base).parts).toEqual(['families'])
  expect(uponRelease(inForce, { ...release, as_of: '2026-12-01' })).toBe(inForce)
})

const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 6 })
const amount = fc.oneof(fc.integer({ min: -1, max: 3_000 }), fc.double({ min: 0.01, max: 100, noNaN: true }))
const drawnModel = fc
  .record({ low: amount, high: amount, tps: fc.option(amount), ttft: fc.option(amount), isMoe: fc.boolean() })
  .map(
    ({ low, high, tps, ttft, isMoe }): Partial<EcologitsModel> => ({
      architecture: isMoe
        ? { type: 'moe', parameters: { total: high, active: { min: low, max: high } } }
        : { type: 'dense', parameters: { min: low, max: high } },
      deployment: { tps, ttft },
    }),
  )
const drawnFile = fc
  .tuple(names, fc.array(drawnModel, { minLength: 6, maxLength: 6 }))
  .filter(([{ length }]) => length > 0)
  .map(([of, models]) => of.map((name, at) => ecologitsModel(name, models[at])))
const drawnTable = fc
  .tuple(names, fc.array(fc.integer({ min: 1, max: 2_000 }), { minLength: 6, maxLength: 6 }))
  .map(([of, sizes]) => tableOf(of.map((name, at) => modelRow(name, String(sizes[at])))))

test('whatever is proposed: no model is lost, every row computes, and proposing it again changes nothing', () => {
  fc.assert(
    fc.property(drawnTable, drawnFile, (inForce, models) => {
      const { file, held } = reviewed(inForce, [models])
      const isHeld = new Set(held.map(({ name }) => name))

      for (const { model } of inForce.models) expect(find(file, model)?.row).toBe(`openai/${model}`)
      for (const { name } of models) {
        if (!isHeld.has(`openai/${name}`)) expect(find(file, name)).toMatchObject({ lastEdition: undefined })
      }
      for (const row of file.models) {
        expect(Number(row.active[0])).toBeGreaterThan(0)
        expect(Number(row.active[0])).toBeLessThanOrEqual(Number(row.active[1]))
      }
      const again = reviewed(file, [models])
      expect(again.held).toEqual(held)
      expect(isSameTable(energyDifference(file, again.file))).toBe(true)
    }),
    { numRuns: drawn(100) },
  )
})
