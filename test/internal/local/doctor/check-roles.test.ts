import { expect, test } from 'vitest'
import { stages } from '../../../../internal/local/doctor/check-roles.js'

const attributor = (...parts: string[]) => ({ role: 'attributor', parts })

test('a stage that no attributor runs is a failure that says what to start', () => {
  expect(stages([attributor('a', 'l'), attributor('b', 'c')])).toEqual({
    check: 'stages',
    status: 'failure',
    detail: 'no attributor runs t: start one with --stages t',
  })
  expect(stages([attributor('t'), { role: 'gateway', parts: undefined }]).detail).toContain('--stages a,b,c')
})

test('all stages are run by one attributor, or by several together', () => {
  expect(stages([{ role: 'attributor', parts: undefined }]).status).toBe('ok')
  expect(stages([attributor('a', 'l'), attributor('t', 'b'), attributor('c')]).status).toBe('ok')
})

test('without any attributor, the finding is about the role and not about its stages', () => {
  expect(stages([{ role: 'gateway', parts: undefined }]).status).toBe('ok')
})
