import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { Agent } from 'undici'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { type Ground, prepareGround, startGateway, startGatewayBeside, startStore } from '../ingest/servers.js'
import { provenance } from '../machine.js'
import { privateRun } from '../private-run.js'
import type { Processes } from '../processes.js'
import { readResult, writeResult } from '../results.js'
import { type Spread, spread } from '../statistics.js'
import { table } from '../table.js'

/**
 * Question: how long is a credential still taken by another gateway after it was revoked?
 *
 * An API key, or the secret of an access token's client, is made at one gateway and used at the other until it is
 * known there. Then it is revoked at the first. From the answer of that on, the other is asked without a pause until it
 * refuses: the time of its last answer that was none is what counts, 0 if there is none.
 */
export interface RevocationOptions {
  readonly checkout: string
  readonly natsServerBin: string
  readonly repeats: number
}

const BAR_MS = 100

interface RevocationResult {
  readonly api_key_ms: Spread
  readonly token_ms: Spread
}

/** @param signal when it is aborted, everything that was started is stopped */
export const revocation = (options: RevocationOptions, signal: AbortSignal): Promise<void> =>
  privateRun(options.checkout, 'revocation', signal, (folder, processes) => answer(options, folder, processes))

async function answer({ checkout, natsServerBin, repeats }: RevocationOptions, folder: string, processes: Processes) {
  const ground = await prepareGround(folder, natsServerBin, processes)
  const storePort = await freePort()
  await startStore(ground, storePort)
  const storeUrl = `http://127.0.0.1:${storePort}`
  const first = await startGateway(ground, storeUrl)
  const secondPort = await freePort()
  await startGatewayBeside(ground, storeUrl, secondPort, 'second')
  const agent = new Agent()
  const bench = new Bench(agent, `http://127.0.0.1:${first.port}`, `http://127.0.0.1:${secondPort}`, ground)
  try {
    const keys: number[] = []
    const tokens: number[] = []
    for (let i = 0; i < repeats; i++) {
      keys.push(await bench.apiKey())
      tokens.push(await bench.token())
    }
    const result: RevocationResult = { api_key_ms: spread(keys), token_ms: spread(tokens) }
    const file = join(checkout, 'bench', 'results', 'revocation.json')
    const before = readResult<RevocationResult>(file)
    writeResult(file, {
      question: 'how long a credential is still taken by another gateway after it was revoked',
      provenance: provenance(checkout),
      repeats,
      bar_ms: BAR_MS,
      ...result,
    })
    const row = (name: string, { min, median, max }: Spread, last: Spread | undefined): string[] => [
      name,
      ...[min, median, max].map((ms) => ms.toFixed(1)),
      last?.max.toFixed(1) ?? '-',
    ]
    process.stdout.write(
      `\nms from the answer to a revocation to the last request that another gateway took; bar ${BAR_MS}\n\n${table([
        ['', 'min', 'median', 'max', 'max before'],
        row('API key', result.api_key_ms, before?.api_key_ms),
        row('access token', result.token_ms, before?.token_ms),
      ])}`,
    )
  } finally {
    await agent.close()
  }
}

class Bench {
  private readonly agent: Agent
  private readonly here: string
  private readonly there: string
  private readonly ground: Ground

  constructor(agent: Agent, here: string, there: string, ground: Ground) {
    this.agent = agent
    this.here = here
    this.there = there
    this.ground = ground
  }

  async apiKey(): Promise<number> {
    const made = await this.ask('POST', '/api/v1/api-keys', { name: 'bench', scopes: ['read:attribution'] })
    const { id, secret } = made.body as { id: string; secret: string }
    return this.untilRefused({ 'x-api-key': secret }, () => this.ask('DELETE', `/api/v1/api-keys/${id}`))
  }

  async token(): Promise<number> {
    const { client_id: clientId, client_secret: clientSecret } = this.ground.credentials
    const form = (fields: Record<string, string>): string =>
      new URLSearchParams({ ...fields, client_id: clientId, client_secret: clientSecret }).toString()
    const issued = await this.post('/v1/oauth/token', form({ grant_type: 'client_credentials' }))
    const { access_token: token } = issued.body as { access_token: string }
    return this.untilRefused({ authorization: `Bearer ${token}` }, () => this.post('/v1/oauth/revoke', form({ token })))
  }

  /** @returns milliseconds to the last answer of the other gateway that was no 401 */
  private async untilRefused(credential: Record<string, string>, revoke: () => Promise<unknown>): Promise<number> {
    const isTaken = async (): Promise<boolean> => {
      const { statusCode, body } = await this.agent.request({
        origin: this.there,
        path: '/api/v1/rate-limit',
        method: 'GET',
        headers: credential,
      })
      await body.dump()
      return statusCode !== 401
    }
    while (!(await isTaken()));
    await revoke()
    const revokedAt = performance.now()
    let lastTakenMs = 0
    while (await isTaken()) lastTakenMs = performance.now() - revokedAt
    return lastTakenMs
  }

  private ask(method: 'POST' | 'DELETE', path: string, body?: object) {
    return this.send(method, path, body && JSON.stringify(body), {
      'x-api-key': this.ground.credentials.api_key,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    })
  }

  private post(path: string, form: string) {
    return this.send('POST', path, form, { 'content-type': 'application/x-www-form-urlencoded' })
  }

  private async send(
    method: 'POST' | 'DELETE',
    path: string,
    body: string | undefined,
    headers: Record<string, string>,
  ) {
    const answer = await this.agent.request({ origin: this.here, path, method, headers, body: body ?? null })
    const text = await answer.body.text()
    if (answer.statusCode >= 300) throw new Error(`${method} ${path}: ${answer.statusCode} ${text}`)
    return { body: (text === '' ? undefined : JSON.parse(text)) as unknown }
  }
}
