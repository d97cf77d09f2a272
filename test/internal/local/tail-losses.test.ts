import { expect, test } from 'vitest'
import { TailLosses } from '../../../internal/local/tail-losses.js'

const reason = (name: string, count: number, at: string, service: string | null = null) => ({
  reason: name,
  service,
  count,
  last_at: `2026-11-21T09:30:${at}.000Z`,
})
type Reason = ReturnType<typeof reason>

const source = (sender: string, passed: Reason[], rejected: Reason[] = [], refused: Reason[] = []) => ({
  credential: 'key_1',
  intake: 'otlp',
  sender,
  passed_over: { reasons: passed },
  rejected: { reasons: rejected },
  refused_requests: { reasons: refused },
})

/** The API over what `pages` has at the time. */
const apiOf = (pages: { now: object[][] }) => ({
  get: async (path: string) => {
    const index = Number(new URLSearchParams(path.split('?')[1]).get('cursor') ?? 0)
    const page = index + 1 < pages.now.length ? { next_cursor: String(index + 1) } : {}
    return { status: 200, body: JSON.stringify({ data: pages.now[index], page }) }
  },
})

test('shows what was lost since the last look, the oldest first, and nothing of before', async () => {
  const pages = { now: [[source('app', [reason('agent', 5, '01')])]] }
  const tail = new TailLosses(apiOf(pages))
  expect(await tail.next()).toEqual([])

  pages.now = [
    [source('app', [reason('agent', 7, '09')], [reason('no_model', 1, '05')])],
    [source('kong', [], [], [reason('malformed_request', 2, '07')])],
  ]
  const shown = (await tail.next()).map(({ what, reason: why, count, sender }) => [what, why, count, sender])

  expect(shown).toEqual([
    ['rejected', 'no_model', 1, 'app'],
    ['request_refused', 'malformed_request', 2, 'kong'],
    ['passed_over', 'agent', 2, 'app'],
  ])
  expect(await tail.next()).toEqual([])
})

test('counts that begin anew at the hour are still shown', async () => {
  const pages = { now: [[source('app', [reason('agent', 50, '01')])]] }
  const tail = new TailLosses(apiOf(pages))
  await tail.next()
  pages.now = [[source('app', [reason('agent', 3, '02')])]]

  expect(await tail.next()).toMatchObject([{ reason: 'agent', count: 1 }])
})

test('of one service, and with a problem named', async () => {
  const pages: { now: object[][] } = { now: [[]] }
  const tail = new TailLosses(apiOf(pages), 'search')
  await tail.next()
  pages.now = [[source('app', [reason('agent', 1, '01', 'search'), reason('agent', 1, '01', 'shop')])]]
  expect(await tail.next()).toMatchObject([{ service: 'search' }])

  const refused = { get: async () => ({ status: 403, body: '{"detail":"needs a scope"}' }) }
  await expect(new TailLosses(refused).next()).rejects.toThrow('403: needs a scope')
})
