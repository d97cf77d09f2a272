import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  ConfigError,
  environmentOf,
  HelpAsked,
  readConfig,
  SETTINGS,
  type SettingName,
} from '../../../internal/config/settings.js'

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

const refusal = (wanted: readonly SettingName[], argv: readonly string[], env: Record<string, string> = {}): string => {
  try {
    readConfig(wanted, argv, env)
  } catch (cause) {
    if (cause instanceof ConfigError) return cause.message
    throw cause
  }
  throw new Error('nothing was refused')
}

describe('the value of a setting', () => {
  test('a flag overrides the environment, which overrides the default', () => {
    const env = { ATTRIBUTION_PORT: '9001' }

    expect(readConfig(['port'], ['--port', '9002'], env)).toEqual({ port: 9002 })
    expect(readConfig(['port'], [], env)).toEqual({ port: 9001 })
    expect(readConfig(['port'], [], {})).toEqual({ port: 8080 })
  })

  test('a setting that the role does not use is neither read nor validated', () => {
    expect(readConfig(['host'], [], { ATTRIBUTION_PORT: 'nonsense' })).toEqual({ host: '127.0.0.1' })
  })

  test('a value may follow its flag or an equals sign, and may contain one', () => {
    expect(readConfig(['natsPassword'], ['--nats-password', 'a=b'], {})).toEqual({ natsPassword: 'a=b' })
    expect(readConfig(['natsPassword'], ['--nats-password=a=b'], {})).toEqual({ natsPassword: 'a=b' })
  })

  test('the last of several equal flags wins', () => {
    expect(readConfig(['port'], ['--port', '1', '--port=2'], {})).toEqual({ port: 2 })
  })

  test('a switch has no value, or the value true or false', () => {
    expect(readConfig(['demo'], ['--demo'], {})).toEqual({ demo: true })
    expect(readConfig(['demo'], ['--demo=false'], { ATTRIBUTION_DEMO: 'true' })).toEqual({ demo: false })
    expect(readConfig(['demo'], [], { ATTRIBUTION_DEMO: 'true' })).toEqual({ demo: true })
    expect(readConfig(['demo'], [], {})).toEqual({ demo: false })
  })

  test('a switch does not consume the next argument', () => {
    expect(readConfig(['demo', 'port'], ['--demo', '--port', '1'], {})).toEqual({ demo: true, port: 1 })
  })

  test('the variable of a standard counts where neither flag nor variable is given', () => {
    const standard = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://standard:4318/v1/traces' }
    const own = { ATTRIBUTION_OTLP_TRACES_ENDPOINT: 'http://own:4318/v1/traces' }
    const read = (env: Record<string, string>, ...argv: string[]) =>
      readConfig(['otlpTracesEndpoint'], argv, env).otlpTracesEndpoint

    expect(read({})).toBe('')
    expect(read(standard)).toBe('http://standard:4318/v1/traces')
    expect(read({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: '' })).toBe('')
    expect(read({ ...standard, ...own })).toBe('http://own:4318/v1/traces')
    expect(read({ ...standard, ...own }, '--otlp-traces-endpoint', 'http://flag/')).toBe('http://flag/')
    expect(refusal(['otlpTracesEndpoint'], [], { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'collector:4318' })).toMatch(
      /^OTEL_EXPORTER_OTLP_TRACES_ENDPOINT must be a URL/,
    )
  })

  test('a list of stages without t, as for 0.3.0, has it with b', () => {
    expect(readConfig(['stages'], ['--stages', 'a,b,c'], {})).toEqual({ stages: ['a', 't', 'b', 'c'] })
    expect(readConfig(['stages'], ['--stages', 'b'], {})).toEqual({ stages: ['t', 'b'] })
    expect(readConfig(['stages'], ['--stages', 'a,c'], {})).toEqual({ stages: ['a', 'c'] })
  })

  test('stages are in pipeline order, however they are listed', () => {
    expect(readConfig(['stages'], ['--stages', 'c,t,a'], {})).toEqual({ stages: ['a', 't', 'c'] })
    expect(readConfig(['stages'], [], {})).toEqual({ stages: ['a', 't', 'b', 'c'] })
  })
})

