import { STAGES } from '../../../streams/invocations.js'
import { logOfQuarantined } from '../../../streams/quarantine.js'
import type { Quarantined } from '../../broker/quarantine-log.js'
import { formatId } from '../../ids/ids.js'
import { decodeGroup, identifyEntries } from '../../invocations/invocation-group.js'
import { type InvocationEvent, invocationEvent } from '../../invocations/invocation-schema.js'

/**
 * An event in quarantine as an operator sees it. An event that does not match the schema shows only its tenant, since
 * its other fields may contain anything.
 */
export interface ShownEvent {
  readonly tenant_id: string
  readonly invocation_id: string
  /** Fields of the schema. The identity is a hash, as in records. */
  readonly event?: Omit<InvocationEvent, 'attributed_identity'> & { readonly identity_hash?: string }
}

/** The tenants of a message, as far as its subject or its bytes name them; none for messages of the instance. */
export function tenantsIn(message: Quarantined): string[] {
  const { log, reader, data } = message
  if (isOfStage(message)) return [...new Set(identifyEntries(data).map(({ tenantId }) => tenantId))]
  const tenant = log.slice(logOfQuarantined(reader)?.subjects.length)
  return tenant.startsWith('tnt_') ? [tenant] : []
}

/** @param hashOf the hash of a tenant's identity as in records, in hex */
export function eventsIn(
  message: Quarantined,
  hashOf: (tenantId: string, identity: string) => string,
): readonly ShownEvent[] {
  if (!isOfStage(message)) return []
  return readable(message).map(({ tenantId, id, event }) => {
    const named = { tenant_id: tenantId, invocation_id: formatId('inv', id) }
    const read = invocationEvent.safeParse(event)
    if (!read.success) return named
    const { attributed_identity: identity, ...others } = read.data
    return {
      ...named,
      event: { ...others, ...(typeof identity === 'string' && { identity_hash: hashOf(tenantId, identity) }) },
    }
  })
}

function readable({ data, sequence }: Quarantined) {
  try {
    return decodeGroup(data, sequence)
  } catch {
    // It is in quarantine because it cannot be decoded.
    return identifyEntries(data).map((name) => ({ ...name, event: undefined }))
  }
}

const isOfStage = ({ reader }: Quarantined): boolean => STAGES.some((stage) => stage === reader)
