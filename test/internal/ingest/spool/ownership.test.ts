import { mkdir, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { claimFolder } from '../../../../internal/ingest/spool/ownership.js'
import { freeze } from '../../../support/freeze.js'
import { launch } from '../../../support/processes.js'
import { temporaryFolder } from '../../../support/spool.js'

const SCRIPT = 'dist/test/support/spool-process.js'

async function claimed(folder: string): Promise<() => Promise<void>> {
  const claim = await claimFolder(folder)
  if (claim.kind !== 'owned') throw new Error(`the folder is ${claim.kind}`)
  return claim.release
}

test('a folder has one owner, until it is released', async () => {
  const folder = await temporaryFolder()
  const release = await claimed(folder)

  expect(await claimFolder(folder)).toEqual({ kind: 'taken', pid: process.pid })
  await release()

  expect(await readdir(folder)).toEqual([])
  await (await claimed(folder))()
})

test("another process's folder is taken, and falls free with its death", async () => {
  const folder = await temporaryFolder()
  const holder = launch(SCRIPT, { args: ['hold', folder] })
  await holder.line(/^open$/)

  expect(await claimFolder(folder)).toEqual({ kind: 'taken', pid: holder.pid })
  await holder.kill('SIGKILL')

  const release = await claimed(folder)
  expect((await readdir(folder)).filter((name) => name.startsWith('owner.'))).toEqual([
    expect.stringContaining(`owner.2.${process.pid}.`),
  ])
  await release()
})

test('a process that is stopped, not dead, keeps its folder', async () => {
  const folder = await temporaryFolder()
  const holder = launch(SCRIPT, { args: ['hold', folder] })
  await holder.line(/^open$/)
  await freeze(holder.pid)

  expect(await claimFolder(folder)).toEqual({ kind: 'taken', pid: holder.pid })

  await holder.kill('SIGKILL')
})

test('of many that claim an abandoned folder at once at most one gets it', async () => {
  const folder = await temporaryFolder()
  const holder = launch(SCRIPT, { args: ['hold', folder] })
  await holder.line(/^open$/)
  await holder.kill('SIGKILL')

  for (let round = 0; round < 30; round++) {
    const claims = await Promise.all(Array.from({ length: 8 }, () => claimFolder(folder)))
    const owned = claims.filter((claim) => claim.kind === 'owned')

    expect(owned.length).toBeLessThanOrEqual(1)
    expect(claims.filter(({ kind }) => kind === 'failed')).toEqual([])
    for (const claim of owned) await claim.release()
  }
  await (await claimed(folder))()
})

test('the folder may have a longer path than a socket may', async () => {
  const folder = join(await temporaryFolder(), 'x'.repeat(200))
  await mkdir(folder)
  const release = await claimed(folder)

  expect(await claimFolder(folder)).toEqual({ kind: 'taken', pid: process.pid })
  await release()

  expect(await readdir(folder)).toEqual([])
})

test('a folder that is not there is a failure', async () => {
  const claim = await claimFolder(join(await temporaryFolder(), 'none'))

  expect(claim).toMatchObject({ kind: 'failed', error: { code: 'ENOENT' } })
})
