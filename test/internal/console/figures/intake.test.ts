import { expect, test } from 'vitest'
import { INTAKE_SOURCES, intakeAddress } from '../../../../internal/console/figures/intake.js'

test('the intake port has the host and the protocol of the API; 0 means that it is off', () => {
  expect(intakeAddress('https://attribution.example.com', 4318)).toBe('https://attribution.example.com:4318')
  expect(intakeAddress('http://127.0.0.1:8080', 8462)).toBe('http://127.0.0.1:8462')
  expect(intakeAddress('http://127.0.0.1:8080', 0)).toBeUndefined()
})

test.each(Object.entries(INTAKE_SOURCES))('the lines for %s have the address and the key', (_, { block }) => {
  const lines = block('http://127.0.0.1:8462', 'ak_live_of_a_test')

  expect(lines).toContain('http://127.0.0.1:8462')
  expect(lines).toContain('ak_live_of_a_test')
})
