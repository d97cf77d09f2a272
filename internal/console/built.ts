import { readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'

/** The console as `deploy/setup/console.mjs` has built it: a document, and files whose names have a hash. */
export interface BuiltConsole {
  readonly document: string
  readonly files: ReadonlyMap<string, ConsoleFile>
}

interface ConsoleFile {
  readonly contentType: string
  /** By Content-Encoding. */
  readonly bodies: Readonly<Record<Encoding, Buffer>>
}

/** In the order in which they are preferred. */
const ENCODINGS = ['br', 'gzip', 'identity'] as const
export type Encoding = (typeof ENCODINGS)[number]
const SUFFIX: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz', identity: '' }

const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** @param folder `dist/console` @throws when the set-up has not built it */
export function readBuiltConsole(folder: string): BuiltConsole {
  const assets = join(folder, 'assets')
  const files = new Map<string, ConsoleFile>()
  for (const name of readdirSync(assets)) {
    const contentType = TYPES[extname(name)]
    if (contentType === undefined) continue
    const body = (encoding: Encoding): Buffer => readFileSync(join(assets, name + SUFFIX[encoding]))
    files.set(name, { contentType, bodies: { br: body('br'), gzip: body('gzip'), identity: body('identity') } })
  }
  return { document: readFileSync(join(folder, 'index.html'), 'utf8'), files }
}

/** The best encoding that the header accepts by name; a client that accepts any gets the plain file. */
export function encodingFor(acceptEncoding: string): Encoding {
  const accepted = acceptEncoding
    .split(',')
    .map((part) => part.trim().toLowerCase())
    .filter((part) => !/;\s*q=0(\.0*)?$/.test(part))
    .map((part) => part.split(';')[0]?.trim())
  return ENCODINGS.find((encoding) => accepted.includes(encoding)) ?? 'identity'
}
