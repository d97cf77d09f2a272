/**
 * The builds of uWebSockets.js, the parser and server of HTTP, the newest that this process can load, and Node's own
 * server in their form.
 *
 * A build is native code for some versions of Node and of the C library, so that no one of them runs everywhere. Where
 * they come from is in `SECURITY.md`; how they differ, in `deploy/decisions/http-parser.md`.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { ConfigError } from '../config/settings.js'
import { nodeHttp } from './node-http.js'

export interface Build {
  readonly name: 'upstream' | '20.57' | '20.30' | 'node'
  readonly version: string
  readonly uws: typeof import('uWebSockets.js')
}

interface Source {
  readonly name: Exclude<Build['name'], 'node'>
  /** The folder in node_modules. */
  readonly folder: string
  /** The name in its package.json. An official release and 20.30 are installed in the same folder. */
  readonly packageName: string
  /** Below the folder. */
  readonly binaries: string
  /** Closes the connection without an answer at what it cannot read, such as a header name with `_`, which is legal. */
  readonly isSilent?: true
}

/** Newest first. */
const SOURCES: readonly Source[] = [
  { name: 'upstream', folder: 'uWebSockets.js', packageName: 'uWebSockets.js', binaries: '.' },
  {
    name: '20.57',
    folder: '@btc-vision/uwebsockets.js',
    packageName: '@btc-vision/uwebsockets.js',
    binaries: '.',
  },
  {
    name: '20.30',
    folder: 'uWebSockets.js',
    packageName: '@trufflesuite/uws-js-unofficial',
    binaries: 'binaries',
    isSilent: true,
  },
]

/**
 * To be set in the environment before a build is loaded, whose native code reads it: the most bytes of request line and
 * header fields. The default of newer builds, 4096, is too little for a token and a long filter.
 */
export const PARSER_ENVIRONMENT = { UWS_HTTP_MAX_HEADERS_SIZE: '16384' }

const require = createRequire(import.meta.url)

/** @returns the build, or why it cannot be used here */
function load({ name, folder, packageName, binaries }: Source): Build | string {
  const found = (require.resolve.paths(folder) ?? [])
    .map((path) => join(path, folder))
    .find((path) => existsSync(join(path, 'package.json')))
  if (found === undefined) return 'is not installed'
  const manifest = JSON.parse(readFileSync(join(found, 'package.json'), 'utf8')) as { name: string; version: string }
  if (manifest.name !== packageName) return 'is not installed'
  // The packages' own main modules would load the same file; that of 20.30 falls back to a server in JavaScript, which
  // is untested.
  const file = join(found, binaries, `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`)
  if (!existsSync(file)) return `has no binary for Node ${process.versions.node} on ${process.platform} ${process.arch}`
  try {
    const uws = require(file) as Build['uws']
    // Leaves out the header `uWebSockets`, which tells the parser of each answer.
    uws._cfg('silent')
    return { name, version: manifest.version, uws }
  } catch (cause) {
    const { message } = cause as Error
    const glibc = /version `GLIBC_(\S+)' not found/.exec(message)?.[1]
    return glibc === undefined ? `does not load (${message.split('\n')[0]})` : `needs glibc ${glibc} or newer`
  }
}

const NODE: Build = { name: 'node', version: process.versions.node, uws: nodeHttp as never }

/** Every build that loads here, newest first. A process serves with one of them; tests serve with each. */
export const loadableBuilds = (): Build[] => [...SOURCES.map(load).filter((loaded) => typeof loaded !== 'string'), NODE]

/**
 * @param parser `auto`: the newest build that answers every request, which Node's own server does everywhere
 * @throws ConfigError as `newestBuild`
 */
export function buildOf(parser: 'auto' | 'uws' | 'node'): Build {
  if (parser === 'node') return NODE
  if (parser === 'uws') return newestBuild()
  answering ??=
    SOURCES.filter(({ isSilent }) => isSilent !== true)
      .map(load)
      .find((loaded) => typeof loaded !== 'string') ?? NODE
  return answering
}

let answering: Build | undefined
let newest: Build | undefined

/** @throws ConfigError that says for each build why it does not run here */
export function newestBuild(): Build {
  if (newest !== undefined) return newest
  const reasons: string[] = []
  for (const source of SOURCES) {
    const loaded = load(source)
    if (typeof loaded !== 'string') {
      newest = loaded
      return loaded
    }
    reasons.push(`${source.name} ${loaded}`)
  }
  throw new ConfigError(
    `no build of uWebSockets.js runs here: ${reasons.join('; ')}. Set --http-parser auto, or use Node 22 or 24 on a system with glibc ` +
      '2.38 or newer (Debian 13, Ubuntu 24.04), Node 20 on any with glibc, or install an official release ' +
      '(deploy/docs/operating.md)',
  )
}

/** For a log line or a terminal. */
export const describeBuild = ({ name, version }: Build): string =>
  name === 'node' ? `Node ${version}` : `uWebSockets.js ${name === 'upstream' ? `${version} (upstream)` : name}`
