import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectService } from '../../../../internal/local/replay/client.js'
import { makeCertificate, writeCertificate } from '../../../support/certificates.js'

const folder = mkdtempSync(join(tmpdir(), 'attribution-client-'))
const files = { certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key') }
const others = { certFile: join(folder, 'other.crt'), keyFile: join(folder, 'other.key') }
let server: Server
let port = 0

beforeAll(async () => {
  const certificate = makeCertificate('attribution')
  writeCertificate(files, certificate)
  writeCertificate(others, makeCertificate('another'))
  server = createServer(certificate, (_, response) => response.end('{"data":[],"page":{"has_more":false}}'))
  await new Promise<void>((resolve) => server.listen(0, '0.0.0.0', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

async function page(certFile?: string, host = '127.0.0.1') {
  const service = connectService(`https://${host}:${port}`, 'ak_test_x', 1, certFile)
  return service.page(1, undefined).finally(() => service.close())
}

test('the client trusts a service by its own certificate', async () => {
  expect(await page(files.certFile)).toEqual({ data: [], page: { has_more: false } })
})

test('the client does not retry a service with an untrusted certificate', async () => {
  await expect(page()).rejects.toThrow(/certificate.*https:\/\/127\.0\.0\.1:\d+.*self-signed/)
  await expect(page(others.certFile)).rejects.toThrow(/certificate/)
})

test('the client does not retry a service whose certificate is for another name', async () => {
  await expect(page(files.certFile, '127.0.0.2')).rejects.toThrow(/certificate/)
})
