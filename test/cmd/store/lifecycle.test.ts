import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, truncateSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test } from 'vitest'
import { freePort } from '../../../internal/local/supervisor/supervised-instance.js'
import { START_AGAIN } from '../../../internal/process/exit-codes.js'
import { launch } from '../../support/processes.js'
import { someOf } from '../../support/run/rings.js'
import {
  launchStore,
  privateFolder,
  type RunningStore,
  STORE_MAIN,
  stopStore,
  storeLaunch,
} from '../../support/store.js'

const folders: string[] = []
const folder = (): string => {
  const made = privateFolder()
  folders.push(made)
  return made
}

afterEach(async () => {
  for (const made of folders.splice(0)) await rm(made, { recursive: true, force: true })
})

const isServed = async (port: number): Promise<boolean> => {
  try {
    return (await fetch(`http://127.0.0.1:${port}/ping`, { headers: { connection: 'close' } })).ok
  } catch {
    return false
  }
}

const count = async (store: RunningStore): Promise<unknown> => {
  const query = 'SELECT count() AS total, uniqExact(batch, n) AS distinct FROM events'
  const [found] = await (await store.client.query({ query, format: 'JSONEachRow' })).json<unknown>()
  return found
}

const BATCH_ROWS = 5_000

/** One of the two partitions that a batch touches is odd, one even: it is written as two parts. */
const insert = (store: RunningStore, batch: number) =>
  store.client.insert({
    table: 'events',
    values: Array.from({ length: BATCH_ROWS }, (_, n) => ({ batch, n })),
    format: 'JSONEachRow',
    clickhouse_settings: { insert_deduplication_token: `batch-${batch}` },
  })

const createEvents = (store: RunningStore) =>
  store.client.command({
    query: `CREATE TABLE events (batch UInt32, n UInt32) ENGINE = MergeTree ORDER BY (batch, n) PARTITION BY n % 2
      SETTINGS non_replicated_deduplication_window = 1000`,
  })

test.each(['stdin ends', 'SIGTERM', 'SIGINT'] as const)('the store stops cleanly when %s', async (reason) => {
  const store = await launchStore({ dataDir: folder() })
  await store.client.close()

  const exit = reason === 'stdin ends' ? await store.process.endStdin() : await store.process.kill(reason)

  expect(exit).toEqual({ code: 0, signal: null })
  expect(store.process.lines).toEqual([`store ready on 127.0.0.1:${store.port}`])
  expect(await isServed(store.port)).toBe(false)
})

test('a stop request before the store is ready stops it', async () => {
  const early = launch(STORE_MAIN, storeLaunch(folder(), await freePort()))

  const exit = await early.endStdin()

  expect(exit).toEqual({ code: 0, signal: null })
})

test('inserted rows are still there after a restart of the store', async () => {
  const dataDir = folder()
  const first = await launchStore({ dataDir })
  await createEvents(first)
  await insert(first, 1)
  await stopStore(first)

  const second = await launchStore({ dataDir, port: first.port })

  expect(await count(second)).toEqual({ total: String(BATCH_ROWS), distinct: String(BATCH_ROWS) })
  await stopStore(second)
})

test('a store whose parent is killed exits by itself', async () => {
  const port = await freePort()
  const home = folder()
  const script = join(home, 'parent.mjs')
  const { args, env } = storeLaunch(join(home, 'data'), port)
  await writeFile(
    script,
    `import { spawn } from 'node:child_process'
     spawn(process.execPath, ${JSON.stringify([STORE_MAIN, ...args])}, { stdio: ['pipe', 'inherit', 'inherit'] })
     setInterval(() => undefined, 1_000_000)`,
  )
  const parent = launch(script, { env })
  await parent.line(/^store ready on /)

  // The store writes to the parent's own streams, so that these end only when both have ended.
  const exit = await parent.kill('SIGKILL')

  expect(exit).toEqual({ code: null, signal: 'SIGKILL' })
  expect(await isServed(port)).toBe(false)
})

test('a store whose parent is killed and whose folder is removed exits by itself', async () => {
  const store = await launchStore({ dataDir: folder() })
  await createEvents(store)
  await insert(store, 1)
  await rm(store.dataDir, { recursive: true })
  await store.client.close()

  await store.process.endStdin()

  expect(await isServed(store.port)).toBe(false)
})

