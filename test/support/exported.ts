import { setTimeout as sleep } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import type { Ask } from './ask.js'

/** Orders a FOCUS file and downloads it. @returns its bytes, without gzip */
export async function exportedFile(ask: Ask, body: Readonly<Record<string, unknown>>): Promise<Buffer> {
  const ordered = await ask('POST', '/v1/exports/focus', { format: 'focus', ...body })
  if (ordered.status !== 202) throw new Error(`not ordered: ${JSON.stringify(ordered.json)}`)
  for (;;) {
    const { json: job } = await ask('GET', ordered.headers.get('location') ?? '')
    if (job.status === 'failed') throw new Error(JSON.stringify(job))
    if (job.status === 'succeeded') {
      const answer = await fetch(job.result_url)
      if (!answer.ok) throw new Error(`not handed out: ${await answer.text()}`)
      const bytes = Buffer.from(await answer.arrayBuffer())
      return job.file_format === 'csv' ? gunzipSync(bytes) : bytes
    }
    await sleep(100)
  }
}
