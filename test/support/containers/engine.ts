/**
 * As much of `testcontainers` as the clusters need. It brings 130 packages, SSH among them, so it is no dependency:
 * `clients/installed.ts` installs it where it is wanted, at the versions of `testcontainers/package-lock.json`.
 */
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installed } from '../clients/installed.js'
import { run } from '../clients/run.js'

export interface Started {
  stop(options?: { readonly timeout: number }): Promise<unknown>
  /** With a timeout of zero it is killed, and starts again. */
  restart(options?: { readonly timeout: number }): Promise<void>
}

export interface Container {
  withNetwork(network: Network): this
  withNetworkAliases(...names: readonly string[]): this
  withExposedPorts(...ports: readonly { readonly container: number; readonly host: number }[]): this
  withEnvironment(variables: Readonly<Record<string, string>>): this
  withCommand(command: readonly string[]): this
  withCopyContentToContainer(files: { readonly content: string; readonly target: string }[]): this
  start(): Promise<Started>
}

export interface Network {
  stop(): Promise<unknown>
}

export interface Engine {
  readonly GenericContainer: new (image: string) => Container
  readonly Network: new () => { start(): Promise<Network> }
}

/** The library, if a container engine runs here; otherwise why not. */
export async function containerEngine(): Promise<Engine | { readonly reason: string }> {
  const { code, output } = await run('docker', ['info', '--format', '{{.ServerVersion}}'], { cwd: '/', minutesMax: 1 })
  if (code !== 0) return { reason: `no container engine answers (${output.trim().split('\n').at(-1)})` }
  const place = await installed('testcontainers', fileURLToPath(new URL('.', import.meta.url)))
  if ('reason' in place) return place
  return createRequire(join(place.path, 'package.json'))('testcontainers') as Engine
}
