import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { StoredPool } from '../../../../../internal/attribution/pools/pool.js'
import { allocationPolicy } from '../../../../../internal/attribution/pools/pool-policy.js'
import { type EvidenceDeps, strongestEvidence } from '../../../../../internal/attribution/stages/a/evidence.js'
import { DEFAULT_SETTINGS, type TenantSettings } from '../../../../../internal/auth/tenant.js'
import type { Directory } from '../../../../../internal/directory/directory.js'
import { mappingPolicy } from '../../../../../internal/directory/mapping/mapping-policy.js'
import { type RuleFields, type StoredRule, storedRule } from '../../../../../internal/directory/mapping/mapping-rule.js'
import type { Invocation } from '../../../../../internal/invocations/invocation.js'
import { call } from '../../../../support/attribution-events.js'
import { directoryOf } from '../../../../support/directory.js'

const ADA = 'ada@example.com'
const EMPTY = directoryOf()
const COMPANY = directoryOf({
  services: [{ name: 'search', owner: 'team-search', aliases: ['finder'] }],
  identities: [
    { name: ADA, owner: 'team-ada', service: 'search' },
    { name: 'bob@example.com', owner: 'team-bob' },
    { name: 'eve@example.com', service: 'scripts' },
  ],
  principals: [
    { id: 'key_of_search', service: 'finder' },
    { id: 'key_of_scripts', service: 'scripts' },
  ],
})

interface Case {
  readonly stated?: Partial<Invocation>
  readonly principal?: string
  readonly directory?: Directory
  readonly settings?: Partial<TenantSettings>
  readonly pools?: readonly StoredPool[]
  readonly rules?: readonly StoredRule[]
  readonly isFromGateway?: boolean
  readonly intake?: string
}

const depsOf = ({ directory = COMPANY, settings = {}, pools = [], rules = [] }: Case): EvidenceDeps => ({
  directory,
  settingsOf: () => ({ ...DEFAULT_SETTINGS, ...settings }),
  policyOf: () => allocationPolicy(pools),
  mappingOf: () => mappingPolicy(rules),
})
const resolve = ({ stated = {}, principal = 'key_one', isFromGateway = false, intake, ...rest }: Case) =>
  strongestEvidence(call(stated), 'tnt_one', { principal, isFromGateway, intake }, depsOf(rest))

