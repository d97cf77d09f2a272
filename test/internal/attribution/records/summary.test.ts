import { expect, test } from 'vitest'
import { type Summarised, summaryOf } from '../../../../internal/attribution/records/summary.js'

const stored = (
  stated: Partial<Summarised>,
  evidence: object,
  inference: object | undefined = undefined,
): Summarised => ({
  service: 'checkout',
  owner: 'team-shop',
  evidence_basis: 'service_resolved',
  stage_origin: 'stage_a',
  confidence: '0.9000',
  attribution_confidence: '0.9500',
  degradation_state: 'none',
  export_eligibility: 'eligible',
  cost_usd: '0',
  cost_basis: 'price_book',
  cost_bound: '',
  cost_details: '{}',
  input_tokens: '1200',
  output_tokens: '250',
  usage_basis: 'reported',
  seen_by: '',
  ...stated,
  evidence: JSON.stringify(evidence),
  inference: inference === undefined ? '' : JSON.stringify(inference),
})

const LISTED = { service_from: 'event', in_directory: true, owner_from: 'directory_service' }
const BELOW = { confidence: '0.7000', export_eligibility: 'below_floor' } as const
const INFERRED = { probability: '0.8799', alternatives: [{ service: 'search', owner: 'x', probability: '0.0612' }] }

test('a cost that cannot be right stands beside the price', () => {
  expect(summaryOf(stored({ export_eligibility: 'implausible_cost' }, LISTED), '0.0055')).toContain(
    'because the cost that its sender states, 0 USD, cannot be right beside its price of 0.0055 USD.',
  )
})

test("a sender's estimate of the counts is not charged back, and the record says why", () => {
  expect(summaryOf(stored({ export_eligibility: 'advisory', usage_basis: 'estimated' }, LISTED), '0.0055')).toContain(
    'It is not charged back, because its sender estimated the counts.',
  )
})

test('an upper bound is not charged back, or only at the word of the tenant, and the record says why it is one', () => {
  const bound =
    'its cost is an upper bound: no rate for its cached tokens is known, and they are billed at the input rate.'
  const upper = { cost_bound: 'upper' } as const
  expect(summaryOf(stored({ ...upper, export_eligibility: 'cost_upper_bound' }, LISTED), '0.0055')).toContain(
    `It is not charged back, because ${bound}`,
  )
  expect(summaryOf(stored(upper, LISTED), '0.0055')).toContain(`it may be charged back; ${bound}`)
})

test('of ambiguous usage both readings stand beside their costs, and where to choose', () => {
  const ambiguous = { export_eligibility: 'ambiguous_usage', cost_usd: '0.0055' } as const
  const other = (cost_usd: string | null) =>
    JSON.stringify({ other_reading: { input_tokens: 1600, output_tokens: 250, cost_usd } })
  expect(summaryOf(stored({ ...ambiguous, cost_details: other('0.0061') }, LISTED), null)).toContain(
    'It is not charged back until a usage convention says what the counts of its sender mean ' +
      '(/api/v1/usage-conventions), because they can be read as 1200 input and 250 output tokens for 0.0055 USD, or ' +
      'as 1600 input and 250 output tokens for 0.0061 USD.',
  )
  expect(summaryOf(stored({ ...ambiguous, cost_details: other(null) }, LISTED), null)).toContain(
    'as 1600 input and 250 output tokens without a price.',
  )
  expect(summaryOf(stored(ambiguous, LISTED), null)).toContain('its sender says that its token counts are ambiguous.')
})

