/** Validators of the description that an instance serves, and requests that schemathesis draws of it. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { beforeAll } from 'vitest'
import { run } from '../../support/clients/run.js'
import { packageVersion, pinnedVersion } from '../../support/conformance/pins.js'
import { conformance } from '../../support/conformance/program.js'
import { type TenantWithRecords, tenantWithRecords } from '../../support/conformance/tenant.js'
import { privateDataDir } from '../../support/service.js'

const folder = privateDataDir()
let tenant: TenantWithRecords
let description: string
beforeAll(async () => {
  tenant = await tenantWithRecords()
  description = await (await fetch(`${tenant.baseUrl}/openapi.json`)).text()
  writeFileSync(join(folder, 'openapi.json'), description)
})

conformance(
  {
    name: 'openapi-spec-validator',
    version: pinnedVersion('openapi/validators', 'openapi-spec-validator'),
    tries: '`/openapi.json`',
    installs: 'openapi/validators',
  },
  async (installed) => {
    const args = ['-m', 'openapi_spec_validator', 'openapi.json']
    const python = join(installed, 'venv', 'bin', 'python')
    const { code, output } = await run(python, args, { cwd: folder, minutesMax: 5 })
    return new Map([['openapi.json', code === 0 ? undefined : output]])
  },
)

/** A sign-in leads back to the client, and has nothing of its own to say. */
const LEADS_AWAY = 'operation-2xx-response at POST /v1/oauth/authorize'

conformance(
  {
    name: 'Redocly',
    version: packageVersion('@redocly/openapi-core'),
    tries: 'the recommended rules on `/openapi.json`',
    falseAlarms: {
      [LEADS_AWAY]:
        'RFC 6749, section 4.1.2: the authorization server "issues an authorization code and delivers it to the ' +
        'client by adding the following parameters to the query component of the redirection URI", which is a 303.',
    },
  },
  async () => {
    const config = await createConfig({ extends: ['recommended'], rules: { 'no-server-example.com': 'off' } })
    const found = await lintFromString({ source: description, absoluteRef: 'openapi.json', config })
    const levels = Object.entries(config.rules.oas3_1)
    const rules = levels.filter(([, level]) => level !== 'off').map(([rule]) => [rule, undefined] as const)
    const faults = found.map(({ ruleId, message, location: [at] }) => {
      const isKnown = at?.pointer === '#/paths/~1v1~1oauth~1authorize/post/responses'
      return [isKnown ? LEADS_AWAY : `${ruleId} at ${at?.pointer}`, message] as const
    })
    return new Map<string, string | undefined>([...rules, ...faults])
  },
)

const SECONDS = 150

/** Each check, by the title of its failures. */
const CHECKS: Readonly<Record<string, string>> = {
  'Server error': 'not_a_server_error',
  'Undocumented HTTP status code': 'status_code_conformance',
  'Undocumented Content-Type': 'content_type_conformance',
  'Missing required headers': 'response_headers_conformance',
  'Response violates schema': 'response_schema_conformance',
  'Schema-violating request accepted': 'negative_data_rejection',
  'Schema-valid request rejected': 'positive_data_acceptance',
  'Missing header not rejected': 'missing_required_header',
  'Wrong response to undeclared method': 'unsupported_method',
  'Use after free': 'use_after_free',
  'Resource is not available after creation': 'ensure_resource_availability',
  'API accepts requests without authentication': 'ignored_auth',
}
const RFC_9110 = 'RFC 9110, section'
const UNKNOWN_METHOD =
  `${RFC_9110} 9.1: "An origin server that receives a request method that is unrecognized or not implemented SHOULD ` +
  'respond with the 501 (Not Implemented) status code." (QUERY)'

/** What is wrong costs only itself: an element of these bodies that violates the schema is named in the answer. */
const BATCHES: readonly string[] = ['POST /api/v1/invocations', 'PUT /api/v1/directory/import']

interface Report {
  readonly operations: { readonly tested: number }
  readonly failures: readonly { readonly title: string; readonly operations: readonly string[] }[]
}

conformance(
  {
    name: 'schemathesis',
    version: pinnedVersion('openapi/validators', 'schemathesis'),
    tries: 'all checks, by examples, coverage, fuzzing and stateful, for every operation',
    installs: 'openapi/validators',
    falseAlarms: {
      not_a_server_error: UNKNOWN_METHOD,
      unsupported_method: UNKNOWN_METHOD,
      negative_data_rejection:
        `${RFC_9110} 15.3.1: of POST and PUT the content of a 200 is "the status of, or results obtained from, the ` +
        'action". (An element of a batch that violates the schema is refused by itself, in the answer.)',
      positive_data_acceptance:
        `${RFC_9110} 15.5.21: 422 is for content whose "syntax is correct, but it was unable to process the contained ` +
        'instructions". (A name that is taken, a cursor of another query, an unknown client, a key used before.)',
    },
    stopsByTime: true,
  },
  async (installed) => {
    const { baseUrl, credentials } = tenant
    const args = [
      ...['-m', 'schemathesis.cli', 'run', `${baseUrl}/openapi.json`, '-H', `X-API-Key: ${credentials.api_key}`],
      ...['--phases', 'examples,coverage,fuzzing,stateful', '--max-examples', '5', '--max-time', String(SECONDS)],
      ...['--exclude-operation-id', 'revokeApiKey', '--exclude-operation-id', 'deleteClient'],
      ...[
        '--continue-on-failure',
        '--no-shrink',
        '--seed',
        '1',
        '--report',
        'json',
        '--report-json-path',
        'report.json',
      ],
    ]
    const python = join(installed, 'venv', 'bin', 'python')
    await run(python, args, { cwd: folder, minutesMax: 9 })
    const { operations, failures } = JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) as Report

    const checks = new Map<string, string | undefined>(Object.values(CHECKS).map((check) => [check, undefined]))
    checks.set('tests every operation', operations.tested > 150 ? undefined : String(operations.tested))
    for (const { title, operations: places } of failures) {
      const check = CHECKS[title] ?? title
      checks.set(check, places.join(', '))
      const isKnown = (place: string): boolean =>
        check === 'positive_data_acceptance' ||
        (check === 'negative_data_rejection' ? BATCHES.includes(place) : place.startsWith('QUERY '))
      const others = places.filter((place) => !isKnown(place))
      if (others.length > 0) checks.set(`${check} of others`, others.join(', '))
    }
    return checks
  },
)
