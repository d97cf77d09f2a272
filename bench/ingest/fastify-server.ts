/**
 * The version that a team would write in an afternoon: Fastify, the event's zod schema, and one JetStream publish a
 * request, acknowledged before the 202. Without credentials, limits or idempotency, which is in its favour.
 *
 * Prints `listening <port>`; ends with its stdin. The broker's address and password come by environment.
 */
import { jetstream } from '@nats-io/jetstream'
import { connect } from '@nats-io/transport-node'
import Fastify from 'fastify'
import { invocationEvent } from '../../internal/invocations/invocation-schema.js'
import { PATH } from './requests.js'

const {
  BENCH_NATS_URL: servers = '',
  BENCH_NATS_USER: user = '',
  BENCH_NATS_PASSWORD: pass = '',
  BENCH_SUBJECT: subject = '',
} = process.env
const connection = await connect({ servers, user, pass })
const log = jetstream(connection)

const server = Fastify()
server.post(PATH, async (request, reply) => {
  const parsed = invocationEvent.safeParse(request.body)
  if (!parsed.success) return reply.code(422).send({ errors: parsed.error.issues })
  await log.publish(subject, JSON.stringify(parsed.data))
  return reply.code(202).send({ event_id: parsed.data.event_id, status: 'queued' })
})
const address = await server.listen({ host: '127.0.0.1', port: 0 })
console.log(`listening ${new URL(address).port}`)
process.stdin.resume().once('close', () => process.exit(0))
