import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { localFiles } from '../internal/ingest/spool/files.js'
import { temporaryFolder } from './support/spool.js'

/** Who pays for what is nobody else's to read: each file and folder that the product writes is its user's alone. */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const sourcesOf = (folder: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => `${folder}/${name}`)

/** Functions of Node that may make a file or folder. Copies keep the mode of what they copy; `mkdtemp` makes 0700. */
const MAKES = ['mkdir', 'mkdirSync', 'open', 'openSync', 'writeFile', 'writeFileSync', 'createWriteStream']
/** Makes nothing: reads, or writes what is there. */
const READS = /^\(\w+(?:: string|\(\w+\))?(?:, 'r\+?')?\)$/

/** @returns the calls in a source that may make a file and do not say for whom */
function openToAll(source: string): string[] {
  const imported = [...source.matchAll(/import \{([^}]*)\} from 'node:fs(?:\/promises)?'/g)]
    .flatMap(([, names = '']) => names.split(','))
    .map((name) => name.trim())
  const calls = MAKES.filter((name) => imported.includes(name)).flatMap((name) =>
    [...source.matchAll(new RegExp(`(?<![.\\w])${name}(?=\\()`, 'g'))].map(
      ({ index }) => [name, argumentsAt(source, index + name.length)] as const,
    ),
  )
  return calls
    .filter(([name, given]) => !/0o[67]00/.test(given) && !(name.startsWith('open') && READS.test(given)))
    .map(([name, given]) => `${name}${given}`)
}

function argumentsAt(source: string, at: number): string {
  for (let depth = 0, end = at; end < source.length; end++) {
    if (source[end] === '(') depth++
    if (source[end] === ')' && --depth === 0) return source.slice(at, end + 1)
  }
  return source.slice(at)
}

describe('files and folders', () => {
  test('each call that may make one says that it is for its user alone', () => {
    const found = [...sourcesOf('internal'), ...sourcesOf('cmd')].flatMap((path) =>
      openToAll(readFileSync(join(ROOT, path), 'utf8')).map((call) => `${path}: ${call}`),
    )

    expect(found.sort()).toEqual([
      // Of the checkout, when it is built.
      'cmd/gateway/api-types.ts: mkdirSync(dirname(file), { recursive: true })',
      'cmd/gateway/api-types.ts: writeFileSync(file, typesOf(components.schemas))',
      // Opened as 0600 some lines above.
      'internal/process/durable-files.ts: writeFileSync(descriptor, make())',
    ])
  })

  test('calls without a mode are found', () => {
    const source = `import { mkdirSync, openSync } from 'node:fs'
      mkdirSync(folder, { recursive: true })
      openSync(join(folder, 'lock'), 'w')
      openSync(file, 'r')
      openSync(file, 'a', 0o600)`

    expect(openToAll(source)).toEqual(['mkdirSync(folder, { recursive: true })', "openSync(join(folder, 'lock'), 'w')"])
  })

  test('each process keeps what its libraries and children write for its user', () => {
    const mains = readdirSync(join(ROOT, 'cmd'), { withFileTypes: true }).filter((each) => each.isDirectory())
    const open = mains.filter(
      ({ name }) => !/^\s*(runMain|keepFilesPrivate)\(/m.test(readFileSync(join(ROOT, 'cmd', name, 'main.ts'), 'utf8')),
    )

    expect(open.map(({ name }) => name)).toEqual([])
  })
})

describe('the spool', () => {
  test.each([
    ['a new folder', false],
    ['one that an older version left', true],
  ])('%s and its files are private, whatever the umask', async (_, isThere) => {
    const folder = join(await temporaryFolder(), 'gateway')
    if (isThere) mkdirSync(folder, { mode: 0o755 })

    await localFiles.makeFolder(folder)
    const file = join(folder, 'segment')
    await (await localFiles.create(file)).close()

    const modes = [folder, file].map((path) => statSync(path).mode & 0o777)
    expect(modes).toEqual([0o700, 0o600])
  })
})