describe('tuning', () => {
  const WANTED = ['webhookInFlight', 'webhookRetryMaximaMs', 'port'] as const
  const given = (name: string, value: unknown) => ({ ...readConfig(WANTED, [], {}), [name]: value })

  test('a pair is an argument of --tuning, or one of several in the variable; the argument wins', () => {
    const env = { ATTRIBUTION_TUNING: 'webhook-in-flight=3 webhook-retry-maxima-ms=1,2' }

    expect(readConfig(WANTED, ['--tuning', 'webhook-in-flight=2'], {})).toEqual(given('webhookInFlight', 2))
    expect(readConfig(WANTED, ['--tuning=webhook-in-flight=2', '--tuning', 'webhook-retry-maxima-ms=5'], env)).toEqual({
      ...given('webhookInFlight', 2),
      webhookRetryMaximaMs: [5],
    })
    expect(readConfig(WANTED, [], env)).toMatchObject({ webhookInFlight: 3, webhookRetryMaximaMs: [1, 2] })
  })

  test('another process reads it from the environment that is made of it', () => {
    const config = readConfig(WANTED, ['--tuning', 'webhook-in-flight=2', '--port', '1'], {})

    expect(readConfig(WANTED, [], environmentOf(config))).toEqual(config)
  })

  test('what another role reads is not refused here; what nobody reads is, and a wrong value', () => {
    expect(readConfig(WANTED, [], { ATTRIBUTION_TUNING: 'spool-bytes-max=1048576' })).toEqual(given('port', 8080))
    expect(refusal(WANTED, ['--tuning', 'webhook-inflight=2'])).toBe(
      '--tuning does not know webhook-inflight (did you mean webhook-in-flight?)',
    )
    expect(refusal(WANTED, [], { ATTRIBUTION_TUNING: 'webhook-in-flight' })).toBe(
      'ATTRIBUTION_TUNING webhook-in-flight needs =value',
    )
    expect(refusal(WANTED, ['--tuning', 'webhook-in-flight=65'])).toBe(
      '--tuning webhook-in-flight must be a whole number from 1 to 64',
    )
    expect(refusal(WANTED, [], { ATTRIBUTION_TUNING: 'webhook-in-flight=65' })).toBe(
      'ATTRIBUTION_TUNING webhook-in-flight must be a whole number from 1 to 64',
    )
    expect(refusal(['webhookInFlight'], ['--webhook-in-flight', '2'])).toBe(
      'unknown option --webhook-in-flight (did you mean --tuning webhook-in-flight=…?)',
    )
    expect(refusal(['port'], ['--tuning', 'webhook-in-flight=2'])).toContain('unknown option --tuning')
  })

  test('--help names the options that people need, --help-all all of them', () => {
    const help = (flag: string): string => {
      try {
        readConfig([...WANTED, 'rateReport'], [flag], {})
      } catch (cause) {
        if (cause instanceof HelpAsked) return cause.message
      }
      return ''
    }

    expect(help('--help')).toContain('--port')
    expect(help('--help')).not.toMatch(/rate-report|webhook-in-flight/)
    expect(help('--help-all')).toMatch(/--rate-report[\s\S]*webhook-in-flight +default 8/)
  })
})

test('a base URL has no trailing slashes', () => {
  const read = (...argv: string[]) => readConfig(['baseUrl', 'errorDocsUrl'], argv, {})

  expect(read('--base-url', 'https://api.example/', '--error-docs-url', 'https://docs.example/errors//')).toEqual({
    baseUrl: 'https://api.example',
    errorDocsUrl: 'https://docs.example/errors',
  })
  expect(read('--base-url=https://api.example/behind/a/proxy/')).toMatchObject({
    baseUrl: 'https://api.example/behind/a/proxy',
  })
  expect(read()).toEqual({ baseUrl: '', errorDocsUrl: '' })
})