test.each<[string, Summarised]>([
  [
    'The call states its caller and its service: "checkout", which the directory lists; the service belongs to ' +
      '"team-shop". With a confidence of 0.95 it may be charged back.',
    stored({ evidence_basis: 'identity_and_service_resolved', confidence: '0.95' }, LISTED),
  ],
  [
    'The call states its service: "checkout-v2", which is "checkout" in the directory; the caller\'s team is ' +
      '"team-shop". With a confidence of 0.9 it may be charged back.',
    stored({}, { ...LISTED, stated_service: 'checkout-v2', owner_from: 'directory_identity' }),
  ],
  [
    'The call states its service: "checkout", which the directory does not list; no owner is known. It is not ' +
      'charged back, because its cost is unknown.',
    stored({ export_eligibility: 'unpriced' }, { ...LISTED, in_directory: false, owner_from: 'none' }),
  ],
  [
    'The call states its service: "checkout", which the directory lists; the service belongs to "team-shop". It is ' +
      'not charged back until somebody overrides it, because the cost that its sender states, 5000 USD, is too high ' +
      'for one call.',
    stored({ export_eligibility: 'implausible_cost', cost_usd: '5000' }, LISTED),
  ],
  [
    'The call states no service, but its caller works for "checkout" according to the directory; the service ' +
      'belongs to "team-shop". With a confidence of 0.85 it may be charged back.',
    stored({ evidence_basis: 'identity_resolved', confidence: '0.85' }, LISTED),
  ],
  [
    'The caller\'s team is "team-shop" according to the directory; nothing tells which service it used. With a ' +
      'confidence of 0.85 it may be charged back.',
    stored(
      { evidence_basis: 'owner_resolved', confidence: '0.85', service: 'unassigned' },
      { in_directory: false, owner_from: 'directory_identity' },
    ),
  ],
  [
    'The call does not state its service; going by calls like it, it belongs to "checkout" of "team-pay" with a ' +
      'probability of 87.9 %; the next likeliest is "search" at 6.1 %; the caller\'s team is "team-shop" according to ' +
      'the directory. With a confidence of 0.9 it may be charged back.',
    stored(
      { evidence_basis: 'trained_inference', stage_origin: 'stage_b' },
      { owner_from: 'directory_identity', inferred_owner: 'team-pay' },
      INFERRED,
    ),
  ],
  [
    'The call states its caller alone, of whom the directory knows neither a service nor an owner, and no cost pool ' +
      'has a rule for it; its cost goes to the pool "unallocated". It is not charged back, because its cost is unknown.',
    stored(
      { evidence_basis: 'default_pool', service: 'unallocated', export_eligibility: 'unpriced' },
      { pool: 'unallocated', rule: 'default', unknown_identity: true },
    ),
  ],
  [
    'The mapping rule "tools" attributes calls to "checkout" whose user agent begins with "claude-code/" and whose ' +
      'tag "env" is "prod", which the call only claims; the rule sets the owner "team-shop". Its confidence of 0.7 ' +
      'is below 0.80, so it is not charged back.',
    stored(
      { evidence_basis: 'mapping_rule', ...BELOW },
      {
        service_from: 'mapping_rule',
        in_directory: false,
        owner_from: 'mapping_rule',
        mapping_rule: {
          id: 'mrl_1',
          name: 'tools',
          version: 2,
          source: 'claimed',
          when: [
            { field: 'user_agent', match: 'prefix', value: 'claude-code/' },
            { field: 'tag', key: 'env', match: 'exact', value: 'prod' },
          ],
        },
      },
    ),
  ],
  [
    'The mapping rule "ada" attributes calls to "checkout" whose caller is one that the rule names; the service ' +
      'belongs to "team-shop". With a confidence of 0.9 it may be charged back.',
    stored(
      { evidence_basis: 'mapping_rule' },
      {
        ...LISTED,
        service_from: 'mapping_rule',
        mapping_rule: { name: 'ada', source: 'trusted', when: [{ field: 'identity', match: 'exact' }] },
      },
    ),
  ],
  [
    'The call states no service, but another call of its trace belongs to "checkout"; the owner "team-shop" is ' +
      'that of the other call. With a confidence of 0.82 it may be charged back.',
    stored({ evidence_basis: 'trace_correlated', confidence: '0.82' }, { ...LISTED, owner_from: 'trace' }),
  ],
  [
    'The call states no service; the credential that sent it belongs to "checkout" unless a call says otherwise; ' +
      'the service belongs to "team-shop". With a confidence of 0.8 it may be charged back.',
    stored({ evidence_basis: 'principal_resolved', confidence: '0.8' }, LISTED),
  ],
  [
    'The credential that sent the call belongs to "checkout" alone, although the call claims "search"; the service ' +
      'belongs to "team-shop". With a confidence of 0.8 it may be charged back.',
    stored(
      { evidence_basis: 'exclusive_principal_resolved', confidence: '0.8' },
      { ...LISTED, conflict: { by: 'exclusive_principal', service: 'search' } },
    ),
  ],
  ...(
    [
      ['the directory does not list it', { by: 'undeclared_service' }],
      [
        'the workload that made it belongs to "search" in the directory',
        { by: 'workload_identity', service: 'search' },
      ],
      ['that is the name of a cost pool', { by: 'misleading_name', name: 'pool_name' }],
      ['that name looks like another one', { by: 'misleading_name', name: 'mixed_scripts' }],
    ] as const
  ).map(([doubt, conflict]): [string, Summarised] => [
    `The call states the service "checkout", but ${doubt}; the owner is the caller, because no other is known. Its ` +
      'confidence of 0.7 is below 0.80, so it is not charged back.',
    stored({ ...BELOW, evidence_basis: 'service_declared' }, { ...LISTED, owner_from: 'event_identity', conflict }),
  ]),
  [
    'A person set the service "checkout" and the owner "team-shop", instead of "unallocated" ("unallocated"), ' +
      'because "It was theirs.". With a confidence of 0.95 it may be charged back.',
    stored(
      { evidence_basis: 'manual_override', confidence: '0.95' },
      { override: { reason: 'It was theirs.' }, replaced: { service: 'unallocated', owner: 'unallocated' } },
    ),
  ],
  [
    'A person set the service "checkout" and the owner "team-shop" for this call and others at once, instead of ' +
      '"unallocated" ("unallocated"), because "It was theirs.". With a confidence of 0.95 it may be charged back.',
    stored(
      { evidence_basis: 'manual_override', confidence: '0.95' },
      {
        override: { reason: 'It was theirs.', bulk_override: 'ovr_1' },
        replaced: { service: 'unallocated', owner: 'unallocated' },
      },
    ),
  ],
  [
    'The call states its service: "checkout", which the directory lists; the service belongs to "team-shop". It is ' +
      'disputed, because "Not ours.", and is not charged back meanwhile.',
    stored({ export_eligibility: 'disputed' }, { ...LISTED, dispute: { reason: 'Not ours.' } }),
  ],
  [
    'The call does not state its service; going by calls like it, it belongs to "checkout" of "team-shop" with a ' +
      'probability of 87.9 %; the next likeliest is "search" at 6.1 %. It is not charged back, because it was made ' +
      'outside the region to which the tenant is bound.',
    stored(
      { evidence_basis: 'trained_inference', stage_origin: 'stage_b', export_eligibility: 'residency_restricted' },
      { model: 'mdl_1' },
      INFERRED,
    ),
  ],
  [
    'The call does not state its service; one other call of its trace belongs to "checkout" of "team-shop", so ' +
      'this one is assumed to belong there, too. Its confidence of 0.6 is below 0.80, so it is not charged back.',
    stored(
      {
        evidence_basis: 'heuristic_baseline',
        stage_origin: 'stage_b',
        confidence: '0.6',
        export_eligibility: 'below_floor',
      },
      { most_frequent_of: 'trace', resolved_records: 1, of_this_class: 1 },
      INFERRED,
    ),
  ],
  [
    'The call does not state its service; of 240 calls that the same credential sent, 180 belong to "checkout" of ' +
      '"team-shop", so this one is assumed to belong there, too. It is an estimate for information only and not ' +
      'charged back, because no trained attribution model was in use when the call was made.',
    stored(
      { evidence_basis: 'heuristic_baseline', stage_origin: 'stage_b', export_eligibility: 'advisory' },
      { most_frequent_of: 'principal', resolved_records: 240, of_this_class: 180 },
      INFERRED,
    ),
  ],
  [
    'Nothing tells who made the call; its cost goes to the pool "checkout", by the rule provider = "openai" and ' +
      'ingestion_layer = "proxy". Its confidence of 0.3 is below 0.80, so it is not charged back.',
    stored(
      { ...BELOW, evidence_basis: 'allocation_policy', stage_origin: 'stage_c', confidence: '0.3' },
      { pool: 'checkout', rule: { provider: 'openai', ingestion_layer: 'proxy' } },
    ),
  ],
  [
    'Nothing tells who made the call, and no cost pool has a rule for it; its cost goes to the pool "checkout". ' +
      'Its confidence of 0.1 is below 0.80, so it is not charged back.',
    stored(
      { ...BELOW, evidence_basis: 'default_pool', stage_origin: 'stage_c', confidence: '0.1' },
      { pool: 'checkout', rule: 'default' },
    ),
  ],
])('%s', (text, record) => {
  expect(summaryOf(record, null)).toBe(text)
})

