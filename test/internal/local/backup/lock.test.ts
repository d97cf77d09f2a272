import { mkdtempSync, rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { directoryBlobs } from '../../../../internal/exports/blobs/directory.js'
import { withLock } from '../../../../internal/local/backup/lock.js'
import { once } from '../../../../internal/local/backup/repository.js'

const folder = mkdtempSync(join(tmpdir(), 'attribution-lock-'))
afterAll(() => rmSync(folder, { recursive: true }))

let places = 0
const place = () => directoryBlobs(join(folder, String(++places)), null)
const KEY = 'backup-lock/holder.json'
const NOW = new Date().toISOString()
const LONG_AGO = '2026-01-01T00:00:00Z'
/** Never the id of a process. */
const DEAD = 2 ** 22 + 1

const heldBy = async (holder: object) => {
  const blobs = place()
  await blobs.create(KEY, Buffer.from(JSON.stringify({ token: 'other', since: NOW, ...holder })))
  return blobs
}

test('work under the lock is done one at a time; the lock is free afterwards, also after a failure', async () => {
  const blobs = place()
  const refused = await withLock(blobs, () =>
    withLock(blobs, async () => 'both').catch((cause: Error) => cause.message),
  )
  expect(refused).toContain(`process ${process.pid} on ${hostname()} has made a backup since`)

  const failing = withLock(blobs, () => Promise.reject(new Error('the disk is full')))
  await expect(failing).rejects.toThrow('the disk is full')
  expect(await withLock(blobs, async () => 'again')).toBe('again')
})

test.each([
  ['of a process that has died on this machine', { host: hostname(), pid: DEAD, renewed_at: NOW }, true],
  ['of a living process on this machine', { host: hostname(), pid: process.pid, renewed_at: NOW }, false],
  ['of another machine that renews it', { host: 'elsewhere', pid: DEAD, renewed_at: NOW }, false],
  ['of another machine that has not renewed it for long', { host: 'elsewhere', pid: 1, renewed_at: LONG_AGO }, true],
])('a lock %s', async (_, holder, isTaken) => {
  const taking = withLock(await heldBy(holder), async () => true).catch(() => false)
  expect(await taking).toBe(isTaken)
})

test('a holder whose lock was taken over finds that out, and leaves the lock of the other', async () => {
  const blobs = place()
  const working = withLock(blobs, async (assertHeld) => {
    await assertHeld()
    await blobs.removeUnder('backup-lock/')
    await blobs.create(KEY, Buffer.from(JSON.stringify({ token: 'other' })))
    await assertHeld()
  })

  await expect(working).rejects.toThrow('has taken over this place of backups')
  expect(await blobs.size(KEY)).toBeDefined()
})

test('on a store that ignores conditional writes, a backup that is under way still refuses another', async () => {
  const blobs = place()
  const unconditional: typeof blobs = {
    ...blobs,
    create: async (key, bytes) => {
      await blobs.write(key, once(bytes))
      return true
    },
  }
  const refused = await withLock(unconditional, () =>
    withLock(unconditional, async () => 'both').catch((cause: Error) => cause.message),
  )
  expect(refused).toContain('make one at a time')
})
