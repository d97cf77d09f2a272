import { expect, test } from 'vitest'
import { ofMapping, tagsFrom } from '../../../../internal/attribution/changes/mapped.js'
import { pairOf } from '../../../../internal/records/dimensions.js'
import { idOf } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

const row = (id: number, rule?: string, tags?: Record<string, string>, dimensions: readonly string[] = []) => ({
  ...finishedRow(
    { id: new Uint8Array(idOf(id)) },
    rule === undefined
      ? {}
      : { verdict: { evidenceBasis: 'mapping_rule', evidence: { mapping_rule: { id: rule, tags } } } },
  ),
  dimensions,
})

test('a job of a rule changes what the rule decides, or has decided', () => {
  const before = [row(1), row(2, 'one'), row(3, 'two'), row(4)]
  const changed = [row(1, 'one'), row(2), row(3), row(4)]
  const idsOf = (rule?: string) => ofMapping(rule, before, { changed, unnamed: 2 }).changed.map(({ id }) => id)

  expect(idsOf('one')).toEqual([row(1).id, row(2).id])
  expect(idsOf('two')).toEqual([row(3).id])
  expect(idsOf()).toEqual([row(1).id, row(2).id, row(3).id])
  expect(ofMapping('one', before, { changed, unnamed: 2 }).unnamed).toBe(2)
})

test('records that follow through their trace change, too; others of the trace do not', () => {
  const traced = (id: number, stated: Partial<ReturnType<typeof row>>) => ({ ...row(id), traceId: 't', ...stated })
  const correlated = { evidenceBasis: 'trace_correlated' }
  const before = [traced(1, {}), traced(2, {}), traced(3, correlated), traced(4, {}), row(5)]
  const changed = [
    { ...row(1, 'one'), traceId: 't' },
    traced(2, correlated),
    traced(3, {}),
    traced(4, { owner: 'another' }),
    { ...row(5), ...correlated, traceId: 'u' },
  ]

  const kept = ofMapping('one', before, { changed, unnamed: 0 }).changed
  expect(kept.map(({ id }) => id)).toEqual([1, 2, 3].map((id) => row(id).id))
})

test('tags of rules change with the rule; those that the call states, and others since declared, do not', () => {
  const own = pairOf('team', 'own')
  const center = (value: string) => pairOf('cost_center', value)
  const set = { Cost_Center: '7' }

  expect(tagsFrom(row(1, undefined, undefined, [own]), row(1, undefined, undefined, [pairOf('team', 'x')]))).toEqual([
    own,
  ])
  expect(tagsFrom(row(1, undefined, undefined, [own, center('')]), row(1, 'one', set, [own, center('7')]))).toEqual([
    own,
    center('7'),
  ])
  expect(tagsFrom(row(1, 'one', set, [own, center('7')]), row(1, undefined, undefined, [own, center('')]))).toEqual([
    own,
    center(''),
  ])
  // The key was declared after the call.
  expect(tagsFrom(row(1, undefined, undefined, [own]), row(1, 'one', set, [own, center('7')]))).toEqual([
    own,
    center('7'),
  ])
})
