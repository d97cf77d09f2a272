import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import postgres, { type Sql } from 'postgres'
import { says } from '../ingest/servers.js'
import type { Processes } from '../processes.js'

/** A Postgres of Debian's package that this machine can run. */
export interface Installed {
  /** The folder of `initdb` and `postgres`. */
  readonly programs: string
  readonly account: { readonly uid: number; readonly gid: number }
}

/** Where Debian puts each major version. */
const VERSIONS = '/usr/lib/postgresql'

/** The newest version of Debian's package, or why none can run. */
export function findPostgres(): Installed | { readonly missing: string } {
  const versions = existsSync(VERSIONS)
    ? readdirSync(VERSIONS)
        .map(Number)
        .toSorted((a, b) => b - a)
    : []
  const programs = versions
    .map((version) => join(VERSIONS, String(version), 'bin'))
    .find((folder) => ['initdb', 'postgres'].every((program) => existsSync(join(folder, program))))
  if (programs === undefined) return { missing: "Debian's postgresql is not installed (apt-get install postgresql)" }
  const account = unprivilegedAccount()
  return account === undefined
    ? { missing: 'Postgres refuses root, and there is no account postgres' }
    : { programs, account }
}

/** The caller, or for root the account of the package. */
function unprivilegedAccount(): Installed['account'] | undefined {
  const [uid = 0, gid = 0] = [process.getuid?.(), process.getgid?.()]
  if (uid !== 0) return { uid, gid }
  const found = /^postgres:[^:]*:(\d+):(\d+):/m.exec(readFileSync('/etc/passwd', 'utf8'))
  return found === null ? undefined : { uid: Number(found[1]), gid: Number(found[2]) }
}

/** What a team sets for a machine that it shares with its application. The rest is Debian's, durability included. */
const SETTINGS = {
  shared_buffers: '1GB',
  effective_cache_size: '4GB',
  work_mem: '64MB',
  maintenance_work_mem: '512MB',
  max_wal_size: '4GB',
  random_page_cost: '1.1',
  // Compiling takes longer than a page.
  jit: 'off',
  timezone: 'UTC',
}

/** Connections to a running Postgres, over the socket in a folder that nobody else may enter. */
export type Connect = (connectionsMax: number) => Sql

export async function startPostgres(
  { programs, account: { uid, gid } }: Installed,
  folder: string,
  processes: Processes,
): Promise<Connect> {
  const home = join(folder, 'postgres')
  mkdirSync(home, { mode: 0o700 })
  chownSync(home, uid, gid)
  // Its account has to get to its own folder.
  chmodSync(folder, 0o711)
  const settings = { ...SETTINGS, listen_addresses: '', unix_socket_directories: home }
  await processes.start({
    name: 'postgres',
    command: process.execPath,
    args: [
      fileURLToPath(new URL('./postgres-process.js', import.meta.url)),
      ...[programs, home, String(uid), String(gid)],
      ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
    ],
    env: {},
    ready: says(processes, 'postgres', /database system is ready to accept connections/),
  })
  return (max) =>
    postgres({ host: home, port: 5432, user: 'bench', database: 'postgres', max, onnotice: () => undefined })
}
