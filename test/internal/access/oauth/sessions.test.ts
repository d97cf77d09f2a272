import type { KV } from '@nats-io/kv'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AuthorizationGrant, storedCodes } from '../../../../internal/access/oauth/authorization-codes.js'
import { unguessable } from '../../../../internal/access/oauth/issue-token.js'
import {
  SESSION_IDLE_S_MAX,
  SESSION_LIFE_S_MAX,
  type Sessions,
  type StoredSession,
  storedSessions,
} from '../../../../internal/access/oauth/sessions.js'
import { AUTHORIZATION_CODES, SESSIONS } from '../../../../streams/buckets.js'
import { type Buckets, launchBuckets } from '../../../support/buckets.js'
import { NOW_MS } from '../../../support/invocations.js'

let buckets: Buckets
let codeBucket: KV
let sessions: Sessions
const denied: string[] = []

beforeAll(async () => {
  buckets = await launchBuckets()
  codeBucket = await buckets.open(AUTHORIZATION_CODES)
  sessions = storedSessions(await buckets.open(SESSIONS), async (id) => {
    denied.push(id)
  })
})
afterAll(() => buckets.close())

const session = (): StoredSession => ({
  id: unguessable(),
  tenant_id: 'tnt_one',
  client_id: 'cli_one',
  user_id: 'usr_one',
  scopes: ['read:attribution'],
  auth_time: NOW_MS / 1_000,
  generation: 0,
  status: 'active',
})

const begun = async (): Promise<string> => {
  const made = session()
  expect(await sessions.begin(made)).toBe(true)
  return made.id
}

describe('a session', () => {
  test('advances with each refresh', async () => {
    const id = await begun()

    expect(await sessions.refresh(id, 0, NOW_MS)).toMatchObject({ kind: 'refreshed', session: { generation: 1 } })
    expect(await sessions.refresh(id, 1, NOW_MS)).toMatchObject({ kind: 'refreshed', session: { generation: 2 } })
  })

  test('recognizes a refresh token that was used before', async () => {
    const id = await begun()
    await sessions.refresh(id, 0, NOW_MS)

    expect(await sessions.refresh(id, 0, NOW_MS)).toEqual({ kind: 'reused' })
  })

  test('that is older than its token, as after a restored backup, counts as ended, and stays', async () => {
    const id = await begun()

    expect(await sessions.refresh(id, 1, NOW_MS)).toEqual({ kind: 'ended' })
    expect(await sessions.refresh(id, 0, NOW_MS)).toMatchObject({ kind: 'refreshed', session: { generation: 1 } })
  })

  test('accepts one of many simultaneous refreshes with the same token', async () => {
    const id = await begun()

    const outcomes = await Promise.all(Array.from({ length: 20 }, () => sessions.refresh(id, 0, NOW_MS)))

    expect(outcomes.filter(({ kind }) => kind === 'refreshed')).toHaveLength(1)
    expect(outcomes.filter(({ kind }) => kind === 'reused')).toHaveLength(19)
  })

  test('stays at its token for as long as that may be repeated, and then knows the older one', async () => {
    const id = await begun()
    const graceMs = 60_000
    const refreshAt = (generation: number, atMs: number) => sessions.refresh(id, generation, NOW_MS + atMs, { graceMs })
    const first = { kind: 'refreshed', session: { generation: 1 } }

    expect(await refreshAt(0, 0)).toMatchObject(first)
    // The answer was lost, or another tab had the cookie of before.
    expect(await refreshAt(0, graceMs - 1)).toMatchObject(first)
    expect(await refreshAt(1, graceMs - 1)).toMatchObject(first)
    expect(await refreshAt(0, graceMs)).toEqual({ kind: 'reused' })
    expect(await refreshAt(1, graceMs)).toMatchObject({ kind: 'refreshed', session: { generation: 2 } })
    // Two tokens ago: that is nobody's repetition.
    expect(await refreshAt(0, graceMs)).toEqual({ kind: 'reused' })
  })

  test('gives many simultaneous requests with a token that may be repeated the same next one', async () => {
    const id = await begun()

    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => sessions.refresh(id, 0, NOW_MS, { graceMs: 60_000 })),
    )

    for (const outcome of outcomes) expect(outcome).toMatchObject({ kind: 'refreshed', session: { generation: 1 } })
  })

  test('ends after 30 days, regardless of refreshes', async () => {
    const id = await begun()
    const endMs = NOW_MS + SESSION_LIFE_S_MAX * 1_000

    expect((await sessions.refresh(id, 0, endMs - 1)).kind).toBe('refreshed')
    expect((await sessions.refresh(id, 1, endMs)).kind).toBe('ended')
  })

  test('ends a week after it was last used, whatever refreshes it meanwhile', async () => {
    const id = await begun()
    const weekMs = SESSION_IDLE_S_MAX * 1_000
    const refreshAt = (generation: number, atMs: number, idleMs: number) =>
      sessions.refresh(id, generation, NOW_MS + atMs, { idleMs })

    expect((await refreshAt(0, 0, 0)).kind).toBe('refreshed')
    expect((await refreshAt(1, weekMs - 1, weekMs - 1)).kind).toBe('refreshed')
    // The person comes back a moment too late.
    expect((await refreshAt(2, weekMs, 0)).kind).toBe('ended')
  })

  test('that one tab uses does not end for another one that nobody has used for a week', async () => {
    const id = await begun()
    const weekMs = SESSION_IDLE_S_MAX * 1_000

    expect((await sessions.refresh(id, 0, NOW_MS, { idleMs: 0 })).kind).toBe('refreshed')
    expect((await sessions.refresh(id, 1, NOW_MS + 1, { idleMs: weekMs })).kind).toBe('refreshed')
    expect((await sessions.find(id))?.active_at_ms).toBe(NOW_MS)
  })

  test('that one of two tabs uses goes on, although the other one is always the first to ask', async () => {
    const id = await begun()
    const dayMs = 24 * 60 * 60 * 1_000
    const refreshAt = (generation: number, atMs: number, idleMs: number) =>
      sessions.refresh(id, generation, NOW_MS + atMs, { graceMs: 60_000, idleMs })

    for (let day = 0; day < 10; day++) {
      const next = { kind: 'refreshed', session: { generation: day + 1 } }
      expect(await refreshAt(day, day * dayMs, day * dayMs)).toMatchObject(next)
      // With the cookie of before, and with that of the other tab's answer.
      expect(await refreshAt(day, day * dayMs + 1, 0)).toMatchObject(next)
      expect(await refreshAt(day + 1, day * dayMs + 2, 0)).toMatchObject(next)
    }
    // By its own token, as ever: use does not make the token before the newest one good for longer.
    expect(await refreshAt(9, 9 * dayMs + 60_000, 0)).toEqual({ kind: 'reused' })
  })

  test('that is revoked has ended, and its tokens are denied', async () => {
    const id = await begun()

    expect(await sessions.revoke(id)).toBe(true)
    expect(await sessions.revoke(id)).toBe(false)

    expect(await sessions.refresh(id, 0, NOW_MS)).toEqual({ kind: 'ended' })
    expect(denied).toContain(id)
  })

  test('can be revoked repeatedly, and during refreshes', async () => {
    const id = await begun()

    await Promise.all([
      ...Array.from({ length: 5 }, (_, generation) => sessions.refresh(id, generation, NOW_MS)),
      ...Array.from({ length: 5 }, () => sessions.revoke(id)),
    ])

    expect((await sessions.find(id))?.status).toBe('revoked')
  })

  test('that was revoked before it began never begins', async () => {
    const early = session()

    await sessions.revoke(early.id)

    expect(await sessions.begin(early)).toBe(false)
    expect((await sessions.find(early.id))?.status).toBe('revoked')
  })

  test('that is unknown counts as ended', async () => {
    expect(await sessions.refresh(unguessable(), 0, NOW_MS)).toEqual({ kind: 'ended' })
  })
})

