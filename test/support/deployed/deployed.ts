/**
 * Roles started by the files of `deploy/`: by a systemd of their own, and by the rules of Compose and the image. They
 * join the broker and the store of an instance that is running.
 */
import { spawnSync } from 'node:child_process'
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { ROOT } from '../docs.js'
import { type Launched, launchCommand } from '../processes.js'
import { atEnd } from '../run/at-end.js'
import { gatewayEnvironment, type Instance } from '../service.js'

const SYSTEMD = '/lib/systemd/systemd'
const scriptOf = (name: string): string => fileURLToPath(new URL(`./${name}`, import.meta.url))

type Settings = Readonly<Record<string, string>>

/** Why they cannot be started here; undefined where they can. */
export function noNamespaces(): string | undefined {
  if (process.getuid?.() !== 0) return 'only root may make namespaces'
  if (!existsSync(SYSTEMD)) return 'there is no systemd'
  if (!existsSync('/usr/bin/node')) return 'the units start /usr/bin/node'
  return spawnSync('unshare', ['-mpfC', '--mount-proc', 'true']).status === 0 ? undefined : 'namespaces are not allowed'
}

/** What a role needs of an instance to join it. */
export function settingsOf(service: Pick<Instance, 'pid'>): Settings {
  const told = gatewayEnvironment(service)
  const file = told['ATTRIBUTION_MASTER_KEY_FILE']
  const keys = told['ATTRIBUTION_MASTER_KEY'] ?? (file === undefined ? '' : readFileSync(file, 'utf8'))
  const joins = Object.entries(told).filter(([name]) => /^ATTRIBUTION_(NATS|STORE)_(URL|USER|PASSWORD)$/.test(name))
  return { ...Object.fromEntries(joins), ATTRIBUTION_MASTER_KEY: keys.trim().split(/\s+/).join() }
}

/** Owned by root, as an engine and systemd make folders. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-deployed-'))
  chmodSync(folder, 0o755)
  atEnd(() => rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }))
  return folder
}

/** Starts roles as units. @returns also the folder in which the machine's `/var` and logs of roles appear */
export function launchUnits(
  roles: readonly string[],
  settings: Settings,
): { readonly folder: string; readonly systemd: Launched } {
  const folder = newFolder()
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  writeFileSync(join(folder, 'environment'), lines.join(''), { mode: 0o600 })
  const own = ['-mpfCui', '--mount-proc', '--kill-child']
  const systemd = launchCommand('unshare', { args: [...own, 'sh', scriptOf('boot.sh'), folder, ROOT, ...roles] })
  return { folder, systemd }
}

interface ComposeService {
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string | number>>
  readonly volumes?: readonly string[]
  readonly read_only: boolean
  readonly cap_drop: readonly string[]
}

const deployed = (path: string): string => readFileSync(join(ROOT, 'deploy', 'containers', path), 'utf8')

/** Starts services of `compose.yaml`; they share its volumes. */
export function launchComposed(names: readonly string[], settings: Settings): Readonly<Record<string, Launched>> {
  const { services } = parse(deployed('compose.yaml'), { merge: true }) as {
    readonly services: Readonly<Record<string, ComposeService>>
  }
  const volumes = newFolder()
  return Object.fromEntries(
    names.map((name) => [name, launchService(services[name] as ComposeService, settings, volumes)]),
  )
}

function launchService(
  { command, environment, volumes = [], read_only, cap_drop }: ComposeService,
  settings: Settings,
  place: string,
) {
  if (!read_only || cap_drop.join() !== 'ALL')
    throw new Error('contain.sh runs what is read-only and has no capability')
  const dockerfile = deployed('Dockerfile')
  const user = /^USER (\d+:\d+)$/m.exec(dockerfile)?.[1] ?? '0:0'
  const mounts = volumes.map((mount) => {
    const [volume = '', path = ''] = mount.split(':')
    return `${volumeAt(join(place, volume), path, dockerfile)}:${path}`
  })
  const own = environment as Record<string, unknown>
  const stated = Object.entries(own).map(([name, value]) => [name, String(value)])
  const ofImage = [...dockerfile.matchAll(/\b(ATTRIBUTION_\w+)=(\S+)/g)].map(([, name, value]) => [name, value])
  const env: Settings = { ...Object.fromEntries([...ofImage, ...stated]), ...settings }
  const args = [newFolder(), ROOT, process.execPath, user, mounts.join(), '/app/role.sh', ...command]
  return launchCommand('unshare', {
    args: ['-mpf', '--mount-proc', '--kill-child', 'sh', scriptOf('contain.sh'), ...args],
    env,
  })
}

/** A new volume has the owner and the mode of the folder of the image at which it is mounted; without one, it is root's. */
function volumeAt(volume: string, path: string, dockerfile: string): string {
  if (existsSync(volume)) return volume
  mkdirSync(volume, { mode: 0o755 })
  const [, uid, gid, owned = ''] = /&& chown (\d+):(\d+) (.+?) &&/.exec(dockerfile) ?? []
  if (owned.split(' ').includes(path)) {
    chownSync(volume, Number(uid), Number(gid))
    chmodSync(volume, 0o700)
  }
  return volume
}
