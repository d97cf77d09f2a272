import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Directory } from '../../../../../internal/attribution/directory/directory.js'
import { strongestEvidence } from '../../../../../internal/attribution/stages/a/evidence.js'
import { DEFAULT_SETTINGS, type TenantSettings } from '../../../../../internal/auth/tenant.js'
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
}

const resolve = ({ stated = {}, principal = 'key_one', directory = COMPANY, settings = {} }: Case) =>
  strongestEvidence(call(stated), 'tnt_one', principal, directory, { ...DEFAULT_SETTINGS, ...settings })

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

  test('a stated service takes precedence over the identity’s service, which takes precedence over the credential’s', () => {
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

  test('an event without facts is not resolved', () => {
    expect(resolve({})).toBeUndefined()
    expect(
      resolve({ stated: { traceId: 'trace', workloadIdentity: 'spiffe://one', k8sWorkload: 'search' } }),
    ).toBeUndefined()
  })

  test('evidence of another tenant resolves nothing', () => {
    const args = [call({ attributedIdentity: ADA }), 'tnt_two', 'key_of_search', COMPANY, DEFAULT_SETTINGS] as const

    expect(strongestEvidence(...args)).toBeUndefined()
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

  test('a stated service that the directory does not know is still resolved', () => {
    expect(resolve({ stated: { attributedService: 'new' } })).toMatchObject({
      service: 'new',
      evidenceBasis: 'service_resolved',
      confidence: 9_000,
      evidence: { in_directory: false },
    })
  })

  test.each([undefined, ADA])(
    'a stated, unknown service is only declared (0.70) if the tenant requires the directory (identity: %s)',
    (attributedIdentity) => {
      const stated = { attributedService: 'new', attributedIdentity }

      expect(resolve({ stated, settings: { require_directory: true } })).toMatchObject({
        service: 'new',
        evidenceBasis: 'service_declared',
        confidence: 7_000,
      })
    },
  )

  test('a stated, known service is resolved by name or alias if the tenant requires the directory', () => {
    const settings = { require_directory: true }

    expect(resolve({ stated: { attributedService: 'search' }, settings })?.evidenceBasis).toBe('service_resolved')
    expect(resolve({ stated: { attributedService: 'finder' }, settings })?.evidenceBasis).toBe('service_resolved')
    expect(resolve({ stated: { attributedService: 'search', attributedIdentity: 'x' }, settings })?.confidence).toBe(
      9_500,
    )
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
      (attributedService, directory, owner_fallback, require_directory) => {
        const stated = { attributedService, attributedIdentity: ADA }

        const resolution = resolve({ stated, directory, settings: { owner_fallback, require_directory } })

        expect(JSON.stringify(resolution?.evidence ?? {})).not.toContain('ada')
      },
    ),
  )
})
