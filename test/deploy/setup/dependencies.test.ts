import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { explainNpm, isInstalled, isPartial, removeForeignBinaries } from '../../../deploy/setup/dependencies.mjs'

interface Package {
  version: string
  integrity?: string
  optional?: boolean
  optionalDependencies?: Record<string, string>
}

const lock = (packages: Record<string, Package>): string =>
  JSON.stringify({ lockfileVersion: 3, packages: { '': { version: '0.1.0' }, ...packages } })
const note = (packages: Record<string, Package>): string => JSON.stringify({ lockfileVersion: 3, packages })

const zod = { version: '4.6.7', integrity: 'sha512-a' }
const linux = { version: '1.0.0', integrity: 'sha512-l', optional: true }
const mac = { version: '1.0.0', integrity: 'sha512-m', optional: true }

test('packages that match the lock file count as installed', () => {
  const locked = lock({ 'node_modules/zod': zod })

  expect(isInstalled(locked, note({ 'node_modules/zod': zod }))).toBe(true)
})

test.each([
  ['a missing package', {}],
  ['another version', { 'node_modules/zod': { ...zod, version: '4.6.6' } }],
  ['another content', { 'node_modules/zod': { ...zod, integrity: 'sha512-b' } }],
  ['a package too many', { 'node_modules/zod': zod, 'node_modules/left-pad': zod }],
])('%s does not', (_, installed) => {
  expect(isInstalled(lock({ 'node_modules/zod': zod }), note(installed))).toBe(false)
})

test.each(['', 'null', '{}', '{"packages":'])('half a note (%j) does not', (text) => {
  expect(isInstalled(lock({ 'node_modules/zod': zod }), text)).toBe(false)
})

test('packages of other platforms may be missing, and those of this platform may be absent from the lock file', () => {
  const locked = lock({ 'node_modules/zod': zod, 'node_modules/lib-linux': linux })

  expect(isInstalled(locked, note({ 'node_modules/zod': zod }))).toBe(true)
  expect(isInstalled(locked, note({ 'node_modules/zod': zod, 'node_modules/lib-mac': mac }))).toBe(true)
})

test('a lock file that lacks a platform is partial', () => {
  const lib = { version: '1.0.0', optionalDependencies: { 'lib-linux': '1.0.0', 'lib-mac': '1.0.0' } }

  expect(isPartial(lock({ 'node_modules/lib': lib, 'node_modules/lib-linux': linux }))).toBe(true)
  expect(
    isPartial(lock({ 'node_modules/lib': lib, 'node_modules/lib-linux': linux, 'node_modules/lib-mac': mac })),
  ).toBe(false)
  expect(isPartial(lock({ 'node_modules/zod': zod }))).toBe(false)
})

test.each([
  ['npm error code EAI_AGAIN\nnpm error syscall getaddrinfo\n', /registry \(EAI_AGAIN\); check the network/],
  ['npm error code EACCES\nnpm error syscall mkdir\n', /npm cannot write \(EACCES\)/],
  ['npm error code ENOSPC\n', /disk is full/],
  ['npm error code E404\nnpm error 404 Not Found - GET /nothing\n', /^npm failed: 404 Not Found - GET \/nothing$/],
  ['Error: spawn npm ENOENT', /^npm failed: Error: spawn npm ENOENT$/],
  ['', /^npm failed: it gave no reason$/],
])('the npm output %j is reported as one line', (output, line) => {
  expect(explainNpm(output)).toMatch(line)
  expect(explainNpm(output)).not.toContain('\n')
})

test('binaries of the HTTP parser for other systems are removed, those for other versions of Node stay', () => {
  const modules = mkdtempSync(join(tmpdir(), 'modules-'))
  const [one, other] = [join(modules, '@btc-vision/uwebsockets.js'), join(modules, 'uWebSockets.js', 'binaries')]
  for (const folder of [one, other]) {
    mkdirSync(folder, { recursive: true })
    for (const name of ['uws_linux_x64_115', 'uws_linux_x64_137', 'uws_linux_arm64_137', 'uws_win32_x64_137']) {
      writeFileSync(join(folder, `${name}.node`), '')
    }
    writeFileSync(join(folder, 'uws.js'), '')
  }

  removeForeignBinaries(modules, 'linux_x64')
  // Repeated when the dependencies are installed again.
  removeForeignBinaries(modules, 'linux_x64')

  for (const folder of [one, other]) {
    expect(readdirSync(folder).sort()).toEqual(['uws.js', 'uws_linux_x64_115.node', 'uws_linux_x64_137.node'])
  }
})
