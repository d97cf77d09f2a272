import { expect, test } from 'vitest'
import { invocationEvent } from '../../../internal/invocations/invocation-schema.js'

test('every field of an invocation event has a description in the OpenAPI document', () => {
  const fields = Object.entries(invocationEvent.shape)
  const undescribed = fields.filter(([, field]) => !field.meta()?.description).map(([name]) => name)

  expect(fields.length).toBeGreaterThanOrEqual(30)
  expect(undescribed).toEqual([])
})
