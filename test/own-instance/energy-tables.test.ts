import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadEnergyFile } from '../../internal/valuation/energy/footprint.js'
import { type Ask, askAs } from '../support/ask.js'
import { attributed } from '../support/attributed.js'
import { type EcologitsModel, ecologitsAlias, ecologitsFile, ecologitsModel } from '../support/ecologits-files.js'
import { command } from '../support/instance.js'
import { launchService, type RunningService } from '../support/service.js'

/** A new edition of EcoLogits is proposed, read, accepted and undone on a running service. */

let service: RunningService
let ask: Ask
const folder = mkdtempSync(join(tmpdir(), 'attribution-energy-'))

beforeAll(async () => {
  service = await launchService({ roles: [], args: ['--rate-control', '1000', '--rate-read', '1000'] })
  ask = askAs(service.baseUrl, { 'x-api-key': service.credentials.api_key })
})
afterAll(() => service.stop())

const released = loadEnergyFile()
const range = ([min, max]: readonly [string, string]) => ({ min: Number(min), max: Number(max) })

/** The rows of the release as a file of EcoLogits, with some models more, or other ones in their place. */
function editionWith(others: readonly EcologitsModel[]): string {
  const names = new Set(others.map(({ name }) => name))
  const models = released.models
    .filter(({ data, model }) => data === undefined && !names.has(model))
    .map(({ provider, model, arch = 'dense', active, total, tps, ttft, warnings }) =>
      ecologitsModel(model, {
        provider,
        architecture: { type: arch, parameters: { total: range(total), active: range(active) } },
        warnings: warnings ?? null,
        deployment: { tps: tps === undefined ? null : Number(tps), ttft: ttft === undefined ? null : Number(ttft) },
      }),
    )
  const aliases = released.aliases
    .filter(({ provider, model }) => models.some((each) => each.provider === provider && each.name === model))
    .map(({ provider, alias, model }) => ecologitsAlias(alias, model, provider))
  const path = join(folder, `${Math.random()}.json`)
  writeFileSync(path, ecologitsFile([...models, ...others], aliases))
  return path
}

const run = async (...args: string[]) => {
  const { code, lines } = await command(service, ['energy', ...args])
  return { code, text: lines.join('\n'), json: () => JSON.parse(lines.find((line) => line.startsWith('{')) ?? '') }
}
const [BEFORE, AFTER] = ['2026-11-09T23:59:59.999Z', '2026-11-10T00:00:00.000Z']
const call = (requested_model: string, ingestion_timestamp: string) =>
  attributed(ask, { requested_model, ingestion_timestamp, input_tokens: 1_000, output_tokens: 250 })
async function untilComputedBy(model: string, id: string | undefined) {
  let record = await call(model, AFTER)
  for (const end = Date.now() + 60_000; record.explanation.footprint.details.energy_id !== id; await sleep(20)) {
    if (Date.now() > end) throw new Error(`no call was computed by ${id}`)
    record = await call(model, AFTER)
  }
  return record
}
const energyOf = async (id: string) => {
  const { energy_wh, energy_basis, explanation } = (await ask('GET', `/v1/attribution/${id}`)).json
  return { energy_wh, energy_basis, table: explanation.footprint.details.energy_id }
}

const larger = ecologitsModel('gpt-4o', { architecture: { type: 'dense', parameters: 300 } })
const newest = ecologitsModel('gpt-9-brand-new', { architecture: { type: 'dense', parameters: 70 } })
let proposal = ''

test('a proposal says what differs and what it would change, and changes nothing', async () => {
  const known = await call('gpt-4o', AFTER)
  const unknown = await call('gpt-9-brand-new', AFTER)
  expect([known.energy_basis, unknown.energy_basis]).toEqual(['modelled', 'unknown'])

  const file = editionWith([larger, newest])
  const proposed = await run('propose', '--ecologits', file, '--edition', '0.12.0', '--json')

  const { added, changed, dropped, held, footprints, total, ...shown } = proposed.json()
  proposal = shown.proposal
  expect([added, changed].map((rows) => rows.map(({ name }: { name: string }) => name))).toEqual([
    ['openai/gpt-9-brand-new'],
    ['openai/gpt-4o'],
  ])
  expect([dropped, held, shown.compared_with.as_of]).toEqual([[], [], released.as_of])
  expect(footprints).toEqual([
    expect.objectContaining({ provider: 'openai', served_model: 'gpt-4o', records: 1, newly_known: 0 }),
    expect.objectContaining({ served_model: 'gpt-9-brand-new', records: 1, old_energy_wh: '0', newly_known: 1 }),
  ])
  expect(footprints[0].old_energy_wh).toBe(known.energy_wh)
  expect(total).toMatchObject({ records: 2, newly_known: 1, newly_unknown: 0 })
  expect(await energyOf(known.id)).toEqual({ energy_wh: known.energy_wh, energy_basis: 'modelled', table: undefined })
  expect((await call('gpt-9-brand-new', AFTER)).energy_basis).toBe('unknown')

  const again = await run('propose', '--ecologits', file, '--edition', '0.12.0')
  expect(again.text).toContain(`attribution energy accept ${proposal}`)
})