describe('an authorization code', () => {
  const codes = () => storedCodes(codeBucket)
  const grant = (): AuthorizationGrant => ({
    tenant_id: 'tnt_one',
    client_id: 'cli_one',
    user_id: 'usr_one',
    redirect_uri: 'https://client.example/callback',
    scopes: ['read:attribution'],
    code_challenge: 'c'.repeat(43),
    auth_time: NOW_MS / 1_000,
    session_id: unguessable(),
  })

  test('returns its grant once', async () => {
    const granted = grant()
    const code = await codes().issue(granted, NOW_MS)

    expect(await codes().redeem(code, NOW_MS + 59_999)).toMatchObject({ kind: 'redeemed', grant: granted })
    expect(await codes().redeem(code, NOW_MS + 59_999)).toMatchObject({ kind: 'reused', grant: granted })
  })

  test('serves one of many simultaneous requests', async () => {
    const code = await codes().issue(grant(), NOW_MS)

    const outcomes = await Promise.all(Array.from({ length: 20 }, () => codes().redeem(code, NOW_MS)))

    expect(outcomes.filter(({ kind }) => kind === 'redeemed')).toHaveLength(1)
    expect(outcomes.filter(({ kind }) => kind === 'reused')).toHaveLength(19)
  })

  test('expires after a minute', async () => {
    const code = await codes().issue(grant(), NOW_MS)

    expect(await codes().redeem(code, NOW_MS + 60_000)).toEqual({ kind: 'unknown' })
  })

  test.each(['', 'x', '*', 'a.b', 'x'.repeat(43), `${'x'.repeat(42)}>`])('%j is unknown', async (text) => {
    expect(await codes().redeem(text, NOW_MS)).toEqual({ kind: 'unknown' })
  })

  test('is not stored in readable form in its bucket', async () => {
    const code = await codes().issue(grant(), NOW_MS)
    const kept: string[] = []
    for await (const key of await codeBucket.keys()) kept.push(key, (await codeBucket.get(key))?.string() ?? '')

    expect(kept.join()).not.toContain(code)
    expect(kept).not.toHaveLength(0)
  })
})
