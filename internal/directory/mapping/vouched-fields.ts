import type { AdmittedInvocation } from '../../invocations/invocation-group.js'
import { foldKey } from '../../records/dimensions.js'
import type { Condition } from './mapping-rule.js'

/**
 * What a gateway itself says of a call, and what its callers could have written: a rule that tests the latter rests on
 * a claim, whatever credential sent the call.
 */

/**
 * By the intake of a source: what only the gateway can write. Of all others, and of free metadata over OTLP, nothing
 * is; a tenant lists what its own gateways write (`trusted_fields`).
 */
const VOUCHED: Readonly<Record<string, ReadonlySet<string>>> = {
  litellm: new Set(['identity', 'key_alias', 'team', 'tag.project', 'tag.organization', 'tag.deployment']),
  kong: new Set(['identity', 'tag.gateway_service', 'tag.gateway_route', 'tag.workspace']),
  apim: new Set(['identity', 'tag.gateway_api', 'tag.gateway_product']),
  envoy: new Set(['identity', 'tag.gateway_route', 'tag.gateway_cluster']),
  'bedrock-log': new Set(['identity', 'tag.aws_account']),
}

/** Tags below it are what callers of a gateway wrote (`ingest/adapters/fields.ts`). */
export const CALLERS = 'caller.'

/** @param trusted the tenant's `trusted_fields` */
export function isVouched(
  condition: Pick<Condition, 'field' | 'key'>,
  intake: AdmittedInvocation['intake'],
  trusted: readonly string[],
): boolean {
  const { field } = condition
  const key = foldKey(condition.key ?? '')
  // Anyone may call himself any user agent, and write any tag of his own.
  if (field === 'user_agent' || (field === 'tag' && key.startsWith(CALLERS))) return false
  // Own events come from the gateway's own program; which model was called is what the provider bills.
  if (intake === undefined || field === 'model') return true
  const name = field !== 'tag' ? field : nameOfTag(key)
  return VOUCHED[intake]?.has(name) === true || foldedFields(trusted).has(`${intake}.${name}`)
}

const nameOfTag = (key: string): string => (key === 'team' || key === 'key_alias' ? key : `tag.${key}`)

/** They may spell a tag in any case, and those that are fields as tags. Settings stay the same object until they change. */
function foldedFields(trusted: readonly string[]): ReadonlySet<string> {
  const known = foldedFieldsOf.get(trusted)
  if (known !== undefined) return known
  const folded = trusted.map((listed) => {
    const at = listed.indexOf(TAG)
    return at < 0 ? listed : `${listed.slice(0, at)}.${nameOfTag(foldKey(listed.slice(at + TAG.length)))}`
  })
  const fields = new Set(folded)
  foldedFieldsOf.set(trusted, fields)
  return fields
}

const TAG = '.tag.'
const foldedFieldsOf = new WeakMap<readonly string[], ReadonlySet<string>>()
