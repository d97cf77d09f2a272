import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { RULES_VERSION } from '../../internal/attribution/records/row.js'
import { askAs, refusalOf } from '../support/ask.js'
import { attributed, untilAttributed } from '../support/attributed.js'
import { accessibilityFaults, launchChromium, openConsole, signInByPassword } from '../support/chromium.js'
import { addTenant, command, untilKnown } from '../support/instance.js'
import { launchModelInstance, type ModelInstance, plant } from '../support/model-instance.js'
import { plantedCall } from '../support/planted-calls.js'

/** A tenant's models on the running product, from the first training to a recall. */

let instance: ModelInstance
let first = ''
let second = ''

beforeAll(async () => {
  instance = await launchModelInstance()
})
afterAll(() => instance.close())

const shownModel = async (id: string) => (await instance.ask('GET', `/v1/models/${id}`)).json
const interpretations = async (numbers: readonly number[]) =>
  (await instance.infer(numbers)).map(({ record }) => record.interpretation)

test('a tenant without enough records gets no training', async () => {
  expect(await instance.train()).toEqual({
    outcome: 'too_few_examples',
    model_id: null,
    reasons: [],
    findings: [],
  })
  expect((await instance.ask('GET', '/v1/models')).json.data).toEqual([])
})

test('a version that passes validation serves and infers the calls that facts do not resolve', async () => {
  await plant(instance)

  const { outcome, model_id } = await instance.train()
  first = model_id ?? ''

  expect(outcome).toBe('promoted')
  expect(await instance.untilEvents(1)).toEqual(['degraded_serving none'])
  for (const { planted, record } of await instance.infer([1, 2, 3, 4, 5])) {
    expect(record).toMatchObject({
      service: planted,
      owner: 'unassigned',
      output_state: 'inferred',
      interpretation: {
        stage_origin: 'stage_b',
        evidence_basis: 'trained_inference',
        model_version: first,
        degradation_state: 'none',
        confidence: 0.95,
        confidence_band: 'chargeback_ready',
        export_eligibility: 'eligible',
      },
      explanation: {
        evidence: { model: first, passed_validation: true },
        inference: { caps: [{ cap: 'policy', at: '0.9500' }] },
        alternatives: [{ service: planted === 'chat' ? 'search' : 'chat', owner: 'unassigned' }],
      },
    })
    expect(Number(record.explanation.inference.probability)).toBeGreaterThanOrEqual(0.95)
  }
})

test('a person reads on the card at the console why a call was inferred, and how sure that is', async () => {
  const [inferred] = await instance.infer([6])
  const { id, explanation, service } = inferred?.record ?? {}
  const browser = await launchChromium()
  try {
    const { page, faults } = await openConsole(browser)
    await signInByPassword(page, instance.service, `/explorer?record=${id}`)
    const card = page.locator('.card')
    await card.locator('dt:has-text("spoke for it")').waitFor()
    const text = ((await card.textContent()) ?? '').replace(/\s+/g, ' ')

    expect(await card.locator('h2').textContent()).toContain(service)
    expect(explanation.inference.reasons.length).toBeGreaterThan(0)
    for (const reason of explanation.inference.reasons) expect(text).toContain(reason.text)
    expect(text).toContain(`Inferred. ${explanation.summary}`)
    expect(text).toContain(explanation.alternatives[0].service)
    expect(text).toMatch(/named at 0\.80 or more, 9\d\.\d % were right\. It was compared with 1 other service\./)
    expect(await accessibilityFaults(page)).toEqual([])
    expect(faults).toEqual([])
  } finally {
    await browser.close()
  }
})

test('the card of a version shows its training data and its results', async () => {
  const card = await shownModel(first)

  expect(card).toMatchObject({
    id: first,
    status: 'serving',
    seed: 1,
    examples: { resolved: 4_000, unresolved: 2_000, overrides: 0, disputes: 0 },
    validation: { passed: true, reasons: [], audits: null },
    shadow: null,
  })
  expect(card.classes.map(({ service }: { service: string }) => service)).toEqual(['chat', 'search'])
  expect(card.validation.served_traffic.accuracy).toBeGreaterThan(0.95)
  expect(card.calibration_curve.length).toBeGreaterThan(0)
  expect(card.feature_importance.map(({ feature }: { feature: string }) => feature)).toContain('model')
  const { lines } = await command(instance.service, ['model', 'show', first])
  expect(JSON.parse(lines.join('\n'))).toEqual(card)
})

test('a call unlike all training data is not inferred', async () => {
  const strange = {
    ingestion_timestamp: new Date().toISOString(),
    provider: 'anthropic',
    requested_model: 'claude-opus-4',
    input_tokens: 3,
    output_tokens: 90_000,
  }

  const { confidence, degradation_state } = (await attributed(instance.ask, strange)).interpretation

  expect({ isSure: confidence >= 0.95, degradation_state }).toEqual({ isSure: false, degradation_state: 'none' })
})

