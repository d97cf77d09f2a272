import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, truncateSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { freePort, openInstance } from '../../../../internal/local/supervisor/supervised-instance.js'

const INSTANCE = fileURLToPath(
  new URL('../../../../dist/internal/local/supervisor/supervised-instance.js', import.meta.url),
)
/**
 * So many of some 22,000 that two who draw as they like have one in common, but for once in a hundred thousand runs.
 */
const DRAWN = 500

const ROOT = fileURLToPath(new URL('../../../../', import.meta.url))
const temporaryFolder = (): string => mkdtempSync(join(tmpdir(), 'attribution-instance-'))

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

describe('the small files of an instance', () => {
  test.each([
    ['master.key', 0, 'is empty, as a power cut or a full disk may have left it: put it back from your copy'],
    ['master.key', 20, 'is damaged'],
    ['secrets.json', 0, 'is empty, as a power cut or a full disk may have left it: remove it; the next start'],
    ['secrets.json', 20, 'is damaged'],
  ])('%s that is cut off after %i bytes is named with what to do, and stays as it is', (name, bytes, message) => {
    const folder = temporaryFolder()
    openInstance(folder, true)
    const file = join(folder, name)
    truncateSync(file, bytes)
    const torn = readFileSync(file, 'utf8')

    expect(() => openInstance(folder, true)).toThrow(`${file} ${message}`)
    expect(readFileSync(file, 'utf8')).toBe(torn)
  })

  test('no new master key is made where the broker has data that the missing one has sealed', () => {
    const folder = temporaryFolder()
    openInstance(folder, true)
    rmSync(join(folder, 'master.key'))
    openInstance(folder, true)
    mkdirSync(join(folder, 'nats', 'data', 'jetstream'), { recursive: true })
    openInstance(folder, true)
    rmSync(join(folder, 'master.key'))

    expect(() => openInstance(folder, true)).toThrow(
      /master\.key is missing, although the instance has data: put it back/,
    )
    expect(() => openInstance(folder, false)).not.toThrow()
  })

  test('all are written by the function that makes them survive a power cut', () => {
    const writes = /\b(?:writeFileSync|renameSync|appendFileSync)\(/
    const sources = ['internal', 'cmd'].flatMap((top) =>
      readdirSync(join(ROOT, top), { recursive: true, encoding: 'utf8' }).map((name) => `${top}/${name}`),
    )
    const others = sources.filter((path) => path.endsWith('.ts') && writes.test(readFileSync(join(ROOT, path), 'utf8')))

    expect(others.sort()).toEqual([
      // Written to where a person asks for it, and to the checkout when it is built.
      'cmd/attribution/directory.ts',
      'cmd/gateway/api-types.ts',
      'internal/process/durable-files.ts',
      // Of the package for callers' own processes, which has no other module of ours.
      'internal/sdk/spool.ts',
      // The engine's configuration, written anew at each start.
      'internal/store/engine/engine.ts',
      // Of the engine's own files, and synced.
      'internal/store/engine/lost-parts.ts',
    ])
  })
})
