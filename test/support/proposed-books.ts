/** Price books of others, as files that `attribution prices propose` takes. */
import { mkdtempSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { command } from './instance.js'
import type { Instance } from './service.js'

export const folder = mkdtempSync(join(tmpdir(), 'attribution-proposals-'))

export const pricesCommand =
  (service: () => Instance) =>
  async (...args: string[]) => {
    const { code, lines } = await command(service(), ['prices', ...args])
    return { code, text: lines.join('\n'), json: () => JSON.parse(lines.find((line) => line.startsWith('{')) ?? '') }
  }

export const genai = (...models: readonly object[]): string => {
  const path = join(folder, 'genai.json')
  writeFileSync(path, JSON.stringify([{ id: 'openai', models }]))
  utimesSync(path, 0, Date.parse('2026-11-20T12:00:00Z') / 1000)
  return path
}
export const priced = (id: string, input_mtok: number, output_mtok: number) => {
  return { id, match: { equals: id }, prices: { input_mtok, output_mtok } }
}
export const litellm = (models: object): string => {
  const path = join(folder, 'litellm.json')
  writeFileSync(path, JSON.stringify(models))
  return path
}
export const mapped = (input_cost_per_token: number, output_cost_per_token: number) => {
  return { litellm_provider: 'openai', mode: 'chat', input_cost_per_token, output_cost_per_token }
}
