import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { KnownValues } from '../../../internal/store/known-values.js'
import { type AttributionValue, eachValueOf } from '../../../internal/store/tables/attribution-values.js'
import type { AttributionRow } from '../../../internal/store/tables/attributions.js'
import { finishedRow } from '../../support/rows.js'

const ROW = finishedRow({})
const few = fc.constantFrom('', 'a', 'b', 'c')
const rows: fc.Arbitrary<AttributionRow[]> = fc.array(
  fc
    .record({
      tenantId: fc.constantFrom('tnt_1', 'tnt_2'),
      provider: few,
      servedModel: few,
      service: few,
      owner: few,
      dimensions: fc.array(fc.constantFrom('team\ta', 'team\tb', 'site\ta'), { maxLength: 2 }),
    })
    .map((stated) => ({ ...ROW, ...stated })),
  { maxLength: 4 },
)

const textOf = (tenantId: string, field: AttributionValue['field'], value: string): string =>
  `${tenantId} ${field} ${value}`
const textsOf = (values: readonly AttributionValue[]): string[] =>
  values.map(({ tenantId, field, value }) => textOf(tenantId, field, value))
function valuesOf(records: readonly AttributionRow[]): Set<string> {
  const texts = new Set<string>()
  for (const row of records) eachValueOf(row, (...value) => void texts.add(textOf(...value)))
  return texts
}

/**
 * A batch, and how far two processes that share the work get with it: the store refuses the values, or the process is
 * killed.
 */
const attempts = fc.array(
  fc.record({
    rows,
    process: fc.constantFrom(0, 1),
    ends: fc.constantFrom('stored', 'values refused', 'killed before the rows', 'killed after the rows'),
  }),
  { maxLength: 30 },
)

describe('the values that a process knows', () => {
  test('what is written before the records has every value of every record, whatever is killed', () => {
    fc.assert(
      fc.property(attempts, fc.integer({ min: 1, max: 12 }), (all, valuesMax) => {
        const written = new Set<string>()
        const stored: AttributionRow[] = []
        const processes = [new KnownValues(valuesMax), new KnownValues(valuesMax)]
        for (const { rows, process, ends } of all) {
          const known = processes[process] as KnownValues
          const values = known.unknownIn(rows)
          if (ends === 'values refused') continue
          for (const text of textsOf(values)) written.add(text)
          if (ends === 'stored') known.remember(values)
          if (ends === 'stored' || ends === 'killed after the rows') stored.push(...rows)
          if (ends.startsWith('killed')) processes[process] = new KnownValues(valuesMax)
        }
        for (const text of valuesOf(stored)) expect(written).toContain(text)
      }),
    )
  })

  test('a value is named once, and not again once it is remembered', () => {
    fc.assert(
      fc.property(rows, (batch) => {
        const known = new KnownValues()
        const values = known.unknownIn(batch)

        expect(textsOf(values).sort()).toEqual([...valuesOf(batch)].sort())
        known.remember(values)
        expect(known.unknownIn(batch)).toEqual([])
      }),
    )
  })

  test('beyond the limit all are forgotten', () => {
    const known = new KnownValues(5)
    const of = (owner: string) => known.unknownIn([{ ...ROW, owner }])
    known.remember(of('ann'))
    expect(of('ann')).toEqual([])

    known.remember(of('bob'))
    expect(of('bob')).toEqual([])

    known.remember(of('carol'))
    expect(textsOf(of('bob')).length).toBeGreaterThan(1)
    expect(of('carol').map(({ field }) => field)).not.toContain('owner')
  })
})
