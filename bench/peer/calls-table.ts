import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ClickHouseClient } from '@clickhouse/client'
import type { Sql } from 'postgres'
import { renamedProviders } from '../../internal/records/provider-names.js'
import {
  type FieldKind,
  type RecordField,
  WIRE_GROUPS,
  type WireGroup,
  wireFields,
} from '../../internal/records/record-fields.js'

/**
 * The table that a team would have in Postgres: one row per call with a column for each member that a page shows, and
 * the caller, by which people are counted.
 */

/** How a kind of field is stored, and SQL that makes the member on the wire from its column. */
interface Form {
  readonly type: string
  readonly shown: (column: string) => string
}
const asItIs = (type: string): Form => ({ type, shown: (column) => column })
/** Exact, as text. */
const AMOUNT: Form = { type: 'numeric', shown: (column) => `${column}::text` }
const FORMS: Readonly<Partial<Record<FieldKind, Form>>> = {
  label: asItIs('text'),
  text: asItIs('text'),
  usd: AMOUNT,
  wh: AMOUNT,
  gco2e: AMOUNT,
  count: asItIs('bigint'),
  confidence: asItIs('numeric'),
  instant: { type: 'timestamptz', shown: (column) => `to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')` },
  pairs: asItIs('jsonb'),
}

function formOf({ name, kind }: RecordField): Form {
  const form = FORMS[kind]
  if (form === undefined) throw new Error(`${name}: fields of kind ${kind} have no column`)
  return form
}
const columnOf = ({ name, wireName }: RecordField): string => wireName ?? name
const WIRE_FIELDS = WIRE_GROUPS.flatMap(wireFields)

const membersOf = (group: WireGroup): string =>
  wireFields(group)
    .map((field) => `'${columnOf(field)}', ${formOf(field).shown(columnOf(field))}`)
    .join(', ')

/** A record of `calls` as the API shows it, but for the prefix and the spelling of its ids. */
export const RECORD_JSON = `json_build_object('id', id, 'invocation_id', id, 'stated_provider', stated_provider,
  ${WIRE_GROUPS.map((group) =>
    group === 'interpretation' ? `'interpretation', json_build_object(${membersOf(group)})` : membersOf(group),
  ).join(',\n  ')})`

/** An index for each question; each also gives the order of its page. */
const INDEXES = [
  '(tenant_id, event_time, id)',
  '(tenant_id, service, event_time, id)',
  '(tenant_id, served_model, event_time, id)',
  '(tenant_id, owner, event_time, id)',
  '(tenant_id, cost_usd, id)',
  '(tenant_id, energy_wh, id)',
]

export async function createTable(sql: Sql): Promise<void> {
  const columns = WIRE_FIELDS.map((field) => `${columnOf(field)} ${formOf(field).type}`)
  await sql.unsafe(`CREATE TABLE calls (
    id uuid NOT NULL, tenant_id text NOT NULL, person uuid, stated_provider text NOT NULL,
    ${columns.join(', ')})`)
}

/** What a table gets once it is filled: an index takes less time then. */
export async function createIndexes(sql: Sql): Promise<void> {
  await sql.unsafe('ALTER TABLE calls ADD PRIMARY KEY (id)')
  for (const columns of INDEXES) await sql.unsafe(`CREATE INDEX ON calls ${columns}`)
}

/** Copies rows in one transaction. @param rows in the text form of COPY */
export async function copyInto(sql: Sql, rows: Readable): Promise<void> {
  const columns = ['id', 'tenant_id', 'person', 'stated_provider', ...WIRE_FIELDS.map(columnOf)]
  await pipeline(rows, await sql.unsafe(`COPY calls (${columns.join(', ')}) FROM STDIN`).writable())
}

/** The calls of a tenant since an instant, as the store has them, in the order of their times and the form of COPY. */
export async function callsSince(store: ClickHouseClient, tenantId: string, sinceMs: number): Promise<Readable> {
  const renamed = [...renamedProviders()]
  const { stream } = await store.exec({
    query: `SELECT lower(hex(id)), tenant_id,
              if(identity_hash = toFixedString('', 16), NULL, lower(hex(identity_hash))), provider, ${WIRE_FIELDS.map(stored).join(', ')}
            FROM attributions
            WHERE tenant_id = {tenant:String} AND event_time >= fromUnixTimestamp64Milli({since:Int64})
            ORDER BY event_time, id FORMAT TabSeparated`,
    query_params: {
      tenant: tenantId,
      since: sinceMs,
      spellings: renamed.map(([spelling]) => spelling),
      names: renamed.map(([, name]) => name),
    },
  })
  return stream as Readable
}

/** SQL of the store for a column. */
function stored({ name, kind, isOptional }: RecordField): string {
  if (name === 'provider')
    return 'transform(toString(provider), {spellings:Array(String)}, {names:Array(String)}, toString(provider))'
  // The calls have no tags.
  if (kind === 'pairs') return "'{}'"
  return isOptional ? `nullIf(toString(${name}), '')` : name
}
