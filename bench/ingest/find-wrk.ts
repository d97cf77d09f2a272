import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** A wrk that starts. */
export interface Wrk {
  readonly command: string
  readonly env: NodeJS.ProcessEnv
  readonly version: string
}

/** The set-up's way to a Debian package without root (deploy/setup/debian-package.mjs). */
interface DebianPackages {
  readonly fetchDebianPackage: (wanted: { readonly name: string; readonly into: string }) => Promise<string>
}

/**
 * The wrk on PATH, else the one fetched before, else one fetched now from Debian with the library it needs.
 *
 * @param checkout folder of the repository; fetched packages are in its .local/debian
 * @returns undefined, after a line on stderr with the reason, where there is none to be had
 */
export async function ensureWrk(checkout: string): Promise<Wrk | undefined> {
  const into = join(checkout, '.local', 'debian')
  const found = startable('wrk', process.env) ?? fetched(into)
  if (found !== undefined) return found
  try {
    const { fetchDebianPackage } = (await import(
      pathToFileURL(join(checkout, 'deploy', 'setup', 'debian-package.mjs')).href
    )) as DebianPackages
    process.stderr.write('fetching wrk from Debian\n')
    await fetchDebianPackage({ name: 'wrk', into })
    await fetchDebianPackage({ name: LIBRARY, into })
  } catch (cause) {
    process.stderr.write(`wrk cannot be had: ${(cause as Error).message}\n`)
  }
  return fetched(into)
}

const LIBRARY = 'libluajit-5.1-2'

function fetched(into: string): Wrk | undefined {
  const libraries = join(into, LIBRARY, 'usr', 'lib')
  if (!existsSync(libraries)) return undefined
  // usr/lib/<architecture>/libluajit-5.1.so.2
  const folders = readdirSync(libraries).map((architecture) => join(libraries, architecture))
  return startable(join(into, 'wrk', 'usr', 'bin', 'wrk'), { ...process.env, LD_LIBRARY_PATH: folders.join(':') })
}

function startable(command: string, env: NodeJS.ProcessEnv): Wrk | undefined {
  // It prints its version and then its usage, with exit code 1.
  const { stdout } = spawnSync(command, ['-v'], { env, encoding: 'utf8', timeout: 5_000 })
  const version = /^wrk (\S+)/.exec(stdout ?? '')?.[1]
  return version === undefined ? undefined : { command, env, version }
}