describe('strongest evidence', () => {
  test('a stated identity and service resolve with 0.95', () => {
    expect(resolve({ stated: { attributedService: 'search', attributedIdentity: ADA } })).toEqual({
      service: 'search',
      owner: 'team-search',
      evidenceBasis: 'identity_and_service_resolved',
      confidence: 9_500,
      evidence: {
        service_from: 'event',
        stated_service: 'search',
        in_directory: true,
        owner_from: 'directory_service',
      },
    })
  })

  test('a stated service resolves with 0.90', () => {
    expect(resolve({ stated: { attributedService: 'search' } })).toMatchObject({
      service: 'search',
      owner: 'team-search',
      evidenceBasis: 'service_resolved',
      confidence: 9_000,
    })
  })

  test('a stated identity that the directory maps to a service resolves with 0.85', () => {
    expect(resolve({ stated: { attributedIdentity: ADA } })).toEqual({
      service: 'search',
      owner: 'team-search',
      evidenceBasis: 'identity_resolved',
      confidence: 8_500,
      evidence: { service_from: 'directory_identity', in_directory: true, owner_from: 'directory_service' },
    })
  })

  test('the credential’s default service resolves with 0.80', () => {
    expect(resolve({ principal: 'key_of_search' })).toEqual({
      service: 'search',
      owner: 'team-search',
      evidenceBasis: 'principal_resolved',
      confidence: 8_000,
      evidence: { service_from: 'directory_principal', in_directory: true, owner_from: 'directory_service' },
    })
  })

  test('a stated service precedes the identity’s service, which precedes the credential’s', () => {
    const stated = { attributedService: 'own', attributedIdentity: ADA }

    expect(resolve({ stated, principal: 'key_of_scripts' })?.service).toBe('own')
    expect(resolve({ stated: { attributedIdentity: ADA }, principal: 'key_of_scripts' })?.service).toBe('search')
  })

  test('an identity unknown to the directory, or without a service there, resolves nothing', () => {
    expect(resolve({ stated: { attributedIdentity: 'stranger' } })).toBeUndefined()
    expect(resolve({ stated: { attributedIdentity: 'bob@example.com' } })).toBeUndefined()
  })

  test('if the identity has no service, the credential’s default service applies', () => {
    const resolution = resolve({ stated: { attributedIdentity: 'bob@example.com' }, principal: 'key_of_scripts' })

    expect(resolution).toMatchObject({ service: 'scripts', owner: 'team-bob', evidenceBasis: 'principal_resolved' })
  })

  test('by a credential’s default service, the team of a known identity comes before the service’s owner', () => {
    const stated = { attributedIdentity: 'bob@example.com' }

    const byDefault = resolve({ stated, principal: 'key_of_search' })
    const byStatement = resolve({ stated: { ...stated, attributedService: 'search' }, principal: 'key_of_search' })

    expect(byDefault).toMatchObject({ service: 'search', owner: 'team-bob', evidenceBasis: 'principal_resolved' })
    expect(byDefault?.evidence.owner_from).toBe('directory_identity')
    expect(byStatement).toMatchObject({ service: 'search', owner: 'team-search' })
  })

  test('an event without facts is not resolved', () => {
    expect(resolve({})).toBeUndefined()
    expect(
      resolve({ stated: { traceId: 'trace', workloadIdentity: 'spiffe://one', k8sWorkload: 'search' } }),
    ).toBeUndefined()
  })

  describe('a mapping rule', () => {
    const rule = (set: RuleFields['set'] = { service: 'dev-tools' }, field: 'team' | 'user_agent' = 'team') =>
      storedRule(
        { name: 'tools', when: [{ field, match: 'prefix', value: 'dev' }], set },
        'mrl_tools',
        'tnt_one',
        Date.UTC(2026, 0),
      )
    const tags = { team: 'devs', 'caller.user-agent': 'dev/1' }

    test('resolves with 0.90 from a gateway, 0.70 from others and for what callers say of themselves', () => {
      const own = { stated: { tags }, rules: [rule()] }

      expect(resolve({ ...own, isFromGateway: true })).toEqual({
        service: 'dev-tools',
        owner: 'unassigned',
        evidenceBasis: 'mapping_rule',
        confidence: 9_000,
        evidence: {
          service_from: 'mapping_rule',
          in_directory: false,
          owner_from: 'none',
          mapping_rule: {
            id: 'mrl_tools',
            name: 'tools',
            version: 1,
            source: 'trusted',
            when: [{ field: 'team', match: 'prefix', value: 'dev' }],
          },
        },
      })
      expect(resolve(own)).toMatchObject({ confidence: 7_000, evidence: { mapping_rule: { source: 'claimed' } } })
      expect(resolve({ ...own, rules: [rule(undefined, 'user_agent')], isFromGateway: true })).toMatchObject({
        confidence: 7_000,
        evidence: { mapping_rule: { source: 'claimed' } },
      })
    })

    test('rests on a claim where a caller of the gateway could have written what it tests', () => {
      const sourceOf = (one: Case) =>
        resolve({ rules: [rule()], isFromGateway: true, ...one })?.evidence.mapping_rule?.source
      const ofPerson = storedRule(
        { name: 'ada', when: [{ field: 'identity', match: 'prefix', value: 'zoe' }], set: { service: 'dev-tools' } },
        'mrl_ada',
        'tnt_one',
        Date.UTC(2026, 0),
      )
      const person = { rules: [ofPerson], intake: 'bedrock-log' }

      expect(sourceOf({ stated: { tags }, intake: 'litellm' })).toBe('trusted')
      expect(sourceOf({ stated: { tags }, intake: 'otlp' })).toBe('claimed')
      expect(sourceOf({ stated: { tags }, intake: 'otlp', settings: { trusted_fields: ['otlp.team'] } })).toBe(
        'trusted',
      )
      expect(sourceOf({ stated: { attributedIdentity: 'zoe' }, ...person })).toBe('trusted')
      expect(sourceOf({ stated: { attributedIdentity: 'zoe', attributionConfidence: 0.7 }, ...person })).toBe('claimed')
    })

    test('decides after what the directory knows of the service, and before all else', () => {
      const rules = [rule()]
      const byRule = { service: 'dev-tools', evidenceBasis: 'mapping_rule' }
      const declared = { undeclared_services: 'declared' } as const

      expect(resolve({ rules, stated: { tags, attributedService: 'finder' } })).toMatchObject({ service: 'search' })
      expect(resolve({ rules, stated: { tags, attributedIdentity: ADA } })).toMatchObject({ service: 'search' })
      expect(resolve({ rules, stated: { tags, attributedService: 'key-7' }, settings: declared })).toMatchObject(byRule)
      expect(resolve({ rules, stated: { tags, attributedService: 'key-7' }, settings: declared })).not.toHaveProperty(
        'contested',
      )
      expect(resolve({ rules, stated: { tags }, principal: 'key_of_search' })).toMatchObject(byRule)
      expect(resolve({ rules, stated: { tags: { team: 'x' } }, principal: 'key_of_search' })).toMatchObject({
        evidenceBasis: 'principal_resolved',
      })
    })

    test('names a service as the directory does; its own owner, and tags that the call does not state, count', () => {
      expect(resolve({ rules: [rule({ service: 'finder' })], stated: { tags } })).toMatchObject({
        service: 'search',
        owner: 'team-search',
        evidence: { in_directory: true, owner_from: 'directory_service' },
      })
      const set = { service: 'finder', owner: 'team-x', tags: { TEAM: 'other', cost_center: '7' } }
      expect(resolve({ rules: [rule(set)], stated: { tags } })).toMatchObject({
        owner: 'team-x',
        tags: { cost_center: '7' },
        evidence: { owner_from: 'mapping_rule', mapping_rule: { tags: { cost_center: '7' } } },
      })
    })

    test('shows no identity that it tests', () => {
      const when = [{ field: 'identity', match: 'exact', value: 'bob@example.com' }] as RuleFields['when']
      const ofBob = storedRule({ name: 'bob', when, set: { service: 'dev-tools' } }, 'mrl_bob', 'tnt_one', 0)
      const resolution = resolve({ rules: [ofBob], stated: { attributedIdentity: 'bob@example.com' } })

      expect(resolution).toMatchObject({ service: 'dev-tools', owner: 'team-bob' })
      expect(JSON.stringify(resolution?.evidence)).not.toContain('bob@')
    })
  })

  test('evidence of another tenant resolves nothing', () => {
    expect(
      strongestEvidence(call({ attributedIdentity: ADA }), 'tnt_two', { principal: 'key_of_search' }, depsOf({})),
    ).toBeUndefined()
  })
})

