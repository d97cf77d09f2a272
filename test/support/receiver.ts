/** Receivers of webhooks: real HTTPS servers on loopback that record the requests they receive. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import { type Certificate, makeCertificate } from './certificates.js'

export interface Received {
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** The exact text. */
  readonly text: string
  // biome-ignore lint/suspicious/noExplicitAny: the contract is what is being checked
  readonly json: any
  readonly atMs: number
}

export interface Receiver {
  readonly port: number
  readonly received: readonly Received[]
  /** Number of accepted connections. */
  connections(): number
  /** Resolves once this many matching requests have arrived. */
  until(count: number, matches?: (received: Received) => boolean): Promise<readonly Received[]>
  /** Replies to each following request; initially with 200 and no body. */
  answer: (response: ServerResponse, received: Received) => void
  close(): Promise<void>
}

/** Valid for the hosts that the name server of the tests knows. */
export const RECEIVER_CERTIFICATE: Certificate = makeCertificate('receiver', ['hooks.example.com', '*.example.com'])

export const acknowledge = (response: ServerResponse): void => void response.writeHead(200).end()

/** Answers a challenge as the API reference describes. */
export const answerChallenge = (response: ServerResponse, { json }: Received): void => {
  const { challenge } = json.data
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ challenge }))
}

export async function launchReceiver(
  options: { readonly host?: string; readonly port?: number; readonly certificate?: Certificate } = {},
): Promise<Receiver> {
  const { host = '127.0.0.1', port = 0, certificate = RECEIVER_CERTIFICATE } = options
  const received: Received[] = []
  const waiting = new Set<() => void>()
  let connections = 0
  const server: Server = createServer({ ...certificate, keepAliveTimeout: 60_000 }, (request, response) => {
    void bodyOf(request).then((text) => {
      const json = text.startsWith('{') ? JSON.parse(text) : undefined
      const headers = request.headers as Record<string, string>
      const one = { path: request.url ?? '', headers, text, json, atMs: Date.now() }
      received.push(one)
      receiver.answer(response, one)
      for (const look of waiting) look()
    }, ignore)
  })
  server.on('secureConnection', () => connections++)
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  server.on('tlsClientError', ignore)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })
  const address = server.address()
  const receiver: Receiver = {
    port: address !== null && typeof address === 'object' ? address.port : 0,
    received,
    connections: () => connections,
    until: (count, matches = () => true) =>
      new Promise((resolve) => {
        const look = (): void => {
          const found = received.filter(matches)
          if (found.length < count) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      }),
    answer: acknowledge,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
  return receiver
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString()
}

/** Some tests let the client give up. */
const ignore = (): void => undefined
