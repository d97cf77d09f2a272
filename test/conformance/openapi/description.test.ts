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

/** The first of them once through, however slow the machine is; the others make of their time what they can. */
const PHASES = [
  ['--phases', 'examples,coverage'],
  ['--phases', 'fuzzing,stateful', '--max-time', '90'],
]

/** Each check, by the title of its failures. */
const CHECKS: Readonly<Record<string, string>> = {
  'Server error': 'not_a_server_error',
  'Undocumented HTTP status code': 'status_code_conformance',
  'Undocumented Content-Type': 'content_type_conformance',
  'Missing required headers': 'response_headers_conformance',
  'Response violates schema': 'response_schema_conformance',
  'API accepted schema-violating request': 'negative_data_rejection',
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

/**
 * Where a body or a sign-in that the schema allows may be refused for what no schema can say: one field by another or
 * by the clock, an unknown client, an address that does not resolve.
 */
const MAY_REFUSE: readonly string[] =
  `GET /v1/oauth/authorize, PATCH /api/v1/clients/{id}, POST /api/v1/api-keys, POST /api/v1/budgets,
  POST /api/v1/clients, POST /api/v1/directory/unknown-names, POST /api/v1/export-schedules,
  POST /api/v1/invocations, POST /api/v1/mapping-rules, POST /api/v1/mapping-rules/apply,
  POST /api/v1/mapping-rules/dry-run, POST /api/v1/pools, POST /api/v1/sql-users, POST /api/v1/usage-conventions,
  POST /api/v1/usage-conventions/dry-run, POST /api/v1/webhooks, POST /v1/attribution/overrides,
  POST /v1/exports/focus, POST /v1/oauth/authorize`.split(/,\s+/)

interface Description {
  readonly paths: Readonly<
    Record<string, Readonly<Record<string, { readonly parameters?: readonly { readonly name?: string }[] }>>>
  >
}

/** Also a cursor may be another query's, and filters too many. */
const mayRefuse = (): ReadonlySet<string> => {
  const { paths } = JSON.parse(description) as Description
  const lists = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { parameters = [] }]) => parameters.some(({ name = '' }) => /^(?:cursor|filter)/.test(name)))
      .map(([method]) => `${method.toUpperCase()} ${path}`),
  )
  return new Set([...MAY_REFUSE, ...lists])
}

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
      positive_data_acceptance:
        `${RFC_9110} 15.5.21: 422 is for content whose "syntax is correct, but it was unable to process the contained ` +
        'instructions". (A name that is taken, a cursor of another query, an unknown client: nowhere else.)',
    },
  },
  async (installed) => {
    const { baseUrl, credentials } = tenant
    const args = [
      ...['-m', 'schemathesis.cli', 'run', `${baseUrl}/openapi.json`, '-H', `X-API-Key: ${credentials.api_key}`],
      ...['--exclude-operation-id', 'revokeApiKey', '--exclude-operation-id', 'deleteClient', '--max-examples', '5'],
      ...['--continue-on-failure', '--no-shrink', '--seed', '1', '--report', 'json'],
    ]
    const python = join(installed, 'venv', 'bin', 'python')
    const reports: Report[] = []
    for (const [i, phases] of PHASES.entries()) {
      const file = `report-${i}.json`
      const env = { PYTHONPATH: installed, SCHEMATHESIS_HOOKS: 'hooks' }
      await run(python, [...args, ...phases, '--report-json-path', file], { cwd: folder, env, minutesMax: 9 })
      reports.push(JSON.parse(readFileSync(join(folder, file), 'utf8')) as Report)
    }

    const checks = new Map<string, string | undefined>(Object.values(CHECKS).map((check) => [check, undefined]))
    const refusing = mayRefuse()
    // A method that nobody knows, or an operation that may refuse.
    const isKnown = (check: string, place: string): boolean =>
      check === 'positive_data_acceptance' ? refusing.has(place) : place.startsWith('QUERY ')
    const tested = reports[0]?.operations.tested ?? 0
    checks.set('tests every operation', tested > 150 ? undefined : String(tested))
    for (const { title, operations: places } of reports.flatMap(({ failures }) => failures)) {
      const check = CHECKS[title] ?? title
      checks.set(check, places.join(', '))
      const others = places.filter((place) => !isKnown(check, place))
      if (others.length > 0) checks.set(`${check} of others`, others.join(', '))
    }
    return checks
  },
)
