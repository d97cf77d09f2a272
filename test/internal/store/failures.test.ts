import { ClickHouseError } from '@clickhouse/client'
import { expect, test } from 'vitest'
import { storeProblem } from '../../../internal/store/failures.js'

const refused = (code: string, type: string) => new ClickHouseError({ message: `Code: ${code}.`, code, type })

test.each([
  ['241', 'MEMORY_LIMIT_EXCEEDED'],
  ['243', 'NOT_ENOUGH_SPACE'],
  ['75', 'CANNOT_WRITE_TO_FILE_DESCRIPTOR'],
  ['252', 'TOO_MANY_PARTS'],
  ['394', 'QUERY_WAS_CANCELLED'],
  ['236', 'ABORTED'],
])('%s, %s, may pass: it is to be tried again', (code, type) => {
  expect(storeProblem(refused(code, type))).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})

test('what the engine cannot make sense of is a defect, and no end of a connection', () => {
  expect(storeProblem(refused('47', 'UNKNOWN_IDENTIFIER'))).toBeUndefined()
  expect(storeProblem(new Error('connect ECONNREFUSED'))).toMatchObject({ code: 'SERVICE_UNAVAILABLE' })
})
