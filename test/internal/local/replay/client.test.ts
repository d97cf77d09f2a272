import { mkdtempSync, rmSync } from 'node:fs'
import { createServer as createPlainServer } from 'node:http'
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

test('an event whose answer is slow, cut off or still running is sent again with its key', async () => {
  const requests: { key: unknown; body: string }[] = []
  const slow = createPlainServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    requests.push({ key: request.headers['idempotency-key'], body })
    // The first attempt is never answered.
    if (requests.length === 2) response.destroy()
    if (requests.length === 3) response.writeHead(409).end('{"error_code":"IDEMPOTENCY_IN_PROGRESS"}')
    if (requests.length === 4) response.writeHead(202).end('{"invocation_id":"inv_one"}')
  })
  await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve))
  const address = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`
  const service = connectService(address, 'ak_test_x', 1, '', { answerMsMax: 100 })

  const id = await service.send({ event_id: 'one' })
  await service.close()
  slow.closeAllConnections()
  slow.close()

  expect(id).toBe('inv_one')
  expect(requests).toHaveLength(4)
  expect(new Set(requests.map(({ key }) => key)).size).toBe(1)
  expect(new Set(requests.map(({ body }) => body)).size).toBe(1)
})
