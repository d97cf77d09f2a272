import { isUuid } from '../../ids/ids.js'
import { JsonSelector, type Selected } from '../../text/select-json.js'
import { amountStepsOf, amountText } from '../adapters/amount.js'
import { type Believed, isTrusted } from '../adapters/claims.js'
import { idOf, nameOf, objectOf } from '../adapters/fields.js'
import { tagPairs, whoCalled } from '../adapters/litellm.js'
import { amazonRequestId, HEADERS_WANTED } from '../adapters/litellm-ids.js'
import { labelsOf, membersOf } from './labels.js'
import { FACT, type Fact, type Facts } from './span-facts.js'
import type { Telemetry } from './telemetry.js'

/**
 * Spans that LiteLLM makes itself, rather than an instrumentation of its SDK: under its own scope, or on the span of the
 * web server that it runs in.
 */
export const isLiteLlm = ({ scope, facts }: Telemetry): boolean =>
  facts.get(FACT.requestType) !== undefined && (scope === 'litellm' || facts.get(FACT.callId) !== undefined)

/** Facts that only LiteLLM's proxy has, which knows the keys of those who call it. */
const PROXY_FACTS = [FACT.keyHash, FACT.keyAlias, FACT.keyTeamId, FACT.keyTeamAlias, FACT.keyUserId]

/** Whether the proxy made the span. Without keys, LiteLLM is a library of the application that sends it. */
export function isOfProxy({ facts }: Telemetry): boolean {
  for (const fact of PROXY_FACTS) if (nameOf(facts.get(fact)) !== undefined) return true
  return nameOf(membersOfMetadata(facts)['user_api_key_hash']) !== undefined
}

/** What names who called. */
const WHO = [
  [FACT.keyAlias, 'user_api_key_alias'],
  [FACT.keyProjectAlias, 'user_api_key_project_alias'],
  [FACT.keyUserEmail, 'user_api_key_user_email'],
  [FACT.keyUserId, 'user_api_key_user_id'],
] as const

/**
 * Who called, and the tags, as in the payloads of the callback. LiteLLM alone writes the attributes of its keys; in the
 * whole metadata of a call stands, under any name, what the caller wrote.
 */
export function litellmLabels(span: Telemetry, context: Believed) {
  const { facts } = span
  const stated = membersOfMetadata(facts)
  const known = (fact: Fact, member: string): unknown => facts.get(fact) ?? stated[member]
  const metadata = {
    user_api_key_alias: known(FACT.keyAlias, 'user_api_key_alias'),
    user_api_key_team_alias: known(FACT.keyTeamAlias, 'user_api_key_team_alias'),
    user_api_key_team_id: known(FACT.keyTeamId, 'user_api_key_team_id'),
    user_api_key_org_alias: known(FACT.keyOrgAlias, 'user_api_key_org_alias'),
    user_api_key_org_id: known(FACT.keyOrgId, 'user_api_key_org_id'),
    user_api_key_project_alias: known(FACT.keyProjectAlias, 'user_api_key_project_alias'),
    user_api_key_project_id: known(FACT.keyProjectId, 'user_api_key_project_id'),
    user_api_key_user_email: known(FACT.keyUserEmail, 'user_api_key_user_email'),
    user_api_key_user_id: known(FACT.keyUserId, 'user_api_key_user_id'),
    user_api_key_end_user_id: known(FACT.keyEndUser, 'user_api_key_end_user_id'),
  }
  const payload = { end_user: facts.get(FACT.identity) }
  const { tags } = labelsOf(span, [], tagPairs(payload, metadata))
  const isFree = WHO.some(([fact, member]) => facts.get(fact) === undefined && stated[member] !== undefined)
  return { ...whoCalled(payload, metadata, isFree ? isTrusted(context) : context.isGateway === true), tags }
}

/** The whole metadata of a call, which the mode for Langfuse states as one JSON text. */
function membersOfMetadata(facts: Facts): Selected {
  const metadata = facts.get(FACT.metadata)
  return typeof metadata === 'string' && metadata.includes('user_api_key_')
    ? Object.fromEntries(membersOf(metadata))
    : NO_MEMBERS
}
const NO_MEMBERS: Selected = {}

/** What only LiteLLM states of a call. */
export interface LitellmFacts {
  readonly isFromCache: boolean
  /** Where no other attribute has it, as of images. */
  readonly cost: string | undefined
  readonly requestId: string | undefined
  readonly operationId: string | undefined
  /** LiteLLM states the call's own id where the response has none. */
  readonly responseId: string | undefined
}

export function litellmFacts({ facts }: Telemetry): LitellmFacts {
  const hidden = hiddenParams(facts.get(FACT.hiddenParams))
  const call = idOf(facts.get(FACT.callId))
  const amazon = amazonRequestId(objectOf(hidden['additional_headers']))
  const stated = idOf(facts.get(FACT.responseId))
  const response = stated === undefined || stated === call || isUuid(stated) ? undefined : stated
  const cost = amountStepsOf(facts.get(FACT.cost)) ?? amountStepsOf(hidden['response_cost'])
  const isHit = facts.get(FACT.cacheHit) === true || facts.get(FACT.cacheHit) === 'True'
  return {
    // LiteLLM names the key of its cache on answers from it only (1.108.7).
    isFromCache: isHit || (nameOf(hidden['cache_key']) !== undefined && (cost ?? 0n) === 0n),
    cost: amountText(amountStepsOf(hidden['response_cost'])),
    responseId: response ?? amazon,
    requestId: response === undefined ? (call ?? amazon) : (amazon ?? call),
    operationId: call,
  }
}

const HIDDEN = new JsonSelector({ cache_key: 'value', response_cost: 'digits', additional_headers: HEADERS_WANTED })

function hiddenParams(value: unknown): Selected {
  if (typeof value !== 'string') return NO_MEMBERS
  return HIDDEN.select(Buffer.from(value))?.value ?? NO_MEMBERS
}
