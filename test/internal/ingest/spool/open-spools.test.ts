import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adoptOrphans } from '../../../../internal/ingest/spool/open-spools.js'
import { launch } from '../../../support/processes.js'
import { drained, open, temporaryFolder, upTo } from '../../../support/spool.js'
import { recordOf } from '../../../support/spool-records.js'

const SCRIPT = 'dist/test/support/spool-process.js'
const settings = { bytesMax: 1024 ** 3, segmentBytes: 20_000, onIncident: () => undefined }

test('spools of dead gateways are adopted, delivered and removed; living gateways keep theirs', async () => {
  const parent = await temporaryFolder()
  const dead = ['one', 'two'].map((name) => launch(SCRIPT, { args: ['write', join(parent, name)] }))
  for (const gateway of dead) await gateway.line(/^stored 30$/)
  for (const gateway of dead) await gateway.kill('SIGKILL')
  const living = launch(SCRIPT, { args: ['hold', join(parent, 'living')] })
  await living.line(/^open$/)
  const own = await open(join(parent, 'own'))
  await own.spool.append([recordOf(0)])

  const { spools, failures } = await adoptOrphans(parent, settings)

  expect(failures).toEqual([])
  expect(spools.map(({ folder }) => folder).sort()).toEqual([join(parent, 'one'), join(parent, 'two')])
  for (const spool of spools) {
    const numbers = await drained(spool)
    expect(numbers).toEqual(upTo(numbers.length))
    expect(numbers.length).toBeGreaterThan(30)
    await spool.close()
  }
  expect((await readdir(parent)).sort()).toEqual(['living', 'own'])
  await living.kill('SIGKILL')
})

test('each orphan goes to one of those who ask at once', async () => {
  const parent = await temporaryFolder()
  for (const name of ['a', 'b', 'c']) {
    const { spool } = await open(join(parent, name))
    await spool.append([recordOf(1)])
    await spool.close()
  }

  const rounds = await Promise.all(upTo(4).map(() => adoptOrphans(parent, settings)))

  const folders = rounds.flatMap(({ spools }) => spools.map(({ folder }) => folder))
  expect(new Set(folders).size).toBe(folders.length)
  for (const { spools } of rounds) for (const spool of spools) await spool.close()
})

test('no folder yet is no orphan, and a file is none', async () => {
  const parent = await temporaryFolder()
  await writeFile(join(parent, 'file'), '')

  expect(await adoptOrphans(join(parent, 'none'), settings)).toEqual({ spools: [], failures: [] })
  expect(await adoptOrphans(parent, settings)).toEqual({ spools: [], failures: [] })
})