test('once accepted it computes the calls since its time, is taken back, and is accepted again', async () => {
  const [known, unknown] = [await call('gpt-4o', AFTER), await call('gpt-9-brand-new', AFTER)]
  const unasked = await run('accept', proposal)
  expect([unasked.code, unasked.text]).toEqual([1, expect.stringContaining('add --yes')])

  const accepted = await run('accept', proposal, '--effective-from', AFTER, '--yes')
  const table = /^(energy_\w+): computes/m.exec(accepted.text)?.[1] ?? ''
  const record = await untilComputedBy('gpt-4o', table)
  expect(record.explanation.footprint.details).toMatchObject({ energy_id: table, model: { row: 'openai/gpt-4o' } })
  expect(record.energy_wh).not.toBe(known.energy_wh)
  expect((await call('gpt-9-brand-new', AFTER)).energy_basis).toBe('modelled')
  expect((await call('gpt-9-brand-new', BEFORE)).energy_basis).toBe('unknown')
  expect((await energyOf(known.id)).energy_wh).toBe(known.energy_wh)

  // Missing values are filled from the table in force, and a take-over finds it again.
  process.kill(service.pid('attributor'), 'SIGKILL')
  const period = ['--tenant', service.credentials.tenant_id, '--from', '2026-11-10', '--to', '2026-11-11']
  await command(service, ['reattribute', ...period, '--fill-unpriced'])
  expect(await energyOf(unknown.id)).toMatchObject({ energy_basis: 'modelled', table })
  expect((await energyOf(known.id)).energy_wh).toBe(known.energy_wh)

  const undone = await run('undo', table, '--yes')
  expect(undone.text).toContain('the energy table of the release computes the calls since 2026-11-10')
  expect((await untilComputedBy('gpt-4o', undefined)).energy_wh).toBe(known.energy_wh)
  expect(await energyOf(record.id)).toEqual({ energy_wh: record.energy_wh, energy_basis: 'modelled', table })

  await run('accept', proposal, '--effective-from', AFTER, '--yes')
  await untilComputedBy('gpt-4o', table)
  const { lines } = await command(service, ['energy', 'list'])
  const listed = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
  expect(listed.map(({ id, undone_at }) => [id, undone_at])).toEqual([
    [table, undefined],
    [proposal, undefined],
  ])
})

test('the same file on the accepted table is nothing to accept, and a proposal on another table is refused', async () => {
  const same = await run('propose', '--ecologits', editionWith([larger, newest]))
  expect(same.text).toContain('nothing to accept: no row differs')

  const stale = (await run('propose', '--ecologits', editionWith([newest]), '--json')).json().proposal
  const { json } = await run('propose', '--ecologits', editionWith([]), '--json')
  await run('accept', json().proposal, '--effective-from', '2026-11-12T00:00:00Z', '--yes')
  const refused = await run('accept', stale, '--yes')

  expect(refused.code).toBe(1)
  expect(refused.text).toContain('propose it again')
})

test('a row that looks wrong is held back, and a file that is not of EcoLogits is refused with the fault', async () => {
  const giant = ecologitsModel('gpt-9-giant', { architecture: { type: 'dense', parameters: 90_000 } })
  const held = await run('propose', '--ecologits', editionWith([giant]))
  expect(held.text).toContain('openai/gpt-9-giant  parameters_out_of_bounds')

  const path = join(folder, 'wrong.json')
  writeFileSync(path, '{"models": [{"name": "gpt-4o"}]}')
  const refused = await run('propose', '--ecologits', path)
  expect([refused.code, refused.text]).toEqual([1, expect.stringContaining('models.0.provider')])
})
