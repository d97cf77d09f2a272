/** What a person sees on the terminal of each program when it cannot start, or not yet. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { launchBroker } from '../support/broker.js'
import { ROOT } from '../support/docs.js'
import { masterKeyText } from '../support/master-keys.js'
import { launch } from '../support/processes.js'
import { natsServerBin, privateDataDir } from '../support/service.js'

const ROLES = ['attributor', 'courier', 'exporter', 'gateway', 'sentinel', 'trainer']
const mainOf = (program: string): string => fileURLToPath(new URL(`../../dist/cmd/${program}/main.js`, import.meta.url))
const { version } = JSON.parse(readFileSync(`${ROOT}/package.json`, 'utf8')) as { version: string }

/** Takes connections and never says a word, as a broker or a store behind a wrong firewall. */
let silent: Server
let silentPort: number
const connections = new Set<Socket>()
beforeAll(async () => {
  silent = createServer((socket) => {
    connections.add(socket)
    socket.on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  silentPort = (silent.address() as AddressInfo).port
})
afterAll(() => {
  for (const socket of connections) socket.destroy()
  silent.close()
})

const run = async (program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}) => {
  const launched = launch(mainOf(program), { args, env })
  return { exit: await launched.exited, lines: launched.lines }
}

describe.each([...ROLES, 'store', 'up', 'attribution'])('%s', (program) => {
  test('--version prints the version and nothing else', async () => {
    expect(await run(program, ['--version'])).toEqual({ exit: { code: 0, signal: null }, lines: [version] })
  })

  test('--help lists the options', async () => {
    const { exit, lines } = await run(program, ['--help'])

    expect(exit).toEqual({ code: 0, signal: null })
    expect(lines.join('\n')).toMatch(/^(Options|Usage)[\s\S]*--/)
  })

  test('a variable that is no setting is named, with the nearest one', async () => {
    // A wrong option besides, so that nothing starts.
    const { exit, lines } = await run(program, ['--nonsense'], { ATTRIBUTION_PROT: '1' })

    expect(exit).toEqual({ code: 1, signal: null })
    expect(lines[0]).toMatch(/unknown variable ATTRIBUTION_PROT is ignored; did you mean ATTRIBUTION_PORT\?$/)
  })
})

test.each(ROLES)('a %s says everything that is wrong in one line', async (role) => {
  const args = ['--log-levl', 'info', '--stream-replicas', '9']
  const { exit, lines } = await run(role, args, { ATTRIBUTION_NATS_URL: 'nowhere' })

  expect(exit).toEqual({ code: 1, signal: null })
  expect(lines).toEqual([
    `${role}: ${[
      'unknown option --log-levl (did you mean --log-level?)',
      'ATTRIBUTION_NATS_URL must be a URL that begins with nats:// or tls://, or several such URLs, comma-separated',
      '--stream-replicas must be a whole number from 1 to 5',
      '--store-url (or ATTRIBUTION_STORE_URL) must be set',
      '--master-key (or ATTRIBUTION_MASTER_KEY) or --master-key-file (or ATTRIBUTION_MASTER_KEY_FILE) must be set',
    ].join('; ')}`,
  ])
})

const waitingFor = (what: string, url: string): RegExp =>
  new RegExp(`waiting for ${what} at ${url} since \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z: it does not answer$`)

/**
 * Far below the ten seconds after which a drain is cut off, and above what a busy machine takes to stop the other
 * server.
 */
const STOP_MS_MAX = 8_000

/** Of a role whose broker or store is at `url`. */
const roleEnvironment = (urls: Readonly<Record<string, string>>): Record<string, string> => ({
  ATTRIBUTION_MASTER_KEY: masterKeyText().trim(),
  ATTRIBUTION_STORE_PASSWORD: 'none',
  ATTRIBUTION_DATA_DIR: privateDataDir(),
  ATTRIBUTION_PORT: '0',
  ATTRIBUTION_LOG_LEVEL: 'silent',
  ...urls,
})

/** Nothing listens at the first address; the second takes connections and does not answer. */
const UNREACHABLE = [
  ['refuses connections', async () => freePort()],
  ['takes connections and is silent', async () => silentPort],
] as const

describe.each(UNREACHABLE)('a terminal says what it waits for, where, and since when, if a server %s:', (_, port) => {
  test.each(ROLES)('%s, NATS', async (role) => {
    const url = `nats://127.0.0.1:${await port()}`
    const env = roleEnvironment({ ATTRIBUTION_NATS_URL: url, ATTRIBUTION_STORE_URL: 'http://127.0.0.1:1' })
    const launched = launch(mainOf(role), { env })

    expect(await launched.line(/waiting/)).toMatch(waitingFor('NATS', url))
    await launched.endStdin()
  })

  test('gateway, and does not listen meanwhile: a load balancer would send it requests', async () => {
    const listening = await freePort()
    const env = roleEnvironment({
      ATTRIBUTION_NATS_URL: `nats://127.0.0.1:${await port()}`,
      ATTRIBUTION_STORE_URL: 'http://127.0.0.1:1',
      ATTRIBUTION_PORT: String(listening),
    })
    const launched = launch(mainOf('gateway'), { env })
    await launched.line(/waiting/)

    await expect(fetch(`http://127.0.0.1:${listening}/healthz`)).rejects.toThrow('fetch failed')
    await launched.endStdin()
  })

  test('attributor, the store', async () => {
    const url = `http://127.0.0.1:${await port()}`
    const broker = await launchBroker()
    const env = roleEnvironment({ ATTRIBUTION_NATS_URL: broker.url, ATTRIBUTION_STORE_URL: url })
    const launched = launch(mainOf('attributor'), { env })

    expect(await launched.line(/waiting for the/)).toMatch(waitingFor('the store', url))
    await launched.endStdin()
  })

  test.each([
    ['NATS', 'nats', '--nats-url'],
    ['the store', 'http', '--store-url'],
  ])('up, %s', async (what, protocol, flag) => {
    const url = `${protocol}://127.0.0.1:${await port()}`
    const settings = ['--port', String(await freePort()), '--data-dir', privateDataDir(), '--log-level', 'silent']
    const up = launch(mainOf('up'), { args: [...settings, '--nats-server-bin', natsServerBin(), flag, url] })

    expect(await up.line(/waiting/)).toMatch(waitingFor(what, url))
    const askedAt = performance.now()
    expect(await up.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(performance.now() - askedAt).toBeLessThan(STOP_MS_MAX)
  })
})
