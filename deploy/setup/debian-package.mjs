/**
 * A Debian package without root and without touching the system: fetched by the machine's own apt, from the mirror and
 * with the keys that apt already uses, and unpacked into a folder of ours.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { machineSources } from './apt-sources.mjs'
import { collect } from './commands.mjs'
import { SetUpError } from './steps.mjs'

/** @returns {string | undefined} the codename of this machine's Debian, for example `bookworm` */
export function debianSuite(release = readRelease()) {
  const field = (/** @type {string} */ name) => new RegExp(`^${name}="?([^"\\n]*)"?$`, 'm').exec(release)?.[1]
  return field('ID') === 'debian' ? field('VERSION_CODENAME') : undefined
}

function readRelease() {
  try {
    return readFileSync('/etc/os-release', 'utf8')
  } catch {
    return ''
  }
}

/**
 * Fetches the package of the first suite that has it and lets it pass.
 *
 * @param {object} wanted
 * @param {string} wanted.name of the package
 * @param {readonly string[]} [wanted.also] packages whose files are put beside its own
 * @param {readonly string[]} [wanted.suites] in the order they are tried; without it the machine's own
 * @param {string} wanted.into the folder under which the package's files are put, as `<into>/<name>/usr/...`
 * @param {(folder: string) => Promise<boolean>} [wanted.accepts] looks at the unpacked files
 * @returns {Promise<string>} the folder with the unpacked files
 * @throws {SetUpError} when this is no Debian, the mirror cannot be reached, or no suite has it
 */
export async function fetchDebianPackage({ name, also = [], suites, into, accepts = async () => true }) {
  const own = debianSuite()
  const source = machineSources().find(({ suites: offered }) => own !== undefined && offered.includes(own))
  if (own === undefined || source === undefined) {
    throw new SetUpError(`${name} cannot be fetched here: the set-up knows how on Debian with apt only`)
  }

  mkdirSync(into, { recursive: true })
  const work = mkdtempSync(join(into, `.${name}-`))
  try {
    let lastReason = ''
    for (const suite of suites ?? [own]) {
      const result = await fetchFrom(suite, source, [name, ...also], join(work, suite))
      if (result.folder === undefined) {
        lastReason = result.reason
      } else if (await accepts(result.folder)) {
        const target = join(into, name)
        rmSync(target, { recursive: true, force: true })
        renameSync(result.folder, target)
        return target
      } else {
        lastReason = `the one of ${suite} is too old`
      }
    }
    throw new SetUpError(`${name} cannot be fetched from Debian (${(suites ?? [own]).join(', ')}): ${lastReason}`)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/**
 * @param {string} suite
 * @param {import('./apt-sources.mjs').AptSource} source
 * @param {readonly string[]} names
 * @param {string} work a folder for this suite alone
 * @returns {Promise<{ folder: string, reason?: undefined } | { folder?: undefined, reason: string }>}
 */
async function fetchFrom(suite, source, names, work) {
  for (const folder of ['parts', 'lists/partial', 'cache/archives/partial', 'unpacked']) {
    mkdirSync(join(work, folder), { recursive: true })
  }
  const keys = source.signedBy === undefined ? '' : `Signed-By: ${source.signedBy}\n`
  const stanza = `Types: deb\nURIs: ${source.uri}\nSuites: ${suite}\nComponents: main\n${keys}`
  writeFileSync(join(work, 'parts', 'one.sources'), stanza)
  const options = [
    '-qq',
    'Dir::Etc::sourcelist=/dev/null',
    `Dir::Etc::sourceparts=${join(work, 'parts')}`,
    `Dir::State::lists=${join(work, 'lists')}`,
    `Dir::Cache=${join(work, 'cache')}`,
    'Dir::State::status=/dev/null',
    'Dir::Etc::preferencesparts=/dev/null',
    'Acquire::Languages=none',
    'Acquire::Retries=2',
    'Acquire::http::Timeout=20',
    'APT::Update::Error-Mode=any',
    // As root, apt would hand over to an account that may not write here.
    ...(process.getuid?.() === 0 ? ['APT::Sandbox::User=root'] : []),
  ].flatMap((option) => (option === '-qq' ? [option] : ['-o', option]))
  const env = { ...process.env, LC_ALL: 'C' }

  const commands = [
    ['apt-get', [...options, 'update']],
    ['apt-get', [...options, 'download', ...names]],
  ]
  for (const [command, args] of /** @type {[string, string[]][]} */ (commands)) {
    const { code, output } = await collect(command, args, { cwd: work, env })
    if (code !== 0) return { reason: explainApt(output) }
  }
  const archives = readdirSync(work).filter((file) => file.endsWith('.deb'))
  if (archives.length < names.length) return { reason: 'apt fetched nothing' }
  const folder = join(work, 'unpacked')
  for (const archive of archives) {
    const { code, output } = await collect('dpkg', ['-x', join(work, archive), folder], { env })
    if (code !== 0) return { reason: `dpkg -x failed: ${output.trim().split('\n')[0]}` }
  }
  return { folder }
}

/**
 * @param {string} output of a failed apt-get
 * @returns {string} one line
 */
export function explainApt(output) {
  const lines = output.split('\n').flatMap((line) => /^[EW]: (.+)/.exec(line)?.[1] ?? [])
  const isAway = /Could not resolve|Temporary failure|Could not connect|Connection refused|timed out|Unable to connect/i
  const away = lines.find((line) => isAway.test(line))
  if (away !== undefined) return `apt cannot reach its mirror; check the network (${away.trim()})`
  return lines[0]?.trim() || output.trim().split('\n')[0] || 'apt gave no reason'
}
