import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openInstance } from '../../../../internal/local/supervisor/supervised-instance.js'
import { watchDependencies } from '../../../../internal/local/supervisor/watch-dependencies.js'
import { launchBroker } from '../../../support/broker.js'
import { freeze, thaw } from '../../../support/freeze.js'

const folder = mkdtempSync(join(tmpdir(), 'attribution-watch-'))
afterAll(() => rmSync(folder, { recursive: true }))

test('a broker that hangs is named with its process, once, and so is its return', async () => {
  const broker = await launchBroker()
  const pid = broker.pid()
  const { files } = openInstance(folder, false)
  const printed: string[] = []
  const nats = { url: broker.url, user: '', password: '', ownPort: broker.port }
  const store = { url: '', password: '', ownPort: undefined }
  const watching = watchDependencies(files, { nats, store }, (line) => printed.push(line), 50)
  try {
    await freeze(pid)
    await expect.poll(() => printed).toEqual([expect.stringContaining('nats-server does not answer')])
    thaw(pid)
    await expect.poll(() => printed[1]).toBe('nats-server answers again')
    expect(printed).toHaveLength(2)
  } finally {
    thaw(pid)
    watching.stop()
  }
})
