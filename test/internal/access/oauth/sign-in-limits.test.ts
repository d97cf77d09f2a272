import { expect, test } from 'vitest'
import { signInLimits } from '../../../../internal/access/oauth/sign-in-limits.js'

const waitMs = (limits: ReturnType<typeof signInLimits>, ...attempt: [string, string, number]): number =>
  limits.exhausted(...attempt)?.waitMs ?? 0

test('successful sign-ins do not use the budget of their network', () => {
  const limits = signInLimits()

  for (let person = 0; person < 500; person++) {
    expect(waitMs(limits, '192.0.2.1', `tnt_a person${person}`, 0)).toBe(0)
    limits.succeeded('192.0.2.1', `tnt_a person${person}`)
  }
})

test('a network with 100 failed attempts waits one second for each further one; other networks do not', () => {
  const limits = signInLimits()
  for (let person = 0; person < 100; person++) {
    expect(waitMs(limits, '192.0.2.1', `tnt_a person${person}`, 0)).toBe(0)
    limits.failed('192.0.2.1', 0)
  }

  expect(waitMs(limits, '192.0.2.1', 'tnt_a ada', 0)).toBe(1_000)
  expect(waitMs(limits, '192.0.2.2', 'tnt_a ada', 0)).toBe(0)
  expect(waitMs(limits, '192.0.2.1', 'tnt_a ada', 1_000)).toBe(0)
  limits.failed('192.0.2.1', 1_000)
  expect(waitMs(limits, '192.0.2.1', 'tnt_a grace', 1_500)).toBe(500)
})

test('password guesses for one person end after ten from one network, and after a hundred from all networks', () => {
  const limits = signInLimits()
  for (let guess = 0; guess < 10; guess++) expect(waitMs(limits, '192.0.2.1', 'tnt_a ada', 0)).toBe(0)
  expect(waitMs(limits, '192.0.2.1', 'tnt_a ada', 0)).toBe(30_000)

  for (let guess = 10; guess < 100; guess++) expect(waitMs(limits, `198.51.100.${guess}`, 'tnt_a ada', 0)).toBe(0)
  expect(waitMs(limits, '203.0.113.1', 'tnt_a ada', 0)).toBe(10_000)
})