test('a store whose parent no longer reads its output stops cleanly', async () => {
  const port = await freePort()
  const { args, env } = storeLaunch(folder(), port)
  const deaf = spawn(process.execPath, [STORE_MAIN, ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  deaf.stdout.destroy()
  deaf.stderr.destroy()
  while (!(await isServed(port))) await sleep(10)

  deaf.stdin.end()
  const [code, signal] = await once(deaf, 'exit')

  expect([code, signal]).toEqual([0, null])
  expect(await isServed(port)).toBe(false)
})

test('a store that cannot read parts of many tables asks to be started again, and then serves', async () => {
  const dataDir = folder()
  const first = await launchStore({ dataDir })
  for (let table = 0; table < 30; table++) {
    await first.client.command({ query: `CREATE TABLE part_of_${table} (n UInt32) ENGINE = MergeTree ORDER BY n` })
    await first.client.command({ query: `INSERT INTO part_of_${table} VALUES (1)` })
  }
  await stopStore(first)
  const columns = join(dataDir, 'store', 'data', 'store')
  for (const path of readdirSync(columns, { recursive: true, encoding: 'utf8' })) {
    if (path.endsWith('all_1_1_0/columns.txt')) truncateSync(join(columns, path))
  }

  const second = launch(STORE_MAIN, storeLaunch(dataDir, first.port))

  expect(await second.exited).toEqual({ code: START_AGAIN, signal: null })
  await stopStore(await launchStore({ dataDir, port: first.port }))
})

test('a kill during inserts neither loses nor duplicates rows', async () => {
  const dataDir = folder()
  let store = await launchStore({ dataDir })
  await createEvents(store)
  let batch = 0

  // Each time the kill meets another moment of the insert: none acknowledged yet, then after 2, 4 and 6 batches.
  for (const batches of someOf([0, 2, 4, 6])) {
    for (let acknowledged = 0; acknowledged < batches; acknowledged++) await insert(store, batch++)
    const unanswered = insert(store, batch).catch(() => undefined)
    await store.process.kill('SIGKILL')
    await unanswered
    await store.client.close()

    store = await launchStore({ dataDir })
    await insert(store, batch++)
    await insert(store, Math.max(0, batch - 3)) // acknowledged long ago: a retry too many
  }

  const rows = String(batch * BATCH_ROWS)
  expect(await count(store)).toEqual({ total: rows, distinct: rows })
  await stopStore(store)
})

test('a store on an occupied port exits with one clear line', async () => {
  const port = await freePort()
  const stranger = createServer((socket) => socket.destroy())
  await new Promise<void>((listening) => stranger.listen(port, '127.0.0.1', listening))

  const refused = launch(STORE_MAIN, storeLaunch(folder(), port))

  expect(await refused.exited).toEqual({ code: 1, signal: null })
  expect(refused.lines).toEqual([
    `store: cannot listen on 127.0.0.1:${port}: taken (ClickHouse code 210); choose another with --store-port`,
  ])
  stranger.close()
})

test('a store on a folder in use exits with one clear line, and the other engine continues', async () => {
  const first = await launchStore({ dataDir: folder() })
  const { args } = storeLaunch(first.dataDir, await freePort())

  const refused = launch(STORE_MAIN, { args, env: { ATTRIBUTION_STORE_PASSWORD: 'another' } })

  expect(await refused.exited).toEqual({ code: 1, signal: null })
  expect(refused.lines).toEqual([
    `store: the folder ${join(first.dataDir, 'store')} is in use by another engine; stop it or choose another ` +
      'with --data-dir',
  ])
  expect(await first.client.ping({ select: true })).toEqual({ success: true })
  await stopStore(first)
})

test('a store whose folder cannot be created exits with one clear line', async () => {
  const home = folder()
  await writeFile(join(home, 'file'), '')

  const refused = launch(STORE_MAIN, storeLaunch(join(home, 'file'), await freePort()))

  expect(await refused.exited).toEqual({ code: 1, signal: null })
  expect(refused.lines).toEqual([
    `store: the folder ${join(home, 'file', 'store')} cannot be written (ENOTDIR); choose another with --data-dir`,
  ])
})

test('a store on a platform without the engine exits with one clear line', async () => {
  const home = folder()
  await mkdir(join(home, 'empty'))
  const { args, env } = storeLaunch(home, await freePort())

  const refused = launch(STORE_MAIN, { args, env: { ...env, CHDB_LIBCHDB_DIR: join(home, 'empty') } })

  expect(await refused.exited).toEqual({ code: 1, signal: null })
  expect(refused.lines).toEqual([
    `store: no embedded engine for ${process.platform}-${process.arch}: the optional package chdb is not ` +
      'installed; point --store-url at a ClickHouse server instead',
  ])
})
