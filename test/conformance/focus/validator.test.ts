/** The FinOps Foundation's validator, on files of each version that it knows. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll } from 'vitest'
import type { Ask } from '../../support/ask.js'
import { run } from '../../support/clients/run.js'
import type { Checks } from '../../support/conformance/checks.js'
import { pinnedVersion } from '../../support/conformance/pins.js'
import { conformance } from '../../support/conformance/program.js'
import { tenantWithRecords } from '../../support/conformance/tenant.js'
import { exportedFile } from '../../support/exported.js'
import { privateDataDir } from '../../support/service.js'

/** What a ledger of attributed calls has, in the validator's words. */
const CAPABILITIES = [
  'ACCOUNT_NAMING_SUPPORTED',
  'MULTIPLE_PRICING_CATEGORIES_SUPPORTED',
  'NEGOTIATED_PRICING_SUPPORTED',
  'PUBLIC_PRICE_LIST_SUPPORTED',
  'USAGE_MEASUREMENT_SUPPORTED',
  'UNIT_PRICING_SUPPORTED',
  'SUB_ACCOUNT_SUPPORTED',
  'MULTIPLE_SUB_ACCOUNT_TYPES_SUPPORTED',
  'REGION_SUPPORTED',
  'TAGGING_SUPPORTED',
]

let ask: Ask
beforeAll(async () => {
  ask = (await tenantWithRecords()).ask
})

async function exported(fileFormat: 'csv' | 'parquet'): Promise<string> {
  const bytes = await exportedFile(ask, {
    focus_version: '1.2',
    file_format: fileFormat,
    period: { from: '2026-10-01', to: '2026-11-30' },
    group_by: ['owner', 'service', 'served_model', 'region', 'meter'],
  })
  const file = join(privateDataDir(), `file.${fileFormat}`)
  writeFileSync(file, bytes)
  return file
}

/** The validator's report in the form of JUnit: a case for each of its rules. */
async function validated(folder: string, file: string): Promise<Checks> {
  const report = join(privateDataDir(), 'report.xml')
  const args = ['--data-file', file, '--validate-version', '1.2', '--block-download']
  const wanted = ['--applicability-criteria', CAPABILITIES.join(), '--output-type', 'unittest']
  const python = join(folder, 'venv', 'bin', 'python')
  const program = join(folder, 'venv', 'bin', 'focus-validator')
  // It looks for its own list of currencies below the folder in which it runs.
  const cwd = join(folder, 'venv', 'lib', 'python3.12', 'site-packages')
  const { output } = await run(python, [program, ...args, ...wanted, '--output-destination', report], {
    cwd,
    minutesMax: 5,
  })
  if (!existsSync(report)) throw new Error(output)
  const cases = readFileSync(report, 'utf8').split('<testcase ').slice(1)
  const checks = new Map<string, string | undefined>()
  for (const each of cases) {
    const [, rule = ''] = /^name="([\w-]+)/.exec(each) ?? []
    if (!each.includes('<skipped')) checks.set(rule, /<failure .*?message="([^"]*)"/.exec(each)?.[1])
  }
  return checks
}

/** The first of two conditions holds, and the validator takes it for both. */
const PRICING_CURRENCY = [
  ...['46', '47', '48', '50', '51', '52', '54', '55', '56'].map((number) => `CostAndUsage-D-0${number}-C`),
  ...['PricingCurrencyListUnitPrice-C-003-M', 'PricingCurrencyListUnitPrice-C-007-C'],
]
const FILE = {
  version: pinnedVersion('focus/validator', 'focus_validator'),
  tries: 'FOCUS 1.2, the only version whose rules it brings along',
  installs: 'focus/validator',
  falseAlarms: {
    'ConsumedQuantity-C-000-C, ConsumedQuantity-C-003-C, ConsumedQuantity-C-005-C':
      'its condition reads CommitmentDiscountStatus, which "MUST be present in a FOCUS dataset when the provider ' +
      'supports commitment discounts": there are none.',
    'CostAndUsage-D-033-O, InvoiceId-C-000-O, InvoiceId-C-003-C':
      '"InvoiceId is RECOMMENDED to be present": these amounts are in no invoice.',
    [PRICING_CURRENCY.join(', ')]:
      '"MUST be present in a FOCUS dataset when the provider supports prices in virtual currency and publishes unit ' +
      'prices": prices are in USD, as the bill.',
  },
}

conformance({ name: 'focus-validator, CSV', ...FILE }, async (folder) => validated(folder, await exported('csv')))
conformance({ name: 'focus-validator, Parquet', ...FILE }, async (folder) =>
  validated(folder, await exported('parquet')),
)
