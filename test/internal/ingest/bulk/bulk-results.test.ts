import { expect, test } from 'vitest'
import { newEventIds } from '../../../../internal/ingest/admission/check-event.js'
import type { BulkItem } from '../../../../internal/ingest/bulk/bulk-body.js'
import { BulkResults } from '../../../../internal/ingest/bulk/bulk-results.js'
import { problem } from '../../../../internal/problems/problem-catalogue.js'

const item = (index: number): BulkItem => ({
  index,
  problem: undefined,
  bytes: Buffer.alloc(0),
  start: 0,
  end: 0,
  value: () => ({}),
})
const errors = (count: number, pointer = '/a') =>
  problem('VALIDATION_FAILED', 'No.', {
    errors: Array.from({ length: count }, (_, i) => ({ pointer: pointer + i, detail: 'is wrong' })),
  })

interface Results {
  readonly rejected: number
  readonly results: readonly { readonly errors?: readonly { readonly pointer: string; readonly detail: string }[] }[]
}
function answered(results: BulkResults): { bytes: number; body: Results } {
  const answer = results.answer()
  if (answer.kind !== 'accepted') throw new Error(answer.problem.code)
  return { bytes: answer.body.length, body: JSON.parse(Buffer.from(answer.body).toString()) as Results }
}

test('a result reports five errors of an event and the number of further ones', () => {
  const results = new BulkResults(3)
  results.accept(newEventIds(), false)
  results.reject(item(1), errors(5))
  results.reject(item(2), errors(20))

  const { body } = answered(results)

  expect(body.results[1]?.errors?.map(({ pointer }) => pointer)).toEqual(['/a0', '/a1', '/a2', '/a3', '/a4'])
  expect(body.results[2]?.errors?.length).toBe(6)
  expect(body.results[2]?.errors?.[5]).toEqual({ pointer: '', detail: 'has 15 more errors' })
})

test('past one mebibyte of errors a result holds the error code only', () => {
  const results = new BulkResults(5_000)
  results.accept(newEventIds(), false)
  for (let i = 1; i < 5_000; i++) results.reject(item(i), errors(20, `/${'x'.repeat(1_000)}`))

  const { bytes, body } = answered(results)

  expect(bytes).toBeLessThan(2 * 1024 * 1024)
  expect([body.rejected, body.results.length]).toEqual([4_999, 5_000])
  expect(body.results.at(-1)).toEqual({ index: 4_999, error_code: 'VALIDATION_FAILED' })
})

test('a request without accepted events is answered with its first hundred errors', () => {
  const results = new BulkResults(200)
  for (let i = 0; i < 200; i++) results.reject(item(i), errors(2))

  const answer = results.answer()

  if (answer.kind !== 'refused') throw new Error(answer.kind)
  expect(answer.problem.errors?.length).toBe(100)
  expect(answer.problem.errors?.at(-1)).toEqual({ pointer: '/49/a1', detail: 'is wrong' })
})
