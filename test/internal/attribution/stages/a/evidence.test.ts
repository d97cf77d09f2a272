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

interface Asked {
  readonly stated?: Partial<Invocation>
  readonly principal?: string
  readonly directory?: Directory
  readonly settings?: Partial<TenantSettings>
}

const resolve = ({ stated = {}, principal = 'key_one', directory = COMPANY, settings = {} }: Asked) =>
  strongestEvidence(call(stated), 'tnt_one', principal, directory, { ...DEFAULT_SETTINGS, ...settings })

describe('the strongest evidence', () => {
  test('identity and service, both stated: 0.95', () => {
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

  test('a service stated: 0.90', () => {
    expect(resolve({ stated: { attributedService: 'search' } })).toMatchObject({
      service: 'search',
      owner: 'team-search',
      evidenceBasis: 'service_resolved',
      confidence: 9_000,
    })
  })

  test('only an identity stated, which the directory maps to a service: 0.85', () => {
    expect(resolve({ stated: { attributedIdentity: ADA } })).toEqual({
      service: 'search',
      owner: 'team-search',
      evidenceBasis: 'identity_resolved',
      confidence: 8_500,
      evidence: { service_from: 'directory_identity', in_directory: true, owner_from: 'directory_service' },
    })
  })

  test('the credential’s default service: 0.80', () => {
    expect(resolve({ principal: 'key_of_search' })).toEqual({
      service: 'search',
      owner: 'team-search',
      evidenceBasis: 'principal_resolved',
      confidence: 8_000,
      evidence: { service_from: 'directory_principal', in_directory: true, owner_from: 'directory_service' },
    })
  })

  test('what is stated beats the directory, and an identity beats the credential', () => {
    const stated = { attributedService: 'own', attributedIdentity: ADA }

    expect(resolve({ stated, principal: 'key_of_scripts' })?.service).toBe('own')
    expect(resolve({ stated: { attributedIdentity: ADA }, principal: 'key_of_scripts' })?.service).toBe('search')
  })

  test('an identity that the directory does not know resolves nothing, nor does one without a service', () => {
    expect(resolve({ stated: { attributedIdentity: 'stranger' } })).toBeUndefined()
    expect(resolve({ stated: { attributedIdentity: 'bob@example.com' } })).toBeUndefined()
  })

  test('an identity without a service leaves the credential to speak', () => {
    const resolution = resolve({ stated: { attributedIdentity: 'bob@example.com' }, principal: 'key_of_scripts' })

    expect(resolution).toMatchObject({ service: 'scripts', owner: 'team-bob', evidenceBasis: 'principal_resolved' })
  })

  test('no fact resolves nothing', () => {
    expect(resolve({})).toBeUndefined()
    expect(
      resolve({ stated: { traceId: 'trace', workloadIdentity: 'spiffe://one', k8sWorkload: 'search' } }),
    ).toBeUndefined()
  })

  test('of another tenant resolves nothing', () => {
    const asked = [call({ attributedIdentity: ADA }), 'tnt_two', 'key_of_search', COMPANY, DEFAULT_SETTINGS] as const

    expect(strongestEvidence(...asked)).toBeUndefined()
  })
})

describe('a service that is stated', () => {
  test('by an alias is shown by its name, and the explanation says both', () => {
    expect(resolve({ stated: { attributedService: 'finder' } })).toMatchObject({
      service: 'search',
      owner: 'team-search',
      evidence: { service_from: 'directory_alias', stated_service: 'finder', in_directory: true },
    })
  })

  test('and unknown to the directory is resolved all the same', () => {
    expect(resolve({ stated: { attributedService: 'new' } })).toMatchObject({
      service: 'new',
      evidenceBasis: 'service_resolved',
      confidence: 9_000,
      evidence: { in_directory: false },
    })
  })

  test.each([undefined, ADA])(
    'and unknown is only declared, 0.70, where the tenant requires the directory (identity: %s)',
    (attributedIdentity) => {
      const stated = { attributedService: 'new', attributedIdentity }

      expect(resolve({ stated, settings: { require_directory: true } })).toMatchObject({
        service: 'new',
        evidenceBasis: 'service_declared',
        confidence: 7_000,
      })
    },
  )

  test('and known is resolved where the tenant requires the directory, by name or alias', () => {
    const settings = { require_directory: true }

    expect(resolve({ stated: { attributedService: 'search' }, settings })?.evidenceBasis).toBe('service_resolved')
    expect(resolve({ stated: { attributedService: 'finder' }, settings })?.evidenceBasis).toBe('service_resolved')
    expect(resolve({ stated: { attributedService: 'search', attributedIdentity: 'x' }, settings })?.confidence).toBe(
      9_500,
    )
  })
})

describe('the owner', () => {
  const ownerOf = (asked: Asked) => {
    const resolution = resolve(asked)
    return [resolution?.owner, resolution?.evidence.owner_from]
  }

  test('is that of the service', () => {
    expect(ownerOf({ stated: { attributedService: 'search', attributedIdentity: ADA } })).toEqual([
      'team-search',
      'directory_service',
    ])
  })

  test('else the team of the identity', () => {
    expect(ownerOf({ stated: { attributedService: 'new', attributedIdentity: ADA } })).toEqual([
      'team-ada',
      'directory_identity',
    ])
  })

  test('else the identity as given', () => {
    expect(ownerOf({ stated: { attributedService: 'new', attributedIdentity: 'stranger' } })).toEqual([
      'stranger',
      'event_identity',
    ])
    expect(ownerOf({ stated: { attributedIdentity: 'eve@example.com' } })).toEqual([
      'eve@example.com',
      'event_identity',
    ])
  })

  test('else nobody, where the tenant wants no identities for owners or none was given', () => {
    const settings = { owner_fallback: 'unassigned' } as const

    expect(ownerOf({ stated: { attributedService: 'new', attributedIdentity: 'stranger' }, settings })).toEqual([
      'unassigned',
      'none',
    ])
    expect(ownerOf({ stated: { attributedService: 'new' } })).toEqual(['unassigned', 'none'])
    expect(ownerOf({ principal: 'key_of_scripts' })).toEqual(['unassigned', 'none'])
  })

  test('from the directory counts whatever the fallback is', () => {
    const settings = { owner_fallback: 'unassigned' } as const

    expect(ownerOf({ stated: { attributedService: 'search' }, settings })).toEqual(['team-search', 'directory_service'])
    expect(ownerOf({ stated: { attributedService: 'new', attributedIdentity: ADA }, settings })).toEqual([
      'team-ada',
      'directory_identity',
    ])
  })
})

test('the evidence never names the identity', () => {
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