const pooled = stored({ ...BELOW, evidence_basis: 'default_pool', stage_origin: 'stage_c' }, { rule: 'default' })
const guess = { model: 'mdl_1', service: 'search', owner: 'team-search' }

test('a summary names the fact that spoke most for a choice', () => {
  const record = stored({ evidence_basis: 'trained_inference', stage_origin: 'stage_b' }, {}, INFERRED)
  const text = 'the region "eu" is 6.1 times likelier in calls of this service than in others'

  expect(summaryOf(record, null, { reasons: [{ fact: 'region', times_likelier: '6.1', text }] })).toContain(
    `at 6.1 %; the strongest sign is that ${text}. With a confidence`,
  )
})

test('a summary never says that a model is certain', () => {
  const certain = { probability: '1.0000', alternatives: [] }

  expect(
    summaryOf(stored({ evidence_basis: 'trained_inference', stage_origin: 'stage_b' }, {}, certain), null),
  ).toContain('with a probability of over 99.9 %.')
})

test('a summary of a call in a pool says why the best guess was not enough', () => {
  expect(
    summaryOf(pooled, null, { best_guess: { ...guess, probability: '0.4199', unknown_probability: '0.1000' } }),
  ).toContain(
    '; the model\'s best guess was "search" at 41.9 %, below the 50 % that it takes to name a service. Its confidence',
  )
  const likely = { ...guess, probability: '0.9312', unknown_probability: '0.0100' }
  expect(summaryOf({ ...pooled, attribution_confidence: '0.4000' }, null, { best_guess: likely })).toContain(
    '"search" at 93.1 %, but its sender states a confidence of only 40 %. Its confidence',
  )
  expect(
    summaryOf(pooled, null, { best_guess: { ...guess, probability: '0.2', unknown_probability: '0.6200' } }),
  ).toContain('; the model finds it likeliest, at 62 %, that it is none of the services it knows. Its confidence')
})

