import fs, { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { Sender, type SenderOptions, type SenderProblem } from '../../../internal/sdk/sender.js'
import { atEnd } from '../../support/run/at-end.js'

const CALL = { provider: 'openai', requested_model: 'gpt-4o' }

interface Request {
  readonly key: string
  readonly ids: readonly string[]
}
let requests: Request[]
let problems: SenderProblem[]
beforeEach(() => {
  requests = []
  problems = []
})

/** A sender whose requests get these answers, and 202 after them. */
function senderOf(answers: readonly (Response | Error)[], more: Partial<SenderOptions> = {}): Sender {
  const left = [...answers]
  return new Sender({
    baseUrl: 'http://service.test',
    apiKey: 'ak_test',
    onProblem: (problem) => void problems.push(problem),
    fetch: async (_, init) => {
      const headers = init?.headers as Record<string, string>
      const lines = String(init?.body).split('\n')
      requests.push({ key: headers['idempotency-key'] ?? '', ids: lines.map((line) => JSON.parse(line).event_id) })
      const answer = left.shift()
      if (answer instanceof Error) throw answer
      return answer ?? new Response('{"accepted":1,"rejected":0}', { status: 202 })
    },
    ...more,
  })
}

describe('calls', () => {
  test('are sent together, in order', async () => {
    const sender = senderOf([])
    for (let i = 0; i < 1_200; i++) sender.record(CALL, {})
    await sender.flush()

    expect(requests.map(({ ids }) => ids.length)).toEqual([500, 500, 200])
    expect(new Set(requests.flatMap(({ ids }) => ids)).size).toBe(1_200)
    expect(sender.state).toEqual({ recorded: 1_200, sent: 1_200, lost: 0, waiting: 0, spooled: 0 })
  })

  test('are sent again with the same ids and the same key, until the service answers', async () => {
    const passing = [new Error('cut'), new Response('', { status: 429 }), new Response('', { status: 503 })]
    const sender = senderOf([...passing, new Response('{"title":"in progress"}', { status: 409 })])
    sender.record(CALL, {})
    await sender.flush()

    expect(requests).toHaveLength(5)
    expect(new Set(requests.map(({ key, ids }) => `${key} ${ids}`)).size).toBe(1)
    expect(sender.state).toMatchObject({ sent: 1, lost: 0 })
  })

  test('that the service refuses are counted and told, and the next ones are sent', async () => {
    const sender = senderOf([new Response('{"detail":"no such key"}', { status: 401 })])
    sender.record(CALL, {})
    await sender.flush()
    sender.record(CALL, {})
    await sender.flush()

    expect(problems).toEqual([{ lost: 1, message: expect.stringContaining('401') }])
    expect(sender.state).toEqual({ recorded: 2, sent: 1, lost: 1, waiting: 0, spooled: 0 })
  })

  test('that the service rejects one by one are counted', async () => {
    const sender = senderOf([new Response('{"accepted":1,"rejected":2,"results":[]}', { status: 202 })])
    for (let i = 0; i < 3; i++) sender.record(CALL, {})
    await sender.flush()

    expect(sender.state).toMatchObject({ sent: 1, lost: 2 })
  })

  test('past the limit of the queue are dropped and told, and nothing throws', () => {
    const sender = senderOf([], {
      queueMax: 3,
      fetch: () => new Promise(() => undefined),
      onProblem: () => {
        throw new Error('a handler of the application')
      },
    })
    for (let i = 0; i < 5; i++) sender.record(CALL, {})

    expect(sender.state).toMatchObject({ recorded: 5, lost: 2, waiting: 3 })
  })

  test('that wait when the client is closed are sent, and later ones are lost', async () => {
    const sender = senderOf([])
    sender.record(CALL, {})
    await sender.close()
    sender.record(CALL, {})

    expect(sender.state).toEqual({ recorded: 2, sent: 1, lost: 1, waiting: 0, spooled: 0 })
  })

  test.each(['flush', 'close'] as const)('that end while %s sends the others are sent, too', async (method) => {
    const left = [...'ab']
    const sender = senderOf([], {
      fetch: async () => {
        const text = async () => {
          if (left.pop() !== undefined) sender.later(() => sender.record(CALL, {}))
          return '{"rejected":0}'
        }
        return { status: 202, headers: new Headers(), text } as Response
      },
    })
    sender.record(CALL, {})
    await sender[method]()

    expect(sender.state).toEqual({ recorded: 3, sent: 3, lost: 0, waiting: 0, spooled: 0 })
    expect(problems).toEqual([])
  })

  test('that wait for their answers wake nobody, however soon others are sent', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const sender = senderOf([], { flushEveryMs: 0 })
    const call = { end: () => undefined, watchUnread: vi.fn() }
    sender.opened(call)
    sender.record(CALL, {})
    await vi.advanceTimersByTimeAsync(100)

    expect(sender.state.sent).toBe(1)
    expect(call.watchUnread).toHaveBeenCalledTimes(1)
    sender.ended(call)
  })

  test('that end when there is no more time to send them are lost as those that wait', async () => {
    const sender = senderOf([], { fetch: () => new Promise(() => undefined) })
    sender.record(CALL, {})
    setTimeout(() => sender.later(() => sender.record(CALL, {})), 1)
    await sender.close(1)

    expect(problems).toEqual([{ lost: 2, message: 'the client was closed before the service answered' }])
  })
})