describe('a stated service', () => {
  test('a service stated by an alias is recorded by name, and the explanation contains both', () => {
    expect(resolve({ stated: { attributedService: 'finder' } })).toMatchObject({
      service: 'search',
      owner: 'team-search',
      evidence: { service_from: 'directory_alias', stated_service: 'finder', in_directory: true },
    })
  })

  test.each(['finder', ' Finder ', 'SEARCH', 'search'])('%j is found trimmed and without case', (attributedService) => {
    expect(resolve({ stated: { attributedService } })).toMatchObject({
      service: 'search',
      evidenceBasis: 'service_resolved',
    })
  })

  test('an accent is the same letter in one character or two', () => {
    const directory = directoryOf({ services: [{ name: 'Caf\u00e9', owner: 'team-cafe' }] })

    expect(resolve({ stated: { attributedService: 'cafe\u0301' }, directory })?.service).toBe('Caf\u00e9')
  })

  test.each([
    ['auto', COMPANY, 7_000],
    ['auto', EMPTY, 9_000],
    ['declared', EMPTY, 7_000],
    ['resolved', COMPANY, 9_000],
  ] as const)(
    'a stated service that the directory does not know: undeclared_services %s',
    (undeclared_services, directory, confidence) => {
      const resolution = resolve({
        stated: { attributedService: 'new' },
        directory,
        settings: { undeclared_services },
      })

      expect(resolution).toMatchObject({ service: 'new', confidence, evidence: { in_directory: false } })
      expect([resolution?.evidenceBasis, resolution?.contested, resolution?.evidence.conflict]).toEqual(
        confidence === 7_000
          ? ['service_declared', 'undeclared_service', { by: 'undeclared_service' }]
          : ['service_resolved', undefined, undefined],
      )
    },
  )

  test('a stated, known service is resolved by name or alias if the tenant requires the directory', () => {
    const settings = { undeclared_services: 'declared' } as const

    expect(resolve({ stated: { attributedService: 'search' }, settings })?.evidenceBasis).toBe('service_resolved')
    expect(resolve({ stated: { attributedService: 'finder' }, settings })?.evidenceBasis).toBe('service_resolved')
    expect(resolve({ stated: { attributedService: 'search', attributedIdentity: 'x' }, settings })?.confidence).toBe(
      9_500,
    )
  })
})

