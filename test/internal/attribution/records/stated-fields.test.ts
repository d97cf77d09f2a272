import { expect, test } from 'vitest'
import { eventOf } from '../../../../internal/attribution/records/stated-fields.js'
import { decodeGroup, encodeEntry, encodeGroup } from '../../../../internal/invocations/invocation-group.js'
import { FULL_EVENT } from '../../../support/full-event.js'
import { idOf, NOW_MS, validEvent } from '../../../support/invocations.js'
import { finishedRow } from '../../../support/rows.js'

test('an event that states every field is the same event when its row is read back', () => {
  const admission = { tenantId: 'tnt_one', principal: 'key_one', id: idOf(1), receivedAtMs: NOW_MS }
  const entry = encodeEntry(admission, validEvent({ ...FULL_EVENT, billed_units: { seconds: '12.5' } }))
  const [full] = decodeGroup(encodeGroup([entry]), 1)
  if (full === undefined) throw new Error('the group holds no event')
  const { invocation } = full
  // Admission reads the last, and the record keeps what was decided by the others.
  const { energyWh, carbonGco2e, isCostNotional, usageBasis, providerUsage, ...stated } = invocation

  const { servedModel, attributedIdentity, attributedService, attributionConfidence } = invocation
  const recalled = { servedModel, attributedIdentity, attributedService, attributionConfidence }
  expect(eventOf(finishedRow({ invocation }), recalled)).toEqual(stated)
})

test('an optional field that an event does not state is unknown in its row, and undefined when read back', () => {
  const row = finishedRow({
    invocation: { region: undefined, reasoningTokens: undefined, estimatedCostUsd: undefined },
  })

  expect(row).toMatchObject({ region: '', reasoningTokens: undefined, estimatedCostUsd: undefined })
  const recalled = {
    servedModel: undefined,
    attributedIdentity: undefined,
    attributedService: undefined,
    attributionConfidence: undefined,
  }
  const { region, reasoningTokens, estimatedCostUsd } = eventOf(row, recalled)
  expect({ region, reasoningTokens, estimatedCostUsd }).toEqual({})
})
