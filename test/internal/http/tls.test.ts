import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { ConfigError } from '../../../internal/config/settings.js'
import { type Build, loadableBuilds } from '../../../internal/http/builds.js'
import { type RunningServer, serve } from '../../../internal/http/server.js'
import { readTls, type TlsFiles } from '../../../internal/http/tls.js'
import { freePort } from '../../../internal/local/supervisor/supervised-instance.js'
import { makeCertificate, writeCertificate } from '../../support/certificates.js'
import { publicServer } from '../../support/public-server.js'

const [ONE, TWO] = [makeCertificate('one'), makeCertificate('two')]
const folder = mkdtempSync(join(tmpdir(), 'attribution-tls-'))
const files: TlsFiles = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
const running: RunningServer[] = []
const BUILDS = loadableBuilds().map((each) => [each.name, each] as const)
let build: Build

beforeEach(() => writeCertificate(files, ONE))
afterEach(() => Promise.all(running.splice(0).map((server) => server.drain())))
afterAll(() => rmSync(folder, { recursive: true }))

const said = new PassThrough()
/** Resolves with the next error that the server logs. */
const nextError = async (): Promise<string> => String((await once(said, 'data'))[0])

async function launch(): Promise<number> {
  const { routes, deps } = publicServer('/hello', (exchange) => exchange.replyJson('200 OK', {}))
  // Not port 0: the system gives each listener a different port.
  const settings = {
    host: '127.0.0.1',
    port: await freePort(),
    errorDocsUrl: 'https://docs.example/errors',
    tls: files,
    build,
  }
  const server = await serve(settings, routes, { ...deps, log: pino({ level: 'error' }, said) })
  running.push(server)
  return server.port
}

/** The name in the certificate of a new connection, verified as a client does. */
const shownName = (port: number, more: object = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, ca: [ONE.cert, TWO.cert], servername: 'localhost', ...more }
    const socket = connect(options, () => {
      resolve(String(socket.getPeerCertificate().subject.CN))
      socket.destroy()
    })
    socket.once('error', reject)
  })

const ask = (port: number, agent: Agent): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    get({ host: '127.0.0.1', port, path: '/hello', agent, ca: [ONE.cert, TWO.cert] }, (answer) => {
      answer.resume().once('end', () => resolve(answer.statusCode))
    }).once('error', reject)
  })

/** A connection that opens at the moment of the change is reset: retry it. */
async function untilShown(port: number, name: string): Promise<void> {
  const shown = () => shownName(port).catch((cause: NodeJS.ErrnoException) => cause.code)
  for (let seen = await shown(); seen !== name; seen = await shown()) {
    expect(['one', 'ECONNRESET']).toContain(seen)
    await sleep(50)
  }
}

describe.each(BUILDS)('%s', (_, each) => {
  beforeAll(() => {
    build = each
  })

  test('the server accepts TLS 1.2 and 1.3 with a valid certificate', async () => {
    const port = await launch()

    expect(await ask(port, new Agent())).toBe(200)
    expect(await shownName(port, { minVersion: 'TLSv1.2', maxVersion: 'TLSv1.2' })).toBe('one')
    expect(await shownName(port, { minVersion: 'TLSv1.3' })).toBe('one')
  })

  test('the server refuses TLS versions below 1.2', async () => {
    const port = await launch()
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' }

    await expect(shownName(port, old)).rejects.toThrow('alert protocol version')
  })

  test('new connections get a replaced certificate, and open connections continue', async () => {
    const port = await launch()
    const kept = new Agent({ keepAlive: true, maxSockets: 1 })
    expect(await ask(port, kept)).toBe(200)
    const socket = Object.values(kept.freeSockets)[0]?.[0]

    writeCertificate(files, TWO)
    const watching = untilShown(port, 'two')
    // The server keeps serving the open connection.
    let isDone = false
    void watching.then(() => {
      isDone = true
    })
    while (!isDone) expect(await ask(port, kept)).toBe(200)

    expect(await ask(port, kept)).toBe(200)
    expect(Object.values(kept.freeSockets)[0]?.[0]).toBe(socket)
    kept.destroy()
  })

  test('the server reloads a replaced certificate only once its key is replaced too', async () => {
    const port = await launch()

    writeCertificate(files, { cert: TWO.cert, key: ONE.key })
    expect(await nextError()).toContain('cannot reload')
    expect(await shownName(port)).toBe('one')

    writeCertificate(files, TWO)
    await untilShown(port, 'two')
  })
})

test('an invalid TLS configuration is reported in one line', () => {
  const read = (tlsCertFile: string, tlsKeyFile: string) => readTls({ tlsCertFile, tlsKeyFile })
  const wrong = join(folder, 'wrong')
  writeFileSync(wrong, 'not PEM')

  expect(read('', '')).toBeUndefined()
  expect(read(files.certFile, files.keyFile)).toEqual(files)
  for (const [cert, key] of [
    [files.certFile, ''],
    ['', files.keyFile],
    [join(folder, 'missing'), files.keyFile],
    [wrong, files.keyFile],
    [files.certFile, wrong],
  ] as const) {
    expect(() => read(cert, key)).toThrow(ConfigError)
    expect(() => read(cert, key)).toThrow(/^[^\n]+$/)
  }
})
