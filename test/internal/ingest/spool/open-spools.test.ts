import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adoptOrphans, openSpools } from '../../../../internal/ingest/spool/open-spools.js'
import { createLog } from '../../../../internal/telemetry/log.js'
import { METRICS, readAll } from '../../../../internal/telemetry/metrics.js'
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

test('what waits on the disk is measured with what dead gateways have left, until that is delivered', async () => {
  const dataDir = await temporaryFolder()
  const folder = join(dataDir, 'spool')
  await mkdir(folder)
  const { spool: dead } = await open(join(folder, 'dead'))
  await dead.append([recordOf(0), recordOf(1)])
  await dead.close()
  const measured = async (name: string) => {
    await readAll((cause) => {
      throw cause
    })
    return (await METRICS.getMetricsAsJSON()).find((metric) => metric.name === name)?.values[0]?.value
  }
  const log = createLog('test', 'silent')

  const spools = await openSpools({ dataDir, spoolBytesMax: 2 ** 20, gatewayName: 'gw', log })
  const [orphan] = spools.orphans
  if (orphan === undefined) throw new Error('the spool of the dead gateway was not adopted')
  await spools.spool.append([recordOf(2)])
  await spools.keySpool.append([recordOf(3)])

  expect(await measured('attribution_spool_records')).toBe(4)
  const { spool, keySpool } = spools
  expect(await measured('attribution_spool_bytes')).toBe(spool.bytes + keySpool.bytes + orphan.bytes)
  expect(await drained(orphan)).toEqual([0, 1])
  await orphan.close()
  expect(await measured('attribution_spool_records')).toBe(2)
  expect(await measured('attribution_spool_bytes')).toBe(spool.bytes + keySpool.bytes)
  for (const each of [spool, keySpool]) await each.close()
})
