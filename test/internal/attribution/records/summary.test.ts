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
  ...stated,
  evidence: JSON.stringify(evidence),
  inference: inference === undefined ? '' : JSON.stringify(inference),
})

const LISTED = { service_from: 'event', in_directory: true, owner_from: 'directory_service' }
const BELOW = { confidence: '0.7000', export_eligibility: 'below_floor' } as const
const INFERRED = { probability: '0.8799', alternatives: [{ service: 'search', owner: 'x', probability: '0.0612' }] }

test.each<[string, Summarised]>([
  [
    'The call states its service and its caller: "checkout", which the directory lists; the service belongs to "team-shop". With a confidence of 0.95 it may be charged back.',
    stored({ evidence_basis: 'identity_and_service_resolved', confidence: '0.95' }, LISTED),
  ],
  [
    'The call states its service: "checkout-v2", which is "checkout" in the directory; the caller\'s team is "team-shop". With a confidence of 0.9 it may be charged back.',
    stored({}, { ...LISTED, stated_service: 'checkout-v2', owner_from: 'directory_identity' }),
  ],
  [
    'The call states its service: "checkout", which the directory does not list; no owner is known. It is not charged back, because its cost is unknown.',
    stored({ export_eligibility: 'unpriced' }, { ...LISTED, in_directory: false, owner_from: 'none' }),
  ],
  [
    'The call states its service: "checkout", which the directory lists; the service belongs to "team-shop". It is not charged back until somebody overrides it, because the cost that its sender stated cannot be right.',
    stored({ export_eligibility: 'implausible_cost' }, LISTED),
  ],
  [
    'The call states no service, but its caller works for "checkout" according to the directory; the service belongs to "team-shop". With a confidence of 0.85 it may be charged back.',
    stored({ evidence_basis: 'identity_resolved', confidence: '0.85' }, LISTED),
  ],
  [
    'The call states no service, but another call of its trace belongs to "checkout"; the owner "team-shop" is that of the other call. With a confidence of 0.82 it may be charged back.',
    stored({ evidence_basis: 'trace_correlated', confidence: '0.82' }, { ...LISTED, owner_from: 'trace' }),
  ],
  [
    'The call states no service; the credential that sent it belongs to "checkout" unless a call says otherwise; the service belongs to "team-shop". With a confidence of 0.8 it may be charged back.',
    stored({ evidence_basis: 'principal_resolved', confidence: '0.8' }, LISTED),
  ],
  [
    'The credential that sent the call belongs to "checkout" alone, although the call claims "search"; the service belongs to "team-shop". With a confidence of 0.8 it may be charged back.',
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
    `The call states the service "checkout", but ${doubt}; the owner is the caller, because no other is known. Its confidence of 0.7 is below 0.80, so it is not charged back.`,
    stored({ ...BELOW, evidence_basis: 'service_declared' }, { ...LISTED, owner_from: 'event_identity', conflict }),
  ]),
  [
    'A person set the service "checkout" and the owner "team-shop", instead of "unallocated" ("unallocated"), because "It was theirs.". With a confidence of 0.95 it may be charged back.',
    stored(
      { evidence_basis: 'manual_override', confidence: '0.95' },
      { override: { reason: 'It was theirs.' }, replaced: { service: 'unallocated', owner: 'unallocated' } },
    ),
  ],
  [
    'The call states its service: "checkout", which the directory lists; the service belongs to "team-shop". It is disputed, because "Not ours.", and is not charged back meanwhile.',
    stored({ export_eligibility: 'disputed' }, { ...LISTED, dispute: { reason: 'Not ours.' } }),
  ],
  [
    'The call does not say whose it is; by what it looks like, the model gives "checkout" of "team-shop" a probability of 87.9 %; the next likeliest is "search" at 6.1 %. It is not charged back, because it was made outside the region to which the tenant is bound.',
    stored(
      { evidence_basis: 'trained_inference', stage_origin: 'stage_b', export_eligibility: 'residency_restricted' },
      { model: 'mdl_1' },
      INFERRED,
    ),
  ],
  [
    'No model serves; 180 of 240 calls that the same credential sent belong to "checkout" of "team-shop", so this one is guessed to. It is for information only, because no model served when it was made, and is not charged back.',
    stored(
      { evidence_basis: 'heuristic_baseline', stage_origin: 'stage_b', export_eligibility: 'advisory' },
      { most_frequent_of: 'principal', resolved_records: 240, of_this_class: 180 },
      INFERRED,
    ),
  ],
  [
    'Nothing tells who made the call; the pool "checkout" takes its cost, by the rule provider = "openai" and ingestion_layer = "proxy". Its confidence of 0.3 is below 0.80, so it is not charged back.',
    stored(
      { ...BELOW, evidence_basis: 'allocation_policy', stage_origin: 'stage_c', confidence: '0.3' },
      { pool: 'checkout', rule: { provider: 'openai', ingestion_layer: 'proxy' } },
    ),
  ],
  [
    'Nothing tells who made the call, and no pool has a rule for it; its cost stands in the pool "checkout". Its confidence of 0.1 is below 0.80, so it is not charged back.',
    stored(
      { ...BELOW, evidence_basis: 'default_pool', stage_origin: 'stage_c', confidence: '0.1' },
      { pool: 'checkout', rule: 'default' },
    ),
  ],
])('%s', (text, record) => {
  expect(summaryOf(record)).toBe(text)
})