describe('a fact that contradicts the stated service', () => {
  const directory = directoryOf({
    services: [
      { name: 'search', owner: 'team-search', aliases: ['finder'] },
      { name: 'chat', owner: 'team-chat' },
    ],
    identities: [
      { name: 'sa-search', service: 'finder', is_workload: true },
      { name: ADA, owner: 'team-ada', service: 'search' },
    ],
    principals: [
      { id: 'key_bound', service: 'finder', exclusive: true },
      { id: 'key_default', service: 'search' },
    ],
  })

  test.each([
    ['stated as the identity', { attributedIdentity: 'sa-search' }],
    ['stated beside a person', { attributedIdentity: 'eve', workloadIdentity: 'sa-search' }],
  ])('a workload of another service contradicts, and both are named: %s', (_, stated) => {
    expect(resolve({ stated: { attributedService: 'chat', ...stated }, directory })).toMatchObject({
      service: 'chat',
      evidenceBasis: 'service_declared',
      confidence: 7_000,
      contested: 'workload_identity',
      evidence: { stated_service: 'chat', conflict: { by: 'workload_identity', service: 'search' } },
    })
    expect(resolve({ stated: { attributedService: 'Finder', ...stated }, directory })).toMatchObject({
      service: 'search',
      evidenceBasis: 'identity_and_service_resolved',
    })
  })

  test('a person of another team contradicts nothing', () => {
    const resolution = resolve({ stated: { attributedService: 'chat', attributedIdentity: ADA }, directory })

    expect(resolution).toMatchObject({ service: 'chat', confidence: 9_500 })
    expect(resolution).not.toHaveProperty('contested')
  })

  test('a credential that belongs to one service alone wins over a claim, which is shown', () => {
    expect(resolve({ stated: { attributedService: 'chat' }, principal: 'key_bound', directory })).toMatchObject({
      service: 'search',
      owner: 'team-search',
      evidenceBasis: 'exclusive_principal_resolved',
      confidence: 8_000,
      contested: 'exclusive_principal',
      evidence: { stated_service: 'chat', conflict: { by: 'exclusive_principal', service: 'chat' } },
    })
    const silent = resolve({ principal: 'key_bound', directory })
    expect(silent).toMatchObject({ service: 'search', evidenceBasis: 'exclusive_principal_resolved' })
    expect(silent).not.toHaveProperty('contested')
    // A claim that agrees is as good as any other.
    expect(resolve({ stated: { attributedService: 'finder' }, principal: 'key_bound', directory })).toMatchObject({
      service: 'search',
      evidenceBasis: 'service_resolved',
    })
  })

  test('a default service is no binding', () => {
    const resolution = resolve({ stated: { attributedService: 'chat' }, principal: 'key_default', directory })

    expect(resolution).toMatchObject({ service: 'chat', confidence: 9_000 })
    expect(resolution).not.toHaveProperty('contested')
  })

  test.each([
    ['Unallocated', 'pool_name'],
    ['rest of sales', 'pool_name'],
    ['se\u0430rch', 'mixed_scripts'],
    ['search\u200b', 'hidden_characters'],
  ])('%j is only declared, whatever the setting', (attributedService, name) => {
    const pool = {
      id: 'pol_1',
      tenant_id: 'tnt_one',
      name: 'Rest of Sales',
      owner: 'sales',
      priority: 1,
      rules: [],
      created_at: '',
    }
    const settings = { undeclared_services: 'resolved' } as const

    expect(resolve({ stated: { attributedService }, directory, settings, pools: [pool] })).toMatchObject({
      service: attributedService,
      evidenceBasis: 'service_declared',
      contested: 'misleading_name',
      evidence: { conflict: { by: 'misleading_name', name } },
    })
  })
})

