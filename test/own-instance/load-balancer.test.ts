/** Two gateways behind a real nginx with the lines that `deploy/docs/operating.md` prints. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ensureNginx } from '../../deploy/setup/nginx.mjs'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { codeBlocks, ROOT, textOf } from '../support/docs.js'
import { launchGateway, postTo, wireEvent } from '../support/gateway.js'
import { launchCommand } from '../support/processes.js'
import { atEnd } from '../support/run/at-end.js'
import { launchService } from '../support/service.js'

const KEYS = 200
const KEYS_AT_ONCE = 20
const BODIES_PER_KEY = 4

const nginx = await ensureNginx(ROOT).catch((cause: Error) => cause)

/** Starts nginx in front of gateways. @returns its address */
async function launchNginx(program: string, gateways: readonly [number, number]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'attribution-nginx-'))
  atEnd(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const lines = codeBlocks(textOf('deploy/docs/operating.md')).find(({ language }) => language === 'nginx')?.code ?? ''
  const printed = lines
    .replace('10.0.0.1:8080', `127.0.0.1:${gateways[0]}`)
    .replace('10.0.0.2:8080', `127.0.0.1:${gateways[1]}`)
    .replace('listen 80;', `listen 127.0.0.1:${port};`)
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path ${folder}/${name};`,
  )
  writeFileSync(
    join(folder, 'nginx.conf'),
    [
      'daemon off; worker_processes 2; pid nginx.pid; error_log stderr notice;',
      // Its workers would otherwise run as somebody who may not write here.
      ...(process.getuid?.() === 0 ? ['user root;'] : []),
      'events {}',
      `http { access_log off; ${temporary.join(' ')}`,
      printed,
      '}',
    ].join('\n'),
  )
  const launched = launchCommand(program, { args: ['-p', folder, '-c', 'nginx.conf', '-e', 'stderr'] })
  // Its workers would outlive a kill.
  atEnd(() => launched.kill('SIGTERM'))
  await launched.line(/start worker process \d+/)
  return `http://127.0.0.1:${port}`
}

/** Of a gateway, over all labels. */
async function measured(port: number, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  const values = text.matchAll(new RegExp(`^${name}[^ ]* (\\d+)$`, 'gm'))
  return [...values].reduce((sum, [, value]) => sum + Number(value), 0)
}

test('of bodies under one key that come at once through nginx, one gateway takes exactly one', async (context) => {
  if (typeof nginx !== 'string') return context.skip(nginx.message)
  const metrics = [await freePort(), await freePort()] as const
  const service = await launchService({ roles: [], args: ['--metrics-port', String(metrics[0])] })
  const port = await freePort()
  await launchGateway(service, port, { ATTRIBUTION_METRICS_PORT: String(metrics[1]) })
  await expect.poll(async () => (await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200)
  const address = await launchNginx(nginx, [service.port, port])
  const post = async (key: string): Promise<number> => {
    const path = `${address}/api/v1/invocations`
    return (await postTo(path, service.credentials.api_key, JSON.stringify(wireEvent()), key)).status
  }
  const outcomeOf = async (key: string): Promise<string> =>
    (await Promise.all(Array.from({ length: BODIES_PER_KEY }, () => post(key)))).sort().join(' ')

  const outcomes: string[] = []
  while (outcomes.length < KEYS) {
    outcomes.push(...(await Promise.all(Array.from({ length: KEYS_AT_ONCE }, () => outcomeOf(randomUUID())))))
  }
  const ofBoth = (name: string) => Promise.all(metrics.map((each) => measured(each, name)))
  const admitted = await ofBoth('attribution_events_total{outcome="accepted"')
  const before = await ofBoth('attribution_http_requests_total')
  const headers = { 'x-api-key': service.credentials.api_key }
  for (let i = 0; i < 40; i++) await (await fetch(`${address}/api/v1/rate-limit`, { headers })).text()
  const after = await ofBoth('attribution_http_requests_total')

  // One is taken, the others are refused: as another body, or while the first is under way.
  expect(outcomes.filter((statuses) => !/^202( 409| 422){3}$/.test(statuses))).toEqual([])
  expect(await ofBoth('attribution_admission_key_conflicts_total')).toEqual([0, 0])
  // Each gateway has a share of the keys, and of the requests without one.
  expect(Math.min(...admitted)).toBeGreaterThan(KEYS / 10)
  expect(Math.min(...after.map((count, i) => count - (before[i] ?? 0)))).toBeGreaterThan(0)
  await service.stop()
})
