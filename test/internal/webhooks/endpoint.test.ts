import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import {
  answersChallenge,
  formatSecret,
  type StoredWebhook,
  secretsAt,
  signingKeys,
  storeChallenge,
  storeSecret,
  withSecret,
} from '../../../internal/webhooks/endpoint.js'
import { masterKeysOf } from '../../support/master-keys.js'

const masterKeys = masterKeysOf(7)
const NOW_MS = Date.parse('2026-11-21T09:30:00Z')
const HOUR_MS = 60 * 60 * 1000
const ID = 'whk_one'

const secretText = () => formatSecret(randomBytes(32))
const stored = (secret: string) => storeSecret(masterKeys, ID, secret, new Date(NOW_MS).toISOString())
const endpoint = (secret: string): StoredWebhook => ({
  id: ID,
  tenant_id: 'tnt_one',
  url: 'https://hooks.example.com/',
  events: ['apikey.rotated'],
  residency_region: null,
  status: 'pending',
  secrets: [stored(secret)],
  challenge: storeChallenge(masterKeys, ID, { id: 'one', text: 'what was sent' }, NOW_MS),
  verified_at: null,
  starts_after: 0,
  created_at: new Date(NOW_MS).toISOString(),
})

test('a webhook secret is stored sealed and unsealed unchanged', () => {
  const secret = secretText()

  const webhook = endpoint(secret)

  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/)
  expect(JSON.stringify(webhook)).not.toContain(secret)
  expect(signingKeys(masterKeys, webhook, NOW_MS).map(({ text }) => text.export().toString())).toEqual([secret])
})

test('a replaced webhook secret also signs for 24 hours, and not after that', () => {
  const [old, next] = [secretText(), secretText()]

  const rotated = withSecret(endpoint(old), stored(next), NOW_MS) as StoredWebhook
  const signing = (atMs: number) => signingKeys(masterKeys, rotated, atMs).map(({ text }) => text.export().toString())

  expect(signing(NOW_MS)).toEqual([next, old])
  expect(signing(NOW_MS + 24 * HOUR_MS - 1)).toEqual([next, old])
  expect(signing(NOW_MS + 24 * HOUR_MS)).toEqual([next])
})

test('a second rotation does not extend the first overlap, and too many valid secrets are refused', () => {
  const texts = [secretText(), secretText(), secretText(), secretText(), secretText()]
  const [first = '', ...others] = texts

  let webhook: StoredWebhook | undefined = endpoint(first)
  for (const [i, text] of others.entries()) webhook = webhook && withSecret(webhook, stored(text), NOW_MS + i * HOUR_MS)
  const three = others.slice(0, 3).reduce((found, text, i) => {
    return withSecret(found, stored(text), NOW_MS + i * HOUR_MS) as StoredWebhook
  }, endpoint(first))

  expect(webhook).toBeUndefined()
  expect(secretsAt(three, NOW_MS + 2 * HOUR_MS)).toHaveLength(4)
  expect(secretsAt(three, NOW_MS + 24 * HOUR_MS)).toHaveLength(3)
  expect(withSecret(three, stored(secretText()), NOW_MS + 24 * HOUR_MS)).toBeDefined()
})

test('a challenge is answered only by its own text, within a day', () => {
  const webhook = endpoint(secretText())

  expect(answersChallenge(masterKeys, webhook, 'what was sent', NOW_MS)).toBe(true)
  expect(answersChallenge(masterKeys, webhook, 'what was sent', NOW_MS + 24 * HOUR_MS)).toBe(false)
  expect(answersChallenge(masterKeys, webhook, 'what was sen', NOW_MS)).toBe(false)
  expect(answersChallenge(masterKeys, webhook, '', NOW_MS)).toBe(false)
  expect(answersChallenge(masterKeys, { ...webhook, challenge: null }, 'what was sent', NOW_MS)).toBe(false)
  expect(JSON.stringify(webhook)).not.toContain('what was sent')
})