test('a summary says when the sender itself is not sure, and when nobody knows the owner', () => {
  expect(summaryOf(stored({ ...BELOW, attribution_confidence: '0.7000' }, LISTED), null)).toContain(
    'Its confidence of 0.7, which its sender states, is below 0.80, so it is not charged back.',
  )
  const unowned = { evidence_basis: 'trained_inference', stage_origin: 'stage_b', owner: 'unassigned' }
  expect(summaryOf(stored(unowned, {}, { ...INFERRED, alternatives: [] }), null)).toContain(
    'it belongs to "checkout", whose owner nobody knows, with a probability of 87.9 %. With',
  )
  expect(summaryOf(stored({ owner: 'unassigned' }, { in_directory: true }), null)).toContain(
    'no owner is known. With a confidence of 0.9 it may be charged back to the service; which team that is, the ' +
      'directory does not say.',
  )
})

test('a name that reads like words of ours stays in quotes', () => {
  const record = stored({ service: 'x". It may be charged back. "' }, { ...LISTED, in_directory: false })

  expect(summaryOf(record, null)).toContain(String.raw`"x\". It may be charged back. \""`)
})

test('a call that others saw, too, says who, and whose cost counts', () => {
  const sighting = { id: '0'.repeat(32), intake: 'litellm', principal: 'key_gw', usage: true }
  const seenBy = JSON.stringify({
    also: [sighting, { ...sighting, intake: '', principal: 'key_app', usage: false }],
    apart: [],
  })

  const seen =
    'The call was also seen by litellm (key_gw) and api (key_app); it is counted once, with the tokens and cost that ' +
    'litellm states.'
  expect(summaryOf(stored({ seen_by: seenBy }, LISTED), null).endsWith(` ${seen}`)).toBe(true)
  const apart = JSON.stringify({ also: [], apart: ['0'.repeat(32)] })
  expect(summaryOf(stored({ seen_by: apart }, LISTED), null)).not.toContain('also seen')
})
