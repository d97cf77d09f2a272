import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Credentials } from '../../internal/local/supervisor/bootstrap.js'
import { freePort } from '../../internal/local/supervisor/supervised-instance.js'
import { askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { wireEvent } from '../support/gateway.js'
import { launchCommand } from '../support/processes.js'
import { launchPrometheus } from '../support/prometheus.js'
import { natsServerBin, UP_MAIN } from '../support/service.js'

/**
 * A disk that fills up under load, and has room again: a memory disk in a mount namespace of its own, whose size
 * changes. The broker reserves the sizes of its streams when it starts, so the disk is large then.
 */

const LARGE = '12g'
/** Only root may change the size of a disk; the test is skipped for others. */
const canMount =
  process.getuid?.() === 0 && spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0

async function start(folder: string) {
  const port = await freePort()
  const metricsPort = await freePort()
  const mounted = `mount -t tmpfs -o size=${LARGE} tmpfs "$0" && exec "$@"`
  const up = launchCommand('unshare', {
    args: [
      ...['-m', 'sh', '-c', mounted, folder, process.execPath, UP_MAIN, '--data-dir', folder],
      ...['--port', String(port), '--intake-port', '0', '--nats-server-bin', natsServerBin()],
      ...['--without-roles', 'courier,exporter,sentinel,trainer', '--rate-read', '100000'],
      ...['--invocations-bytes-max', String(1024 ** 3), '--tuning', `observations-bytes-max=${256 * 1024 ** 2}`],
      ...['--tuning', `events-bytes-max=${256 * 1024 ** 2}`, '--metrics-port', String(metricsPort)],
    ],
  })
  await up.line(/is ready/)
  const inside = `/proc/${up.pid}/root${folder}`
  const credentials = JSON.parse(readFileSync(join(inside, 'credentials.json'), 'utf8')) as Credentials
  const ask = askAs(`http://127.0.0.1:${port}`, { 'x-api-key': credentials.api_key })
  const within = (...command: readonly string[]): string => {
    const { status, stdout, stderr } = spawnSync('nsenter', ['-t', String(up.pid), '-m', ...command])
    if (status !== 0) throw new Error(stderr.toString())
    return stdout.toString()
  }
  const resize = (size: string): string => within('mount', '-o', `remount,size=${size}`, folder)
  return {
    up,
    ask,
    prometheus: await launchPrometheus({ metricsPort, shorten: (rules) => rules, scrapeSeconds: 2 }),
    /** Takes all but a little of the room. */
    fill: () => {
      const [blocks = 0, free = 0, bytes = 0] = within('stat', '-f', '-c', '%b %f %S', folder).split(' ').map(Number)
      resize(String((blocks - free) * bytes + 2 * 1024 ** 2))
    },
    free: () => resize(LARGE),
  }
}

test.skipIf(!canMount)(
  'a full disk under load loses nothing, and the service recovers by itself',
  { timeout: 120_000 },
  async () => {
    const { up, ask, prometheus, fill, free } = await start(mkdtempSync(join(tmpdir(), 'attribution-disk-')))
    const accepted = new Set<string>()
    let isOver = false
    let refused = 0
    const sender = async (): Promise<void> => {
      while (!isOver) {
        const body = Array.from({ length: 20 }, () => wireEvent({ tags: { note: 'x'.repeat(200) } }))
        // What is under way when the disk fills up may wait for half a minute.
        const sent = ask('POST', '/api/v1/invocations', body).catch(() => undefined)
        const answer = await Promise.race([sent, sleep(2_000, undefined)])
        if (answer?.status === 202) {
          for (const { invocation_id: id } of answer.json.results) accepted.add(id.replace('inv_', 'attr_'))
        } else {
          refused++
          await sleep(100)
        }
      }
    }
    await attributed(ask, {})
    const load = Promise.all([sender(), sender()])
    const untilMore = async (than: number): Promise<void> => {
      while (accepted.size <= than) await sleep(50)
    }
    await untilMore(2_000)

    fill()
    await up.line(/is full: events are refused/)
    while (refused < 6) await sleep(50)
    await expect.poll(prometheus.firing).toContain('AttributionDiskFull')
    free()
    await up.line(/has room again: nats-server starts again/)
    await untilMore(accepted.size + 2_000)
    isOver = true
    await load

    const records = new Set<string>()
    let cursor: string | undefined
    for (;;) {
      const query = cursor === undefined ? '' : `&cursor=${cursor}`
      const { status, json } = await ask('GET', `/v1/attribution?limit=200&sort=event_time${query}`)
      if (status !== 200) {
        await sleep(200)
        continue
      }
      for (const { id } of json.data) records.add(id)
      cursor = json.page.next_cursor
      if (cursor === undefined && [...accepted].every((id) => records.has(id))) break
    }
    const total = (await ask('GET', `/v1/reports/usage?from=2026-11-01T00:00:00Z`)).json.data[0].calls
    expect(total).toBe(records.size)
    await expect.poll(prometheus.firing).not.toContain('AttributionDiskFull')
    await prometheus.stop()
    await up.kill('SIGTERM')
  },
)
