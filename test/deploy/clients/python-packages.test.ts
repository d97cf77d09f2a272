import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { startProvider } from '../../internal/sdk/provider.js'
import { installed } from '../../support/clients/installed.js'
import { run } from '../../support/clients/run.js'
import { atEnd } from '../../support/run/at-end.js'

/** The Python client beside packages of PyPI: the SDKs that it wraps, mypy and gevent. */

const PACKAGE = fileURLToPath(new URL('../../../deploy/clients/python/', import.meta.url))
const TESTS = fileURLToPath(new URL('python', import.meta.url))

/** Of a test with its download, on a slow machine. */
const TIMEOUT_MS = 15 * 60_000

/** @returns what runs Python in an environment with the packages, or why there is none */
async function pythonWithPackages() {
  const packages = await installed('python')
  if ('reason' in packages) return packages
  const program = join(packages.path, 'venv', 'bin', 'python')
  const environment = { PYTHONPATH: PACKAGE, PYTHONDONTWRITEBYTECODE: '1' }
  return {
    python: (args: readonly string[], env = {}) =>
      run(program, args, { cwd: TESTS, env: { ...environment, ...env }, minutesMax: 4 }),
  }
}

test('mypy finds nothing in the client, and the same types in SDKs that are wrapped', {
  timeout: TIMEOUT_MS,
}, async (context) => {
  const packages = await pythonWithPackages()
  if ('reason' in packages) return context.skip(packages.reason)
  const cache = mkdtempSync(join(tmpdir(), 'attribution-mypy-'))
  atEnd(() => rmSync(cache, { recursive: true }))

  const checked = ['-p', 'attribution_service', '-m', 'types_of_sdks']
  const ran = await packages.python(['-m', 'mypy', '--strict', '--cache-dir', cache, ...checked], { MYPYPATH: PACKAGE })

  expect(ran).toEqual({ code: 0, output: expect.stringMatching(/^Success: no issues found/) })
})

test('calls of greenlets are recorded, and end in bounded time', { timeout: TIMEOUT_MS }, async (context) => {
  const packages = await pythonWithPackages()
  if ('reason' in packages) return context.skip(packages.reason)
  const provider = await startProvider()

  const ran = await packages.python(['-m', 'unittest', '--verbose', 'greenlets'], { PROVIDER: provider.url })

  expect(ran).toEqual({ code: 0, output: expect.stringMatching(/\nOK\n$/) })
})
