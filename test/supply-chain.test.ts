import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

/** What the product is made of: which packages it ships, under which licences, and what their installation may run. */

const ROOT = fileURLToPath(new URL('..', import.meta.url))
interface Package {
  readonly version: string
  readonly license?: string
  readonly dev?: boolean
}
const { packages } = JSON.parse(readFileSync(`${ROOT}package-lock.json`, 'utf8')) as {
  packages: Record<string, Package>
}
const shipped = Object.entries(packages).filter(([path, { dev }]) => path !== '' && dev !== true)
const nameOf = (path: string): string => path.replace(/^.*node_modules\//, '')

/** Licences that ask for no more than notices, and none for changes of ours. */
const ALLOWED = [
  'Apache-2.0',
  'MIT',
  'MIT OR Apache-2.0',
  'BSD-3-Clause',
  'BSD-2-Clause',
  'ISC',
  '0BSD',
  'BlueOak-1.0.0',
  'Unlicense',
]
test('every shipped package has a licence that asks for no more than a notice', () => {
  const others = shipped
    .filter(([, { license = '' }]) => !ALLOWED.includes(license))
    .map(([path, { license }]) => [nameOf(path), license])

  expect(others).toEqual([])
})

test('no package runs a script when it is installed', () => {
  expect(readFileSync(`${ROOT}.npmrc`, 'utf8')).toMatch(/^ignore-scripts=true$/m)
})

test('the bill of materials names every shipped package with its version', () => {
  const text = execFileSync('npm', ['run', '--silent', 'sbom'], {
    cwd: ROOT,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 ** 2,
  })
  const { bomFormat, components } = JSON.parse(text) as {
    bomFormat: string
    components: { name: string; version: string }[]
  }
  const named = new Set(components.map(({ name, version }) => `${name}@${version}`))

  expect(bomFormat).toBe('CycloneDX')
  const missing = shipped.map(([path, { version }]) => `${nameOf(path)}@${version}`).filter((each) => !named.has(each))
  expect(missing).toEqual([])
})
