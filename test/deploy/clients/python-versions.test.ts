import { tmpdir } from 'node:os'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { run } from '../../support/clients/run.js'

/** The tests of the Python client under other versions of Python than that of the machine. */

const PACKAGE = fileURLToPath(new URL('../../../deploy/clients/python/', import.meta.url))
const TESTS = fileURLToPath(new URL('python', import.meta.url))
const SYSTEM = 'import sys, sysconfig; print(sys.version_info[:2], sysconfig.get_config_var("Py_GIL_DISABLED"))'

test.for([
  { program: 'python3.9', is: '(3, 9) None' },
  { program: 'python3.13t', is: '(3, 13) 1' },
  { program: 'python3.14t', is: '(3, 14) 1' },
])('the tests of the Python client pass under $program', { timeout: 300_000 }, async ({ program, is }, context) => {
  const env = { PYTHONPATH: PACKAGE, PYTHONDONTWRITEBYTECODE: '1', ...(program.endsWith('t') && { PYTHON_GIL: '0' }) }
  const found = await run(program, ['-c', SYSTEM], { cwd: tmpdir(), env, minutesMax: 1 })
  if (found.code !== 0) return context.skip(`there is no ${program}: ${found.output.trim().split('\n')[0]}`)

  const ran = await run(program, ['-m', 'unittest', '--verbose'], { cwd: TESTS, env, minutesMax: 4 })

  expect(found.output.trim()).toBe(is)
  expect(ran).toEqual({ code: 0, output: expect.stringMatching(/\nOK\n$/) })
})