describe('bounds', () => {
  test.each([
    ['port', '--port', ['0', '65535'], ['-1', '65536', '1.5', '1e3', '0x10', ' 1', '']],
    ['storePort', '--store-port', ['1', '65535'], ['0', '65536']],
    ['streamReplicas', '--stream-replicas', ['1', '5'], ['0', '6']],
    ['partitions', '--partitions', ['1', '64'], ['0', '65']],
    [
      'invocationsBytesMax',
      '--invocations-bytes-max',
      ['1048576', '1125899906842624'],
      ['1048575', '1125899906842625'],
    ],
    ['demoSpeed', '--speed', ['0.01', '1000000'], ['0.009', '1000000.1', '.5', '1.', '1e3', 'Infinity', 'NaN']],
    ['mode', '--mode', ['production', 'sandbox'], ['Production', 'test', '']],
    ['logLevel', '--log-level', ['trace', 'silent'], ['verbose']],
    ['demoEventIds', '--event-ids', ['fresh', 'fixed'], ['random']],
    ['host', '--host', ['::1'], ['']],
    [
      'natsUrl',
      '--nats-url',
      ['nats://one:4222', 'tls://one:4222', 'nats://one:4222,nats://two:4222'],
      ['http://one', 'one:4222', 'nats', '', 'nats://one:4222,', 'nats://one:4222,http://two'],
    ],
    ['storeUrl', '--store-url', ['http://one:8123', 'https://one'], ['nats://one', '127.0.0.1:8123', '']],
    ['stages', '--stages', ['a', 'a,b,c'], ['', 'd', 'a,a', 'a, b', 'a,']],
    [
      'withoutRoles',
      '--without-roles',
      ['courier', 'trainer,sentinel'],
      ['', 'gateway', 'courier,courier', 'courier, trainer'],
    ],
  ] as const)('%s takes its bounds and refuses what lies beyond them', (name, flag, good, bad) => {
    for (const text of good) expect(() => readConfig([name], [`${flag}=${text}`], {})).not.toThrow()
    for (const text of bad) expect(refusal([name], [`${flag}=${text}`])).toMatch(new RegExp(`^${flag} must be .+$`))
  })

  test('any whole number within the bounds is read unchanged', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 65_535 }),
        (port) => readConfig(['port'], [`--port=${port}`], {}).port === port,
      ),
    )
  })

  test('every default is within its bounds, unless it means "not set"', () => {
    for (const { fallback, parse } of Object.values(SETTINGS)) {
      if (fallback === undefined || String(fallback) === '') continue
      expect(parse(String(fallback))).toEqual(fallback)
    }
  })
})

describe('a configuration error', () => {
  test('a wrong value is reported with the flag or variable that gave it', () => {
    expect(refusal(['port'], ['--port', 'many'], { ATTRIBUTION_PORT: '1' })).toBe(
      '--port must be a whole number from 0 to 65535',
    )
    expect(refusal(['port'], [], { ATTRIBUTION_PORT: 'many' })).toBe(
      'ATTRIBUTION_PORT must be a whole number from 0 to 65535',
    )
  })

  test('all faults are reported at once, on one line', () => {
    expect(
      refusal(['port', 'mode', 'natsUrl'], ['--prot', '1', '--mode', 'x', '--nats-url'], { ATTRIBUTION_PORT: 'y' }),
    ).toBe(
      [
        'unknown option --prot (did you mean --port?)',
        '--nats-url needs a value',
        'ATTRIBUTION_PORT must be a whole number from 0 to 65535',
        '--mode must be one of production, sandbox',
      ].join('; '),
    )
  })

  test('--version answers with the version of the package', () => {
    expect(() => readConfig(['port'], ['--version'], {})).toThrow(new HelpAsked(manifest.version))
  })

  test('an unknown option is reported with the nearest one, or with where the known ones are listed', () => {
    expect(refusal(['port', 'demo'], ['--prot', '1'])).toBe('unknown option --prot (did you mean --port?)')
    expect(refusal(['demo'], ['serve'])).toBe('unknown option serve (see --help)')
  })

  test('an option of another role is reported as unknown', () => {
    expect(refusal(['port'], ['--store-port', '1'])).toContain('unknown option --store-port')
  })

  test.each([
    { argv: ['--port'], why: 'nothing follows' },
    { argv: ['--host', '--port', '1'], why: 'another option follows' },
  ])('a flag without a value is reported: $why', ({ argv }) => {
    expect(refusal(['host', 'port'], argv)).toBe(`${argv[0]} needs a value`)
  })

  test('every configuration error is one line', () => {
    const nasty = fc.string({ unit: fc.constantFrom('-', '=', '\n', '\r', '\u2028', 'x', '1'), maxLength: 12 })
    fc.assert(
      fc.property(fc.array(nasty, { minLength: 1, maxLength: 3 }), (argv) => {
        try {
          readConfig(['port', 'stages', 'demo'], argv, {})
        } catch (cause) {
          expect(cause).toBeInstanceOf(ConfigError)
          expect((cause as ConfigError).message.split(/[\n\r\u2028]/)).toHaveLength(1)
        }
      }),
    )
  })

  test('a configuration error does not repeat a rejected secret', () => {
    expect(refusal(['natsUrl'], [], { ATTRIBUTION_NATS_URL: 'http://user:hunter2@one' })).not.toContain('hunter2')
  })
})

test('every setting has a flag and a variable of the same name', () => {
  const settings = Object.values(SETTINGS)

  expect(new Set(settings.map(({ flag }) => flag)).size).toBe(settings.length)
  for (const { flag, variable } of settings) {
    expect(variable).toBe(`ATTRIBUTION_${flag.slice(2).replaceAll('-', '_').toUpperCase()}`)
  }
})
