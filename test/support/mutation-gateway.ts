/**
 * A gateway whose only routes are mutations of a test, on a real broker. Several of them simulate several processes;
 * run as a process, it can be killed.
 */
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import type { AuditEntry, AuditSink } from '../../internal/auth/audit-entry.js'
import { type Broker, connectBroker, ensureStreams } from '../../internal/broker/connect.js'
import { createClaims, LEASE_MS } from '../../internal/http/mutations/claims.js'
import type { Mutation } from '../../internal/http/mutations/mutation.js'
import { createMutations, type Mutate } from '../../internal/http/mutations/mutations.js'
import type { Route } from '../../internal/http/route.js'
import { serve } from '../../internal/http/server.js'
import { identityKeysCache, tenantIdsCache } from '../../internal/ids/ids.js'
import { createLog } from '../../internal/telemetry/log.js'
import { DIRECTORY, IDEMPOTENCY } from '../../streams/buckets.js'
import { scopeKeys } from './scope-keys.js'

export const MUTATION_GATEWAY_MAIN = fileURLToPath(import.meta.url).replace(
  /\/test\/support\/(.*)\.ts$/,
  '/dist/test/support/$1.js',
)

export const SECRET = new Uint8Array(32).fill(7)
export interface MutationGateway {
  readonly url: string
  readonly broker: Broker
  readonly audited: readonly AuditEntry[]
  stop(): Promise<void>
}

export interface MutationGatewayOptions {
  readonly port?: number
  readonly leaseMs?: number
  readonly controlPerSecond?: number
  readonly auditSink?: AuditSink
}

export async function startMutationGateway(
  brokerUrl: string,
  routes: (mutate: Mutate, broker: Broker) => readonly Route[] | Promise<readonly Route[]>,
  options: MutationGatewayOptions = {},
): Promise<MutationGateway> {
  const broker = await connectBroker({ url: brokerUrl, user: '', password: '', name: 'mutations' })
  await ensureStreams(broker, { replicas: 1, invocationsBytesMax: 2 ** 20, observationsBytesMax: 2 ** 20 })
  const log = createLog('test', 'silent')
  const audited: AuditEntry[] = []
  const mutate = createMutations({
    claims: createClaims(await broker.bucket(IDEMPOTENCY), { leaseMs: options.leaseMs ?? LEASE_MS }),
    auditSink: options.auditSink ?? { record: async (entry) => void audited.push(entry) },
    idsOf: tenantIdsCache(SECRET),
    keyHashingOf: identityKeysCache(SECRET),
    secret: SECRET,
    errorDocsUrl: 'http://localhost/docs/errors',
    clock: Date.now,
    log,
  })
  const server = await serve(
    { host: '127.0.0.1', port: options.port ?? 0, errorDocsUrl: 'http://localhost/docs/errors' },
    await routes(mutate, broker),
    { authenticator: scopeKeys({ control: options.controlPerSecond ?? 10_000 }), credentialsAwayMs: () => 0, log },
  )
  return {
    url: `http://127.0.0.1:${server.port}`,
    broker,
    audited,
    async stop() {
      await server.drain()
      await broker.close()
    },
  }
}

const thing = z.object({ name: z.string().min(1).max(64), size: z.int().min(0).optional() })
export type Thing = z.infer<typeof thing>

/** `POST /things`, handled by `handle`. */
export const createThing = (
  handle: Mutation<Thing>['handle'],
  more: Partial<Pick<Mutation<Thing>, 'needsStepUp' | 'mayAppear' | 'refusalOf'>> = {},
): Mutation<Thing> => ({
  method: 'post',
  path: '/things',
  access: 'admin:config',
  rateClass: 'control',
  action: 'api_key.create',
  operation: {
    id: 'createThing',
    tag: 'Contract',
    summary: 'Make a thing',
    replies: { 201: { description: 'Made.' } },
  },
  body: { schema: thing },
  handle,
  ...more,
})

/** `DELETE /things/{id}`. */
export const deleteThing = (handle: Mutation<undefined>['handle']): Mutation<undefined> => ({
  method: 'del',
  path: '/things/:id',
  access: 'admin:config',
  rateClass: 'control',
  action: 'api_key.revoke',
  operation: {
    id: 'deleteThing',
    tag: 'Contract',
    summary: 'Delete a thing',
    parameters: { id: z.string() },
    replies: { 204: { description: 'Gone.' } },
  },
  handle,
})

/** As a process: creates things in the bucket of the directory, prints that, and continues after `holdMs`. */
async function main([brokerUrl = '', port = '0', holdMs = '0', leaseMs = '0']: readonly string[]): Promise<void> {
  const gateway = await startMutationGateway(
    brokerUrl,
    (mutate, broker) => [
      mutate(
        createThing(async ({ body, newId, isRepeat }) => {
          const id = newId('key')
          const bucket = await broker.bucket(DIRECTORY)
          if ((await bucket.get(id)) === null) await bucket.create(id, JSON.stringify(body))
          process.stdout.write(`made ${id}\n`)
          await new Promise((resolve) => setTimeout(resolve, Number(holdMs)))
          return { status: 201, body: { id, was_repeat: isRepeat }, location: `/things/${id}`, target: id }
        }),
      ),
    ],
    { port: Number(port), leaseMs: Number(leaseMs) },
  )
  process.stdout.write(`listening at ${gateway.url}\n`)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await main(process.argv.slice(2))