test('a model belongs to its tenant: another tenant neither sees it nor is served by it', async () => {
  const other = await addTenant(instance.broker, instance.service)
  const ask = askAs(instance.service.baseUrl, { 'x-api-key': other.apiKey })
  await untilKnown(instance.service.baseUrl, other.apiKey)

  expect((await ask('GET', '/v1/models')).json.data).toEqual([])
  expect(refusalOf(await ask('GET', `/v1/models/${first}`))).toEqual([403, 'TENANT_MISMATCH'])
  for (const decision of ['promote', 'recall', 'restore']) {
    expect(refusalOf(await ask('POST', `/v1/models/${first}/${decision}`))).toEqual([403, 'TENANT_MISMATCH'])
  }
  const { call } = plantedCall(1, Date.now(), false)
  expect(await attributed(ask, call)).toMatchObject({
    service: 'unallocated',
    interpretation: { stage_origin: 'stage_c', degradation_state: 'degraded_serving', model_version: RULES_VERSION },
  })
  expect((await command(instance.service, ['model', 'train', '--tenant', other.id])).lines).toEqual([
    'too few examples',
  ])
  const refused = await command(instance.service, ['model', 'recall', first, '--tenant', other.id])
  expect([refused.code, refused.lines.join()]).toEqual([1, expect.stringContaining('belongs to another tenant')])
})

test('a candidate answers in shadow: its card counts each event once, and it decides no record', async () => {
  const trained = await instance.train('--candidate', '--seed', '2')
  second = trained.model_id ?? ''
  expect(trained.outcome).toBe('candidate')
  expect(await shownModel(second)).toMatchObject({ status: 'candidate', seed: 2, shadow: null })

  const numbers = Array.from({ length: 40 }, (_, i) => i)
  expect((await interpretations(numbers)).every(({ model_version }) => model_version === first)).toBe(true)
  while (((await shownModel(second)).shadow?.events ?? 0) < 40) await sleep(20)

  expect((await shownModel(second)).shadow).toMatchObject({
    against: first,
    events: 40,
    agreed: 40,
    serving_ready: 40,
    candidate_ready: 40,
    ready_for_another: 0,
    changes: [],
  })
  expect((await instance.untilEvents(1)).length).toBe(1)
})

test('a promotion is one change: the candidate serves and the degradation state stays', async () => {
  const { status, json } = await instance.decide(second, 'promote')
  expect({ status, of: json.status }).toEqual({ status: 200, of: 'serving' })

  while ((await interpretations([1]))[0].model_version !== second) await sleep(20)

  expect((await shownModel(first)).status).toBe('previous')
  expect(await instance.untilEvents(1)).toEqual(['degraded_serving none'])
})

async function refusalToReattribute(model: string): Promise<string> {
  const window = ['--tenant', instance.service.credentials.tenant_id, '--from', '2026-01-01', '--to', '2026-01-02']
  const { code, lines } = await command(instance.service, ['reattribute', ...window, '--stage-b', model])
  expect(code).not.toBe(0)
  return lines.join('\n')
}

test('the previous version replaces a recalled one, records show it, and a restored version serves again', async () => {
  expect((await instance.decide(second, 'recall')).json.status).toBe('recalled')
  expect((await instance.untilEvents(2)).slice(1)).toEqual(['none model_recalled'])
  expect(await interpretations([1, 2])).toMatchObject([
    { model_version: first, degradation_state: 'model_recalled', evidence_basis: 'trained_inference' },
    { model_version: first, degradation_state: 'model_recalled', confidence_band: 'chargeback_ready' },
  ])

  // Nor does it answer for what is attributed again.
  expect(await refusalToReattribute(second)).toContain('was recalled')

  // A tenant that switches inference off has nothing inferred, by whichever version.
  await instance.ask('PATCH', '/api/v1/settings', { stage_b_enabled: false })
  expect((await instance.untilEvents(3)).slice(2)).toEqual(['model_recalled disabled'])
  expect(await refusalToReattribute(first)).toContain('inference (stage B) is disabled')
  expect(await interpretations([3])).toMatchObject([{ stage_origin: 'stage_c', degradation_state: 'disabled' }])
  await instance.ask('PATCH', '/api/v1/settings', { stage_b_enabled: true })
  expect((await instance.untilEvents(4)).slice(3)).toEqual(['disabled model_recalled'])

  expect((await instance.decide(second, 'restore')).json.status).toBe('serving')
  expect((await instance.untilEvents(5)).slice(4)).toEqual(['model_recalled none'])
  expect(await interpretations([4])).toMatchObject([{ model_version: second, degradation_state: 'none' }])
})

test('with all versions recalled the baseline advises; a decision can be repeated and is audited', async () => {
  await command(instance.service, ['model', 'recall', first])
  await command(instance.service, ['model', 'recall', second])
  expect((await instance.untilEvents(6)).slice(5)).toEqual(['none degraded_serving'])

  const { call } = plantedCall(5, Date.now() - 3 * 60 * 60 * 1000, false)
  const byBaseline = await untilAttributed(instance.ask, call, ({ output_state }) => output_state === 'inferred')
  expect(byBaseline.interpretation).toMatchObject({
    evidence_basis: 'heuristic_baseline',
    degradation_state: 'degraded_serving',
    export_eligibility: 'advisory',
  })
  expect((await instance.decide(first, 'recall')).status).toBe(200)
  expect((await instance.untilEvents(6)).length).toBe(6)

  const audited = async (): Promise<string[]> => {
    const { json } = await instance.ask('GET', '/api/v1/audit-log?limit=200')
    return json.data
      .filter(({ action }: { action: string }) => action.startsWith('model.'))
      .map(({ action, actor }: { action: string; actor: string }) => `${action} ${actor.slice(0, 3)}`)
      .reverse()
  }
  const wanted = [
    ...['model.train cli', 'model.train cli', 'model.train cli'],
    ...['model.promote key', 'model.recall key', 'model.restore key'],
    ...['model.recall cli', 'model.recall cli', 'model.recall key'],
  ]
  while ((await audited()).length < wanted.length) await sleep(50)
  expect(await audited()).toEqual(wanted)
})
