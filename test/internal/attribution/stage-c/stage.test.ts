import { describe, expect, test } from 'vitest'
import { stageC } from '../../../../internal/attribution/stage-c/stage.js'
import { batchOf, event, kindsOf, ROW_DEPS } from '../../../support/stages.js'

describe('stage C', () => {
  test('keeps everything in the default pool, far below a provisional record', async () => {
    const { handle } = await stageC(ROW_DEPS).open(2)

    const dispositions = await handle(batchOf('c', [event(1, 0, { attributionConfidence: 0.95 })]))

    expect(dispositions).toMatchObject([
      {
        kind: 'resolved',
        row: {
          service: 'unallocated',
          owner: 'unallocated',
          stageOrigin: 'stage_c',
          evidenceBasis: 'default_pool',
          confidence: 1_000,
          confidenceBand: 'estimated',
          outputState: 'unresolved',
          degradationState: 'disabled',
          exportEligibility: 'below_floor',
        },
      },
    ])
  })

  test('hands nothing on', async () => {
    expect(stageC(ROW_DEPS).next).toBeUndefined()
    const { handle } = await stageC(ROW_DEPS).open(2)

    expect(kindsOf(await handle(batchOf('c', [event(1, 0), event(2, 1, { provider: 'broken' })])))).toEqual([
      'resolved',
      'failed',
    ])
  })
})
