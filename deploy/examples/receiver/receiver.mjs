/**
 * A webhook receiver: verifies signatures, answers the challenge, processes each event once, and answers before
 * processing.
 *
 *   WEBHOOK_SECRETS=whsec_... PORT=8443 TLS_CERT=cert.pem TLS_KEY=key.pem node receiver.mjs
 *
 * `WEBHOOK_SECRETS` holds one secret, or during a rotation the new and the old one, comma-separated.
 *
 * The secret comes with the answer to the registration, and the challenge is sent at once: a receiver that does not
 * know the secret yet answers 401. Start it again with the secret; a later try of the challenge arrives within minutes,
 * and `POST /api/v1/webhooks/{id}/verify` without a body sends a new one at once.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs'
import { createServer } from 'node:https'
import { fileURLToPath } from 'node:url'
import { isSigned } from './verify.mjs'

const BODY_BYTES_MAX = 1024 * 1024

/**
 * @param {object} options
 * @param {() => readonly string[]} options.secrets the secrets that are valid now
 * @param {(event: any) => void} options.take receives each event once; store it, and process it later
 * @param {{ has(id: string): boolean, add(id: string): unknown }} [options.seen] ids of processed events;
 *   keep them outside the process, for 31 days: an event can be replayed for 30, and is retried for one. To process an
 *   event again, remove its id before the replay
 * @returns {(request: import('node:http').IncomingMessage, response: import('node:http').ServerResponse) => void}
 */
export function createReceiver({ secrets, take, seen = new Set() }) {
  return async (request, response) => {
    try {
      const body = await bodyOf(request)
      if (request.method !== 'POST' || body === undefined) return void response.writeHead(400).end()
      if (!isSigned(body, request.headers['service-signature'], secrets())) return void response.writeHead(401).end()
      const event = JSON.parse(body.toString('utf8'))
      if (event.type === 'webhook.verification') {
        response.writeHead(200, { 'content-type': 'application/json' })
        return void response.end(JSON.stringify({ challenge: event.data.challenge }))
      }
      // Delivery is at least once, for replays too: the id stays the same over retries and replays, and the id of an
      // event that was lost here is not in the set.
      if (!seen.has(event.id)) take(event)
      seen.add(event.id)
      response.writeHead(204).end()
    } catch {
      // Anything but a 2xx brings the event again.
      if (!response.headersSent) response.writeHead(500).end()
    }
  }
}

/** @returns the bytes as they came; undefined when there are too many */
async function bodyOf(request) {
  const chunks = []
  let bytes = 0
  for await (const chunk of request) {
    bytes += chunk.length
    if (bytes > BODY_BYTES_MAX) return undefined
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

/** Whether this file is what Node was started with, and not imported; under any spelling of its path. */
const isStarted =
  existsSync(process.argv[1] ?? '') && realpathSync(process.argv[1]) === realpathSync(fileURLToPath(import.meta.url))

if (isStarted) {
  const secrets = (process.env.WEBHOOK_SECRETS ?? '').split(',').filter((secret) => secret !== '')
  const tls = {
    cert: readFileSync(process.env.TLS_CERT ?? 'cert.pem'),
    key: readFileSync(process.env.TLS_KEY ?? 'key.pem'),
  }
  const take = (event) => console.log(event.sequence, event.type, JSON.stringify(event.data))
  const server = createServer(tls, createReceiver({ secrets: () => secrets, take }))
  server.listen(Number(process.env.PORT ?? 8443), () => console.log('listening', server.address().port))
}
