import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type Ran, run } from '../../support/clients/run.js'
import { atEnd } from '../../support/run/at-end.js'

/** The Python client library as others install it: a wheel, into an environment that has nothing else. */

const PACKAGE = fileURLToPath(new URL('../../../deploy/clients/python/', import.meta.url))
const CALLS = `
import importlib.metadata, json, os, sys
from attribution_service import Attribution
attribution = Attribution(os.environ["BASE_URL"], "ak_test", service="search")
attribution.record("openai", "gpt-4o", input_tokens=1000, output_tokens=100)
attribution.flush()
package = importlib.metadata.distribution("attribution-service")
print(json.dumps({
    "counts": attribution.counts,
    "version": package.version,
    "requires": package.requires,
    "is_typed": any(file.name == "py.typed" for file in package.files),
    "is_installed": sys.modules["attribution_service"].__file__.startswith(sys.prefix),
}))
`

/** The service on loopback: takes what it is sent. */
async function startService() {
  const events: unknown[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    events.push(...body.split('\n').map((line) => JSON.parse(line)))
    response.writeHead(202).end('{"rejected":0}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, events }
}

const lastLine = ({ output }: Ran): string => output.trim().split('\n').at(-1) ?? ''

test('the Python client is a typed wheel without dependencies, which records a call', async (context) => {
  const cwd = mkdtempSync(join(tmpdir(), 'attribution-wheel-'))
  atEnd(() => rmSync(cwd, { recursive: true, force: true }))
  const made = await run('python3', ['-m', 'venv', 'venv'], { cwd, minutesMax: 2 })
  if (made.code !== 0) return context.skip(`there is no Python with venv: ${lastLine(made)}`)
  const python = (args: readonly string[], env = {}) =>
    run(join(cwd, 'venv', 'bin', 'python'), args, { cwd, env, minutesMax: 5 })
  const pip = (...args: readonly string[]) => python(['-m', 'pip', '--quiet', '--disable-pip-version-check', ...args])
  const [, backend = ''] = /^requires = \["(.+)"\]$/m.exec(readFileSync(join(PACKAGE, 'pyproject.toml'), 'utf8')) ?? []
  const found = await pip('install', backend)
  if (found.code !== 0) return context.skip(`pip installs no ${backend}: ${lastLine(found)}`)
  cpSync(PACKAGE, join(cwd, 'sources'), { recursive: true })
  const service = await startService()

  expect(await pip('wheel', '--no-build-isolation', '--no-deps', '-w', 'wheels', './sources')).toMatchObject({
    code: 0,
  })
  const [wheel = ''] = readdirSync(join(cwd, 'wheels'))
  expect(await pip('install', '--no-index', join('wheels', wheel))).toMatchObject({ code: 0 })
  const ran = await python(['-I', '-c', CALLS], { BASE_URL: service.url })

  const { version } = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
  expect(wheel).toBe(`attribution_service-${version}-py3-none-any.whl`)
  expect(JSON.parse(ran.output)).toEqual({
    counts: [1, 1, 0, 0],
    version,
    requires: null,
    is_typed: true,
    is_installed: true,
  })
  expect(service.events).toMatchObject([
    { attributed_service: 'search', requested_model: 'gpt-4o', input_tokens: 1_000 },
  ])
})
