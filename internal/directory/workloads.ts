import { identityHash } from '../ids/identity-hash.js'
import type { SipKey } from '../ids/siphash.js'
import type { Directory } from './directory.js'

/** Identity hashes of a tenant's workloads, as in the read model: 32 hex digits each. */
export const workloadHashes = (directory: Directory, tenantId: string, key: SipKey): string[] =>
  [...directory.workloads(tenantId)].map((name) => Buffer.from(identityHash(key, name)).toString('hex'))
