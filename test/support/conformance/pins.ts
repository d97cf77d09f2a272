/** Which version of a program is tried: that of the file that pins it. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
export const DRIVERS = join(ROOT, 'test', 'conformance')

/** The version of a package in the file that pins a set: a row cannot name another. */
export function pinnedVersion(installs: string, name: string): string {
  const escaped = name.replaceAll(/[.*+?^${}()|[\]\\/]/g, '\\$&')
  const forms: Readonly<Record<string, string>> = {
    'requirements.txt': `^${escaped}==(\\S+)`,
    'go.mod': `^(?:require)?\\s*${escaped} v(\\S+)`,
    'pom.xml': `<artifactId>${escaped}</artifactId>\\s*<version>([^<]+)<`,
    'package.json': `"${escaped}": "([^"]+)"`,
  }
  for (const [file, form] of Object.entries(forms)) {
    const text = readIfThere(join(DRIVERS, installs, file))
    const found = new RegExp(form, 'm').exec(text)?.[1]
    if (found !== undefined) return found
  }
  throw new Error(`${installs} does not pin ${name}`)
}

/** The version of a package of `node_modules`. */
export const packageVersion = (name: string): string =>
  (JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8')) as { version: string }).version

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return ''
    throw cause
  }
}
