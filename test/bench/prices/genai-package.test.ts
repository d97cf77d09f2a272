import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { findGenaiModel, type GenaiProvider, genaiUsd } from '../../../bench/prices/genai-book.js'
import { type Usage, VECTORS, type Vector } from '../../../bench/prices/vectors.js'
import { installed } from '../../support/clients/installed.js'
import { run } from '../../support/clients/run.js'
import { atEnd } from '../../support/run/at-end.js'

/**
 * `npm run test:clients`: genai-prices itself, by its own data, beside the reader of the bench. The package comes from
 * PyPI, so `npm test` passes over it.
 */

const IS_WANTED = process.env['TEST_LIVE_CLIENTS'] !== undefined

/** Within and outside DeepSeek's dear hours, and before prices that have begun since. */
const TIMES = ['2026-11-27T02:30:00+00:00', '2026-11-27T12:00:00+00:00', '2025-08-15T17:00:00+00:00']

type Answer = readonly [provider: string, name: string, at: number, call: number, model: string, usd: number]

test('the reader of the bench says of each model and call what genai-prices says', async (context) => {
  if (!IS_WANTED) return context.skip('npm run test:clients runs it')
  const folder = await installed('prices')
  if ('reason' in folder) return context.skip(folder.reason)
  const files = mkdtempSync(join(tmpdir(), 'genai-'))
  atEnd(() => rmSync(files, { recursive: true }))
  const [asked, answered] = [join(files, 'calls.json'), join(files, 'answers.json')]
  writeFileSync(asked, JSON.stringify({ times: TIMES, calls: VECTORS.map(callOf) }))
  const ran = await run('venv/bin/python', ['genai_book.py', asked, answered], { cwd: folder.path, minutesMax: 5 })
  expect(ran.code, ran.output).toBe(0)

  const { providers, answers } = JSON.parse(readFileSync(answered, 'utf8')) as {
    readonly providers: readonly GenaiProvider[]
    readonly answers: readonly (Answer | readonly [string, string])[]
  }
  const wrong: unknown[] = []
  let compared = 0
  for (const answer of answers) {
    const [provider, name, at, call, id, usd] = answer
    const model = findGenaiModel(providers, provider, name)
    if (model?.id !== id) wrong.push([answer, model?.id])
    if (model === undefined || at === undefined) continue
    const vector: Vector = VECTORS[call as number] as Vector
    const said = genaiUsd(model, vector, Date.parse(TIMES[at] as string))
    if (said === undefined) continue
    compared++
    if (Math.abs(said - (usd as number)) > 1e-9 * said) wrong.push([answer, said])
  }

  expect(wrong).toEqual([])
  expect(compared).toBeGreaterThan(20_000)
})

function callOf(vector: Vector) {
  const contexts = {
    batch: { processing: 'batch' },
    flex: { service_tier: 'flex' },
    priority: { service_tier: 'priority' },
  }
  return { usage: usageOf(vector.usage), context: vector.tier === undefined ? null : contexts[vector.tier] }
}

function usageOf({ input, output, cacheRead, cacheWrite5m, cacheWrite1h, audioInput, audioOutput }: Usage) {
  return {
    input_tokens: input,
    output_tokens: output,
    ...(cacheRead !== undefined && { cache_read_tokens: cacheRead }),
    ...(cacheWrite5m !== undefined && { cache_write_tokens: cacheWrite5m, cache_write_5m_tokens: cacheWrite5m }),
    ...(cacheWrite1h !== undefined && { cache_write_tokens: cacheWrite1h, cache_write_1h_tokens: cacheWrite1h }),
    ...(audioInput !== undefined && { input_audio_tokens: audioInput }),
    ...(audioOutput !== undefined && { output_audio_tokens: audioOutput }),
  }
}