test('lost calls are one line of log in an hour', async () => {
  const warned = vi.spyOn(console, 'warn').mockReturnValue(undefined)
  const clock = vi.spyOn(performance, 'now')
  const sender = senderOf([], { onProblem: undefined })
  await sender.close()
  const lines = [0, 1, 3_599_999, 3_600_000, 7_199_999, 7_200_000].map((elapsedMs) => {
    clock.mockReturnValue(elapsedMs)
    for (let i = 0; i < 3; i++) sender.record(CALL, {})
    return warned.mock.calls.length
  })
  const last = warned.mock.lastCall
  vi.restoreAllMocks()

  expect(lines).toEqual([1, 1, 1, 2, 2, 3])
  expect(last).toEqual(['attribution: the client is closed (16 calls without a record)'])
})

describe('a spool', () => {
  const folderOf = () => {
    const folder = mkdtempSync(join(tmpdir(), 'attribution-spool-'))
    atEnd(() => rmSync(folder, { recursive: true, force: true }))
    return folder
  }
  const away = () => Promise.reject(new TypeError('fetch failed'))

  test('keeps what a closed client could not send, for the next one', async () => {
    const spoolFolder = folderOf()
    const first = senderOf([], { spoolFolder, fetch: away })
    for (let i = 0; i < 3; i++) first.record(CALL, {})
    await Promise.all([first.flush(10), first.close(10)])
    expect(first.state).toMatchObject({ lost: 0, spooled: 3, waiting: 0 })

    const next = senderOf([], { spoolFolder })
    next.record(CALL, {})
    await next.flush()
    expect(requests.map(({ ids }) => ids.length)).toEqual([1, 3])
    expect(readdirSync(spoolFolder)).toEqual([])
  })

  test('is left to the next client once this one is closed, though answers still come', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const spoolFolder = folderOf()
    const fetch = vi.fn<typeof globalThis.fetch>(
      (_, init) => new Promise((_, reject) => init?.signal?.addEventListener('abort', reject)),
    )
    const sender = senderOf([], { spoolFolder, fetch })
    sender.record(CALL, {})
    const closing = sender.close(10)
    await vi.advanceTimersByTimeAsync(10)
    await closing
    sender.answered()
    await vi.advanceTimersByTimeAsync(1_000)

    expect(fetch).toHaveBeenCalledTimes(1)
    expect(readdirSync(spoolFolder)).toEqual([expect.stringMatching(/\.ndjson$/)])
  })

  test('takes what is too much for memory, and gives it back once the service answers', async () => {
    let isAway = true
    const sent: string[] = []
    const sender = senderOf([], {
      spoolFolder: folderOf(),
      queueMax: 600,
      fetch: async (_, init) => {
        if (isAway) throw new TypeError('fetch failed')
        sent.push(...String(init?.body).split('\n'))
        return new Response('{"rejected":0}', { status: 202 })
      },
    })
    for (let i = 0; i < 2_000; i++) sender.record(CALL, {})
    expect(sender.state.waiting).toBeLessThanOrEqual(600)
    isAway = false
    await sender.flush()

    expect(sender.state).toMatchObject({ lost: 0, waiting: 0, sent: 2_000 })
    expect(new Set(sent).size).toBe(2_000)
  })

  test('whose file was taken and could not be sent is written once, with what came since', async () => {
    const spoolFolder = join(folderOf(), 'spool')
    for (let run = 1; run <= 3; run++) {
      const sender = senderOf([], { spoolFolder, fetch: () => new Promise(() => undefined) })
      await sender.flush(10)
      sender.record(CALL, {})
      await sender.close(10)
      const [file, ...others] = readdirSync(spoolFolder)

      expect(others).toEqual([])
      expect(readFileSync(join(spoolFolder, file ?? ''), 'utf8').split('\n')).toHaveLength(run)
      expect(statSync(join(spoolFolder, file ?? '')).mode & 0o777).toBe(0o600)
    }
    expect(statSync(spoolFolder).mode & 0o777).toBe(0o700)
  })

  test('whose folder has gone stops nothing, and a full disk leaves nothing behind', async () => {
    const spoolFolder = folderOf()
    const sender = senderOf([], { spoolFolder, fetch: away })
    sender.record(CALL, {})
    const write = vi.spyOn(fs, 'writeFileSync').mockImplementationOnce((path) => {
      fs.closeSync(fs.openSync(String(path), 'w'))
      throw new Error('ENOSPC')
    })
    await sender.close(10)
    write.mockRestore()
    expect(readdirSync(spoolFolder)).toEqual([])
    expect(sender.state).toMatchObject({ lost: 1, spooled: 0 })

    const next = senderOf([], { spoolFolder })
    rmSync(spoolFolder, { recursive: true })
    next.record(CALL, {})
    await next.flush()
    expect(next.state).toMatchObject({ sent: 1, lost: 0 })
  })

  test('is left out where its folder cannot be made, and calls are lost as without it', async () => {
    const sender = senderOf([], { spoolFolder: '/dev/null/spool', queueMax: 1, fetch: away })
    for (let i = 0; i < 2; i++) sender.record(CALL, {})

    expect(sender.state).toMatchObject({ lost: 1, spooled: 0 })
  })
})
