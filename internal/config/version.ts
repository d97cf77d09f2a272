import { existsSync, readFileSync } from 'node:fs'

/** The version in the `package.json` above this file, in the sources as in a bundle. */
export function serviceVersion(): string {
  let manifest = new URL('package.json', import.meta.url)
  while (!existsSync(manifest)) manifest = new URL('../package.json', manifest)
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}
