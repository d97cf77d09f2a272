import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../internal/auth/authenticate.js'
import type { Exchange } from '../../../internal/http/exchange.js'
import { createCursorCodec } from '../../../internal/http/resource/pages.js'
import type { Problem } from '../../../internal/problems/catalogue.js'
import { reportAnswers } from '../../../internal/reports/answers.js'
import { readQuestion } from '../../../internal/reports/kinds.js'
import { reportRoutes } from '../../../internal/reports/routes.js'
import { type ReportedCall, reportReads } from '../../support/report-reads.js'

const MINUTE_MS = 60_000
const START_MS = Date.UTC(2026, 9, 5)
const cursors = createCursorCodec(new Uint8Array(32).fill(1))

interface Page {
  readonly data: readonly { readonly service: string; readonly calls: number }[]
  readonly page: { readonly next_cursor?: string; readonly has_more: boolean }
  readonly report: { readonly from: string; readonly to: string }
}

/** A report route on several gateways that read the same calls. */
function asking(calls: ReportedCall[]) {
  let nowMs = START_MS + 12 * 3_600_000
  let readings = 0
  const clock = (): number => nowMs
  const gateway = () => {
    const { sums, weights } = reportReads(calls)
    const counted: typeof sums = (...asked) => {
      readings++
      return sums(...asked)
    }
    const answer = reportAnswers({ sums: counted, weights }, clock)
    const [usage] = reportRoutes({
      thread: {
        answer: async (task, signal) => {
          const page = await answer(task, signal)
          return 'code' in page ? { ok: false, problem: page } : { ok: true, page }
        },
      },
      notPeople: () => [],
      cursors,
      clock,
    })
    return async (query: string): Promise<Page | Problem> => {
      let reply: Page | Problem | undefined
      const exchange = {
        query,
        onAborted: () => undefined,
        replyJson: (_status: string, page: Page) => {
          reply = page
        },
        replyProblem: (problem: Problem) => {
          reply = problem
        },
      }
      await usage?.handle(exchange as unknown as Exchange, { tenantId: 'tnt_one' } as Caller)
      if (reply === undefined) throw new Error('no reply')
      return reply
    }
  }
  return {
    gateway,
    readings: () => readings,
    pass: (ms: number) => {
      nowMs += ms
    },
  }
}

const SERVICES = ['a', 'b', 'c', 'd']
const callsOf = (service: string, people = 6): ReportedCall[] =>
  Array.from({ length: people }, (_, i) => ({ person: 1 + i, service, provider: 'one', atMs: START_MS }))
const someCalls = (): ReportedCall[] => SERVICES.flatMap((service) => callsOf(service))

const QUERY = 'group_by=service&limit=1'
const pageOf = (reply: Page | Problem): Page => {
  if ('code' in reply) throw new Error(reply.detail)
  return reply
}
const next = (reply: Page | Problem): string => `${QUERY}&cursor=${pageOf(reply).page.next_cursor}`
const servicesIn = (reply: Page | Problem): string[] => pageOf(reply).data.map(({ service }) => service)

describe('pages of a report', () => {
  test('show the figures of the first page while its answer is cached, even after new events', async () => {
    const calls = someCalls()
    const { gateway, readings } = asking(calls)
    const ask = gateway()
    const seen: string[] = []

    let reply = await ask(QUERY)
    const afterFirst = readings()
    for (;;) {
      seen.push(...servicesIn(reply))
      calls.push(...callsOf('bb'))
      if (!pageOf(reply).page.has_more) break
      reply = await ask(next(reply))
    }

    expect(seen).toEqual(SERVICES)
    expect(readings()).toBe(afterFirst)
  })

  test('continue after the answer was evicted if nothing has changed, at another gateway too', async () => {
    const { gateway, pass } = asking(someCalls())
    const [one, other] = [gateway(), gateway()]

    const first = await one(QUERY)
    pass(10 * MINUTE_MS)
    const second = await one(next(first))
    const third = await other(next(second))

    expect([first, second, third].flatMap(servicesIn)).toEqual(['a', 'b', 'c'])
  })

  test('are rejected after the answer was evicted and figures have changed: pages never mix figures', async () => {
    const calls = someCalls()
    const { gateway, pass } = asking(calls)
    const ask = gateway()
    const first = await ask(QUERY)

    pass(10 * MINUTE_MS)
    calls.push(...callsOf('a', 1))
    const reply = await ask(next(first))

    expect(reply).toMatchObject({ code: 'INVALID_CURSOR', errors: [{ pointer: '/cursor' }] })
    expect((reply as Problem).detail).toContain('have changed')
    expect(servicesIn(await ask(QUERY))).toEqual(['a'])
  })

  test('are rejected at another gateway that reads other figures', async () => {
    const calls = someCalls()
    const { gateway } = asking(calls)
    const first = await gateway()(QUERY)

    calls.push(...callsOf('d', 1))

    expect(await gateway()(next(first))).toMatchObject({ code: 'INVALID_CURSOR' })
  })

  test('cannot be continued by an older release, nor the other way round', async () => {
    const { gateway } = asking(someCalls())
    const nowMs = START_MS + 12 * 3_600_000
    const read = readQuestion('usage', QUERY, nowMs)
    if (!read.ok) throw new Error(read.problem.detail)
    // The query and position in the cursor of an older release.
    const before = { tenantId: 'tnt_one', query: `/v1/reports/usage ${read.question.digest}` }
    const made = cursors.encode({ ...before, lastKey: ['2026-10-05', 'a'], snapshotMs: nowMs }, nowMs)
    const ofNow = pageOf(await gateway()(QUERY)).page.next_cursor ?? ''

    expect(await gateway()(`${QUERY}&cursor=${made}`)).toMatchObject({
      detail: expect.stringContaining('another query'),
    })
    expect(cursors.decode(ofNow, before, nowMs)).toMatchObject({ problem: { code: 'INVALID_CURSOR' } })
  })

  test('cover one period, also after midnight', async () => {
    const { gateway, pass } = asking(someCalls())
    const ask = gateway()
    pass(11.5 * 60 * MINUTE_MS)
    const first = await ask(QUERY)

    pass(45 * MINUTE_MS)
    const [second, repeated] = [await ask(next(first)), await ask(QUERY)]

    expect(servicesIn(second)).toEqual(['b'])
    expect(pageOf(second).report).toEqual(pageOf(first).report)
    expect(pageOf(repeated).report).not.toEqual(pageOf(first).report)
  })
})

test('a report with one page is not cached', async () => {
  const { gateway, readings } = asking(someCalls())
  const ask = gateway()
  const query = 'group_by=service&from=2026-10-01&to=2026-11-01'

  expect(pageOf(await ask(query)).page).toEqual({ limit: 50, has_more: false })
  const once = readings()
  await ask(query)

  expect(readings()).toBe(2 * once)
})