const pooled = stored({ ...BELOW, evidence_basis: 'default_pool', stage_origin: 'stage_c' }, { rule: 'default' })
const guess = { model: 'mdl_1', service: 'search', owner: 'team-search' }

test('a summary names the fact that spoke most for a choice', () => {
  const record = stored({ evidence_basis: 'trained_inference', stage_origin: 'stage_b' }, {}, INFERRED)
  const text = 'the region "eu" is 6.1 times likelier here than elsewhere'

  expect(summaryOf(record, { reasons: [{ fact: 'region', times_likelier: '6.1', text }] })).toContain(
    `at 6.1 %; most of all, ${text}. With a confidence`,
  )
})

test('a summary of a call in a pool says why the best guess was not enough', () => {
  expect(
    summaryOf(pooled, { best_guess: { ...guess, probability: '0.4199', unknown_probability: '0.1000' } }),
  ).toContain(
    '; the model\'s best guess was "search" at 41.9 %, less than the 50 % that naming a service takes. Its confidence',
  )
  const likely = { ...guess, probability: '0.9312', unknown_probability: '0.0100' }
  expect(summaryOf({ ...pooled, attribution_confidence: '0.4000' }, { best_guess: likely })).toContain(
    '"search" at 93.1 %, but its sender is only 40 % confident of what it stated. Its confidence',
  )
  expect(summaryOf(pooled, { best_guess: { ...guess, probability: '0.2', unknown_probability: '0.6200' } })).toContain(
    '; the model finds it likeliest, at 62 %, that it is none of the services it knows. Its confidence',
  )
})

test('a summary says when the sender itself is not sure, and when nobody knows the owner', () => {
  expect(summaryOf(stored({ ...BELOW, attribution_confidence: '0.7000' }, LISTED))).toContain(
    'Its confidence of 0.7 is below 0.80, since its sender is no surer of what it stated, so it is not charged back.',
  )
  const unowned = { evidence_basis: 'trained_inference', stage_origin: 'stage_b', owner: 'unassigned' }
  expect(summaryOf(stored(unowned, {}, { ...INFERRED, alternatives: [] }))).toContain(
    'the model gives "checkout", whose owner nobody knows, a probability of 87.9 %. With',
  )
})

test('a name that reads like words of ours stays in quotes', () => {
  const record = stored({ service: 'x". It may be charged back. "' }, { ...LISTED, in_directory: false })

  expect(summaryOf(record)).toContain(String.raw`"x\". It may be charged back. \""`)
})
