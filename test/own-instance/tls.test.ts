import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import * as client from 'openid-client'
import { Agent, fetch as undiciFetch } from 'undici'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { makeCertificate, writeCertificate } from '../support/certificates.js'
import { callGrpc, EXPORT } from '../support/grpc.js'
import { command } from '../support/instance.js'
import { launchService, type RunningService } from '../support/service.js'

const folder = mkdtempSync(join(tmpdir(), 'attribution-tls-'))
const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
const certificate = makeCertificate('attribution')
/** A client that trusts this certificate and checks it as ever. */
const dispatcher = new Agent({ connect: { ca: certificate.cert } })
const fetchTrusting = ((address: string, init: object) =>
  undiciFetch(address, { ...init, dispatcher })) as unknown as typeof fetch

let service: RunningService
let intakePort: number
let grpcPort: number

beforeAll(async () => {
  writeCertificate(files, certificate)
  intakePort = await freePort()
  grpcPort = await freePort()
  service = await launchService({
    roles: [],
    args: [
      ...['--mode', 'sandbox', '--tls-cert-file', files.certFile, '--tls-key-file', files.keyFile],
      ...['--intake-port', String(intakePort), '--intake-grpc-port', String(grpcPort)],
    ],
  })
})

afterAll(async () => {
  await dispatcher.close()
  await service.stop()
  rmSync(folder, { recursive: true })
})

test('all routes are served over https, and OAuth clients need no exception for the certificate', async () => {
  const { base_url: baseUrl, client_id, client_secret } = service.credentials
  expect(baseUrl).toBe(`https://127.0.0.1:${service.port}`)

  const config = await client.discovery(new URL(baseUrl), client_id, client_secret, undefined, {
    algorithm: 'oauth2',
    [client.customFetch]: fetchTrusting as client.CustomFetch,
  })
  const { access_token: token } = await client.clientCredentialsGrant(config)
  const answer = await fetchTrusting(`${baseUrl}/v1/attribution`, { headers: { authorization: `Bearer ${token}` } })

  expect(config.serverMetadata().issuer).toBe(baseUrl)
  expect(answer.status).toBe(200)
})

test('pages send Strict-Transport-Security, and the session cookie is Secure', async () => {
  const { base_url: baseUrl, client_id } = service.credentials
  const address = new URL('/v1/oauth/authorize', baseUrl)
  address.search = String(
    new URLSearchParams({
      client_id,
      redirect_uri: 'http://127.0.0.1/callback',
      response_type: 'code',
      code_challenge: 'c'.repeat(43),
      code_challenge_method: 'S256',
    }),
  )

  const { headers } = await fetchTrusting(address.href, { headers: { accept: 'text/html' } })

  expect(headers.get('strict-transport-security')).toBe('max-age=31536000')
  expect(headers.get('set-cookie')).toMatch(/^__Host-sign-in=.*; Path=\/;.*; Secure$/)
})

test('a sandbox fills itself over https', async () => {
  const { code, lines } = await command(service, ['sandbox-data', '--days', '1', '--json'])

  expect(code).toBe(0)
  expect(JSON.parse(lines.find((line) => line.startsWith('{')) ?? '').events).toBeGreaterThan(0)
})

test('a request over plain http gets no answer', async () => {
  await expect(fetch(`http://127.0.0.1:${service.port}/healthz`)).rejects.toThrow()
})

test('the intake port speaks TLS, too', async () => {
  const answer = await fetchTrusting(`https://127.0.0.1:${intakePort}/intake/litellm`, {
    method: 'POST',
    body: '[]',
    headers: { 'x-api-key': service.credentials.api_key },
  })

  expect(answer.status).toBe(200)
  await expect(fetch(`http://127.0.0.1:${intakePort}/intake/litellm`)).rejects.toThrow()
})

test('and so does the port for gRPC', async () => {
  const session = connect(`https://127.0.0.1:${grpcPort}`, { ca: certificate.cert })
  const metadata = { 'x-api-key': service.credentials.api_key }

  expect(await callGrpc(session, EXPORT.traces, Buffer.alloc(0), { metadata })).toMatchObject({ code: 0 })
  session.close()
})
