import { FACT } from './span-facts.js'
import type { Telemetry } from './telemetry.js'

/**
 * Coding agents: how they are recognised, which of their signals states a call, and who pays for it. `agent-calls.ts`
 * makes events of what they send.
 */
export interface Agent {
  /** Also the service, where it names none. */
  readonly name: string
  /** Its instrumentation scopes begin so. */
  readonly scope: string
  /** Its log events that state a call, and those that state that one failed. */
  readonly calls: readonly string[]
  readonly failures: readonly string[]
  /** Of a call that is logged in steps (`event.kind`): the one that states its tokens, and the one that it failed. */
  readonly steps?: { readonly call: string; readonly failure: string }
  /**
   * What its spans of calls are. `own`: in the keys of its log events; `gen_ai`: in OpenTelemetry's; `in_logs`: its log
   * events state the same calls more fully.
   */
  readonly spans: 'own' | 'gen_ai' | 'in_logs'
  /** Whether its `gen_ai.client.inference.operation.details` show calls that another signal states more fully. */
  readonly areDetailsTold: boolean
  /** Whether its response ids are those of answers: one of several calls has the same otherwise. */
  readonly hasResponseIds: boolean
  /** Whether it writes the total where its name says that tools count (`tool_token_count`). */
  readonly isToolCountTotal?: boolean
  /** Who serves the models, by what it says of its account (`anthropic.provider`, `auth_type`); `else` if nothing does. */
  readonly providers: Readonly<Record<string, string>>
  /** Who pays, by how it signed in (`auth_type`, `auth_mode`). */
  readonly payers: Readonly<Record<string, Payer>>
  /** Who pays where nothing says it. */
  readonly usualPayer: Payer
  /** Whom its spans name for what its subscription covers; any other provider is called with a key of the user's own. */
  readonly reseller?: string
}

/** A subscription or free quota, which no call makes dearer; or an account that is billed for each call. */
export type Payer = 'seat' | 'api'

/** Claude Code 2.1.332; https://code.claude.com/docs/en/monitoring-usage */
const CLAUDE_CODE: Agent = {
  name: 'claude-code',
  scope: 'com.anthropic.claude_code',
  calls: ['claude_code.api_request', 'api_request'],
  failures: ['claude_code.api_error', 'api_error'],
  spans: 'own',
  areDetailsTold: false,
  hasResponseIds: true,
  providers: {
    firstparty: 'anthropic',
    bedrock: 'aws.bedrock',
    mantle: 'aws.bedrock',
    vertex: 'gcp.vertex_ai',
    foundry: 'azure.ai.inference',
    else: 'anthropic',
  },
  payers: {},
  usualPayer: 'seat',
}

/** Gemini CLI 0.61; docs/cli/telemetry.md and packages/core/src/telemetry/types.ts */
const GEMINI_CLI: Agent = {
  name: 'gemini-cli',
  scope: 'gemini-cli',
  calls: ['gemini_cli.api_response'],
  failures: ['gemini_cli.api_error'],
  spans: 'in_logs',
  areDetailsTold: true,
  hasResponseIds: true,
  providers: { 'vertex-ai': 'gcp.vertex_ai', else: 'gcp.gemini' },
  payers: {
    'oauth-personal': 'seat',
    'cloud-shell': 'seat',
    'compute-default-credentials': 'seat',
    'gemini-api-key': 'api',
    'vertex-ai': 'api',
    gateway: 'api',
  },
  usualPayer: 'seat',
}

/** Qwen Code 0.24, once a copy of Gemini CLI; its spans and log events state the same ids of responses. */
const QWEN_CODE: Agent = {
  name: 'qwen-code',
  scope: 'qwen-code',
  calls: ['qwen-code.api_response'],
  failures: ['qwen-code.api_error'],
  spans: 'gen_ai',
  areDetailsTold: true,
  hasResponseIds: true,
  providers: {
    'vertex-ai': 'gcp.vertex_ai',
    gemini: 'gcp.gemini',
    'gemini-api-key': 'gcp.gemini',
    anthropic: 'anthropic',
    'qwen-oauth': 'dashscope',
  },
  payers: {
    'qwen-oauth': 'seat',
    openai: 'api',
    anthropic: 'api',
    gemini: 'api',
    'gemini-api-key': 'api',
    'vertex-ai': 'api',
  },
  usualPayer: 'api',
}

/**
 * Codex 0.171; codex-rs/otel/src/events/session_telemetry.rs. It says no way of signing in where it uses the key of a
 * provider that its user has set up.
 */
const CODEX: Agent = {
  name: 'codex',
  scope: 'codex',
  calls: ['codex.sse_event'],
  failures: [],
  steps: { call: 'response.completed', failure: 'response.failed' },
  spans: 'in_logs',
  areDetailsTold: false,
  hasResponseIds: true,
  isToolCountTotal: true,
  providers: { else: 'openai' },
  payers: { apikey: 'api', chatgpt: 'seat', chatgptauthtokens: 'seat' },
  usualPayer: 'api',
}

/**
 * GitHub Copilot Chat in VS Code 1.135 (extensions/copilot/docs/monitoring/agent_monitoring.md). Its response ids are
 * those of a turn, which makes several calls.
 */
const COPILOT_CHAT: Agent = {
  name: 'copilot-chat',
  scope: 'copilot-chat',
  calls: [],
  failures: [],
  spans: 'gen_ai',
  areDetailsTold: true,
  hasResponseIds: false,
  providers: {},
  payers: {},
  usualPayer: 'seat',
  reseller: 'github',
}

/** Copilot's command line, also within VS Code's agent host. */
const COPILOT_CLI: Agent = { ...COPILOT_CHAT, name: 'copilot-cli', scope: 'github.copilot' }

const AGENTS: readonly Agent[] = [CLAUDE_CODE, GEMINI_CLI, QWEN_CODE, CODEX, COPILOT_CHAT, COPILOT_CLI]

/** The spans of one scope come one after the other. */
export function agentOfScope(scope: string): Agent | undefined {
  if (scope !== lastScope) {
    lastScope = scope
    lastAgent = AGENTS.find((agent) => scope.startsWith(agent.scope))
  }
  return lastAgent
}
let lastScope = ''
let lastAgent: Agent | undefined

/** Of a log record. */
export const agentOf = ({ scope, resource }: Telemetry): Agent | undefined =>
  agentOfScope(scope) ?? AGENTS.find(({ name }) => name === resource.get(FACT.service))

export interface AgentEvent {
  readonly agent: Agent
  readonly isCall: boolean
}

const EVENTS = new Map<string, AgentEvent>(
  AGENTS.flatMap((agent) => [
    ...agent.calls.map((name) => [name, { agent, isCall: true }] as const),
    ...agent.failures.map((name) => [name, { agent, isCall: false }] as const),
  ]),
)

/** What the event of this name is, if an agent that we know logs it. Short names are those of an agent's own scope. */
export function agentEvent(name: string, record: Telemetry): AgentEvent | undefined {
  const event = EVENTS.get(name)
  return event === undefined || name.includes('.') || agentOf(record) === event.agent ? event : undefined
}
