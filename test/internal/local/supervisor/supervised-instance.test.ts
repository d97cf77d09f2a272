import { execFile } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { freePort } from '../../../../internal/local/supervisor/supervised-instance.js'

const INSTANCE = fileURLToPath(
  new URL('../../../../dist/internal/local/supervisor/supervised-instance.js', import.meta.url),
)
/**
 * So many of some 22,000 that two who draw as they like have one in common, but for once in a hundred thousand runs.
 */
const DRAWN = 500

const draw = async (): Promise<number[]> => {
  const ports: number[] = []
  while (ports.length < DRAWN) ports.push(await freePort())
  return ports
}

describe('a free port', () => {
  test('a free port is reserved while its process lives, whether or not the process listens', async () => {
    const mine = await draw()
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--input-type=module',
      '--eval',
      `import { freePort } from ${JSON.stringify(INSTANCE)}
      const ports = []
      while (ports.length < ${DRAWN}) ports.push(await freePort())
      console.log(JSON.stringify(ports))`,
    ])
    const theirs: number[] = JSON.parse(stdout)

    expect(theirs.length).toBe(DRAWN)
    expect(new Set([...mine, ...theirs]).size).toBe(2 * DRAWN)
  })

  test('a free port can be listened on repeatedly', async () => {
    const port = await freePort()
    for (const _ of [1, 2]) {
      const server = createServer()
      await new Promise<void>((resolve, reject) => server.once('error', reject).listen(port, '127.0.0.1', resolve))
      await new Promise((resolve) => server.close(resolve))
    }
  })
})
