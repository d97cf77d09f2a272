import { execFileSync } from 'node:child_process'
import { afterEach, expect, test } from 'vitest'
import { freePort } from '../../../internal/local/supervisor/supervised-instance.js'
import { START_AGAIN } from '../../../internal/process/exit-codes.js'
import { insertRows } from '../../../internal/store/sink.js'
import { storedRows } from '../../../internal/store/stored-rows.js'
import { ATTRIBUTIONS } from '../../../internal/store/tables/attributions.js'
import { idOf, NOW_MS } from '../../support/invocations.js'
import { launch } from '../../support/processes.js'
import { finishedRow } from '../../support/rows.js'
import {
  launchMigratedStore,
  launchStore,
  type RunningStore,
  STORE_MAIN,
  stopStore,
  storeLaunch,
} from '../../support/store.js'
import { readBooks } from '../../support/usage.js'

/** The embedded engine goes on when a write fails, as if it had not: nothing may be lost by that. */

const ROWS_A_BATCH = 200
/** The files of a batch are larger, the log of its tokens is not. */
const FILE_BYTES_MAX = 4_096

let running: RunningStore | undefined
afterEach(async () => {
  if (running !== undefined) await stopStore(running)
  running = undefined
})

const batch = (index: number) =>
  Array.from({ length: ROWS_A_BATCH }, (_, i) =>
    finishedRow({
      id: idOf(index * ROWS_A_BATCH + i),
      invocation: { eventTimeMs: NOW_MS + index * 1_000, attributedIdentity: `person-${i % 7}`, inputTokens: i },
    }),
  )
const insert = ({ client }: RunningStore, index: number) =>
  insertRows(client, ATTRIBUTIONS, batch(index), `batch ${index}`)

/** From now on, its writes beyond the first kilobytes of a file fail. */
const breakDisk = ({ process }: RunningStore): unknown =>
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${FILE_BYTES_MAX}:`])

/** Once the process has ended by itself: the next one sets parts aside and ends, and the one after that runs. */
async function startAgain({ process, client, dataDir }: RunningStore): Promise<RunningStore> {
  await process.exited
  await client.close()
  expect(process.lines.join('\n')).toMatch(/a write to the disk has failed/)
  const settingAside = launch(STORE_MAIN, storeLaunch(dataDir, await freePort()))
  expect(await settingAside.exited).toMatchObject({ code: START_AGAIN })
  return launchStore({ dataDir })
}

async function expectBatches(store: RunningStore, count: number): Promise<void> {
  const [found] = await storedRows<{ rows: string; ids: string }>(
    store.client,
    'SELECT count() AS rows, uniqExact(id) AS ids FROM attributions',
    {},
  )
  expect(found).toEqual({ rows: String(count * ROWS_A_BATCH), ids: String(count * ROWS_A_BATCH) })
  const { records, rollups } = await readBooks(store.client)
  expect(rollups).toEqual(records)
}

test('an insert whose files are not written to the end is no success, and its repeat is stored once', async () => {
  const broken = await launchMigratedStore()
  await insert(broken, 0)
  breakDisk(broken)
  await expect(insert(broken, 1)).rejects.toThrow()
  // The token counts as used, so a success of the repeat would lose the batch.
  await expect(insert(broken, 1)).rejects.toThrow()

  running = await startAgain(broken)
  const kept = await storedRows<{ name: string }>(
    running.client,
    "SELECT name FROM system.detached_parts WHERE table = 'attributions'",
    {},
  )
  for (const index of [1, 0, 1, 2]) await insert(running, index)

  await expectBatches(running, 3)
  expect(kept.map(({ name }) => name)).toContainEqual(expect.stringMatching(/^unreadable_\d+_\d+_\d+_\d+_0$/))
})

test('what was merged into files that are not written to the end is still there', async () => {
  const broken = await launchMigratedStore()
  for (let index = 0; index < 4; index++) await insert(broken, index)
  breakDisk(broken)
  // The engine counts it as done.
  const merge = broken.client.command({ query: 'OPTIMIZE TABLE attributions FINAL' })
  await merge.catch(() => undefined)

  running = await startAgain(broken)
  await expectBatches(running, 4)
  for (let index = 0; index < 4; index++) await insert(running, index)
  await expectBatches(running, 4)
})

test('a store declares that it is embedded, and keeps 64 MiB of its disk free', async () => {
  running = await launchMigratedStore()
  await insert(running, 0)

  const found = await storedRows<{ macro: string }>(running.client, 'SELECT macro FROM system.macros', {})
  expect(found).toContainEqual({ macro: 'embedded_engine' })
  const disks = await storedRows<{ keep: string }>(
    running.client,
    'SELECT toString(keep_free_space) AS keep FROM system.disks',
    {},
  )
  expect(disks).toEqual([{ keep: String(64 * 1024 ** 2) }])
})
