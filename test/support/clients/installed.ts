import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { run } from './run.js'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const DRIVERS = join(ROOT, 'test', 'clients', 'live')

/** Where clients are installed and driven, or why they cannot be. */
export type Installed = { readonly path: string } | { readonly reason: string }

const MINUTES_MAX = 10

/** What pins a set, and how it is installed from there. */
const INSTALLERS: Readonly<Record<string, (source: string, folder: string) => Promise<string | undefined>>> = {
  'package-lock.json': installNpm,
  'requirements.txt': installPython,
  'go.sum': buildGo,
  'pom.xml': installMaven,
}

/**
 * Installs a set of clients at the versions that are pinned beside their drivers, once: the folder is named by the pins.
 *
 * @param set a folder of `drivers` with a `package-lock.json`, `requirements.txt`
 *   (and `.python-version`), `go.sum` or `pom.xml`
 */
export async function installed(set: string, drivers = DRIVERS): Promise<Installed> {
  const source = join(drivers, set)
  const pins = Object.keys(INSTALLERS).find((file) => existsSync(join(source, file)))
  if (pins === undefined) throw new Error(`${set} pins nothing`)
  const hash = createHash('sha256')
  // A Go program is built with what it imports.
  for (const file of readdirSync(source).sort())
    if (file === pins || file.endsWith('.go')) hash.update(readFileSync(join(source, file)))
  const folder = join(ROOT, '.local', 'clients', `${set.replaceAll('/', '-')}-${hash.digest('hex').slice(0, 12)}`)
  const begun = `${folder}.part`
  if (!existsSync(folder)) {
    rmSync(begun, { recursive: true, force: true })
    mkdirSync(begun, { recursive: true })
    const failed = await INSTALLERS[pins]?.(source, begun)
    if (failed !== undefined) return { reason: failed }
    renameSync(begun, folder)
  }
  for (const file of readdirSync(source)) copyFileSync(join(source, file), join(folder, file))
  return { path: folder }
}

async function installNpm(source: string, folder: string): Promise<string | undefined> {
  for (const file of ['package.json', 'package-lock.json']) copyFileSync(join(source, file), join(folder, file))
  const { code, output } = await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    minutesMax: MINUTES_MAX,
  })
  return code === 0 ? undefined : `npm installs no clients: ${lastLine(output)}`
}

/** The interpreter's path stands in the environment's own files: it is made below its final name's parent. */
async function installPython(source: string, folder: string): Promise<string | undefined> {
  // pyenv reads this file, too, where the program runs.
  const stated = join(source, '.python-version')
  const version = existsSync(stated) ? readFileSync(stated, 'utf8').trim() : '3'
  if (existsSync(stated)) copyFileSync(stated, join(folder, '.python-version'))
  const args = ['-m', 'venv', '--copies', join(folder, 'venv')]
  const made = await run(`python${version}`, args, { cwd: folder, minutesMax: 2 })
  if (made.code !== 0) return `there is no Python ${version} with venv: ${lastLine(made.output)}`
  writeFileSync(join(folder, 'requirements.txt'), readFileSync(join(source, 'requirements.txt')))
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '-r', 'requirements.txt']
  const { code, output } = await run(join(folder, 'venv', 'bin', 'python'), pip, {
    cwd: folder,
    minutesMax: MINUTES_MAX,
  })
  return code === 0 ? undefined : `pip installs no clients: ${lastLine(output)}`
}

/** The modules come from Go's own cache; the program is `./program`. */
async function buildGo(source: string, folder: string): Promise<string | undefined> {
  const args = ['build', '-mod=readonly', '-o', join(folder, 'program'), '.']
  const { code, output } = await run('go', args, { cwd: source, minutesMax: MINUTES_MAX })
  return code === 0 ? undefined : `Go builds no client: ${lastLine(output)}`
}

/** The libraries are in `lib/`: `java -cp 'lib/*' Main.java` compiles and runs a driver. */
async function installMaven(source: string, folder: string): Promise<string | undefined> {
  const args = ['-q', '-B', '-f', join(source, 'pom.xml'), 'dependency:copy-dependencies']
  const { code, output } = await run('mvn', [...args, `-DoutputDirectory=${join(folder, 'lib')}`], {
    cwd: folder,
    minutesMax: MINUTES_MAX,
  })
  return code === 0 ? undefined : `Maven installs no clients: ${lastLine(output)}`
}

const lastLine = (output: string): string => output.trim().split('\n').at(-1) ?? ''
