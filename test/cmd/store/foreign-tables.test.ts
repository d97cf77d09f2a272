import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { launch } from '../../support/processes.js'
import { launchStore, STORE_MAIN, stopStore, storeLaunch } from '../../support/store.js'

test.each([
  ['an engine', "(x String) ENGINE = File(LineAsString, '/etc/hostname')", 'planted has the engine File'],
  ['a column', "(a UInt8, x String ALIAS file('/etc/hostname')) ENGINE = MergeTree ORDER BY a", 'planted calls file'],
])('a store does not serve with a table in its folder that reads files by %s', async (_, table, why) => {
  const planted = await launchStore()
  await stopStore(planted)
  const tables = join(planted.dataDir, 'store', 'data', 'metadata', 'attribution')
  const uuid = '11111111-2222-4333-8444-555555555555'
  await writeFile(join(tables, 'planted.sql'), `ATTACH TABLE _ UUID '${uuid}' ${table}\n`)

  const { args, env } = storeLaunch(planted.dataDir, planted.port)
  const refused = launch(STORE_MAIN, { args, env })

  expect(await refused.exited).toEqual({ code: 1, signal: null })
  expect(refused.lines.join('\n')).toContain(`attribution.${why}`)
})