describe('owner', () => {
  const ownerOf = (stated: Case) => {
    const resolution = resolve(stated)
    return [resolution?.owner, resolution?.evidence.owner_from]
  }

  test('the owner is the service’s owner', () => {
    expect(ownerOf({ stated: { attributedService: 'search', attributedIdentity: ADA } })).toEqual([
      'team-search',
      'directory_service',
    ])
  })

  test('without a service owner, the owner is the identity’s team', () => {
    expect(ownerOf({ stated: { attributedService: 'new', attributedIdentity: ADA } })).toEqual([
      'team-ada',
      'directory_identity',
    ])
  })

  test('without a service owner and a team, the owner is the identity as given', () => {
    expect(ownerOf({ stated: { attributedService: 'new', attributedIdentity: 'stranger' } })).toEqual([
      'stranger',
      'event_identity',
    ])
    expect(ownerOf({ stated: { attributedIdentity: 'eve@example.com' } })).toEqual([
      'eve@example.com',
      'event_identity',
    ])
  })

  test('the owner is unassigned if no identity was given or the tenant does not allow identities as owners', () => {
    const settings = { owner_fallback: 'unassigned' } as const

    expect(ownerOf({ stated: { attributedService: 'new', attributedIdentity: 'stranger' }, settings })).toEqual([
      'unassigned',
      'none',
    ])
    expect(ownerOf({ stated: { attributedService: 'new' } })).toEqual(['unassigned', 'none'])
    expect(ownerOf({ principal: 'key_of_scripts' })).toEqual(['unassigned', 'none'])
  })

  test('an owner from the directory applies with every owner fallback', () => {
    const settings = { owner_fallback: 'unassigned' } as const

    expect(ownerOf({ stated: { attributedService: 'search' }, settings })).toEqual(['team-search', 'directory_service'])
    expect(ownerOf({ stated: { attributedService: 'new', attributedIdentity: ADA }, settings })).toEqual([
      'team-ada',
      'directory_identity',
    ])
  })
})

test('the evidence never contains the identity', () => {
  const services = fc.option(fc.constantFrom('search', 'finder', 'new'), { nil: undefined })
  const fallbacks = fc.constantFrom('identity', 'unassigned')
  const directories = fc.constantFrom(COMPANY, EMPTY)
  fc.assert(
    fc.property(
      services,
      directories,
      fallbacks,
      fc.boolean(),
      (attributedService, directory, owner_fallback, isRequired) => {
        const stated = { attributedService, attributedIdentity: ADA }
        const undeclared_services = isRequired ? 'declared' : 'resolved'

        const resolution = resolve({ stated, directory, settings: { owner_fallback, undeclared_services } })

        expect(JSON.stringify(resolution?.evidence ?? {})).not.toContain('ada')
      },
    ),
  )
})
