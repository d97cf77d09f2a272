import { existsSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vitest/config'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** Set by `npm test`, which has built what it tests. Without it, tests import the sources, as an editor saves them. */
export const TESTS_THE_BUILD = process.env['TEST_THE_BUILD'] === '1'

/** The folders whose modules are tested. What `test/` imports from itself is compiled by vitest. */
const TESTED = /^(?:internal|streams|cmd|bench)\//

/**
 * Makes tests import the compiled modules of `dist/`, natively. Compiled by vitest, each module is compiled again for
 * each project, and every use of an import is a look-up in an object: 7 % of the processor time of the unit tests.
 */
export const builtModules: Plugin = {
  name: 'built-modules',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.') || !source.endsWith('.js')) return undefined
    const file = relative(ROOT, resolve(dirname(importer), source))
    const built = join(ROOT, 'dist', file)
    // The console's own modules are built into one file.
    return TESTED.test(file) && existsSync(built) ? { id: built, external: true } : undefined
  },
}

/** Of vitest's `server.deps.external`. */
export const BUILT_MODULES = /\/dist\/(?:internal|streams|cmd|bench)\//
