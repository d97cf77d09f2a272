import { expect, test } from 'vitest'
import { CALLER, MOVES_MAX, movesOf, OTHERS, plusMoves } from '../../../../internal/attribution/changes/moves.js'
import { quantityOfSteps } from '../../../../internal/units/quantity.js'
import { idOf } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

const row = (id: number, owner: string, ownerFrom = 'directory_service') => ({
  ...finishedRow({ id: new Uint8Array(idOf(id)) }),
  owner,
  costUsd: quantityOfSteps<'USD'>(5n * 10n ** 17n),
  evidence: JSON.stringify({ owner_from: ownerFrom }),
})

test('changed records are counted and summed by their owners before and after; a person is not named', () => {
  const before = [row(1, 'a'), row(2, 'a'), row(3, 'ada@example.com', 'event_identity'), row(4, 'a')]
  const after = [row(1, 'b'), row(2, 'b'), row(3, 'b')]

  expect(movesOf(before, after)).toEqual([
    { from_owner: 'a', to_owner: 'b', records: 2, cost_usd: '1' },
    { from_owner: CALLER, to_owner: 'b', records: 1, cost_usd: '0.5' },
  ])
})

test('pairs of owners beyond the maximum are summed as others', () => {
  const move = (i: number) => ({ from_owner: `o${i}`, to_owner: 'b', records: 1, cost_usd: '0.1' })
  const moves = plusMoves(
    [],
    Array.from({ length: MOVES_MAX + 2 }, (_, i) => move(i)),
  )

  expect(moves).toHaveLength(MOVES_MAX + 1)
  expect(moves.at(-1)).toEqual({ from_owner: OTHERS, to_owner: OTHERS, records: 2, cost_usd: '0.2' })
})
