import { Command } from 'commander'
import { signedHeads } from '../../internal/audit/heads.js'
import { type AuditVerification, verifyAuditLog } from '../../internal/audit/verify-audit.js'
import { readMasterKeys } from '../../internal/secrets/master-keys.js'
import { signingKey } from '../../internal/secrets/signing-keys.js'
import { streamAuditLog } from '../../internal/store/queries/audit-log.js'
import { auditLogName } from '../../streams/audit.js'
import { AUDIT_DAYS, AUDIT_HEADS, SIGNING_KEYS } from '../../streams/buckets.js'
import {
  connectInstanceBroker,
  connectInstanceStore,
  dataDirOption,
  type InstanceOption,
  readInstanceConfig,
} from './connect.js'

interface VerifyOptions extends InstanceOption {
  readonly tenant?: string
  readonly instance?: true
  readonly json?: true
}

export const auditCommand = (): Command =>
  new Command('audit').description('The audit log.').addCommand(
    new Command('verify')
      .description(
        'Verifies the hash chain of an audit log and its signed heads. Exit code 2 when a record was changed, ' +
          'removed, reordered or inserted.',
      )
      .option('--tenant <id>', 'verify the log of this tenant')
      .option('--instance', 'verify the log of the instance itself')
      .addOption(dataDirOption())
      .option('--json', 'print the result as JSON')
      .action(runVerify),
  )

const EXIT_FOUND = 2

async function runVerify(options: VerifyOptions): Promise<void> {
  if ((options.tenant === undefined) === (options.instance === undefined)) {
    throw new Error('name a log: --tenant <id> or --instance')
  }
  const tenantId = options.tenant ?? null
  const config = readInstanceConfig(options)
  const broker = await connectInstanceBroker(config)
  const store = connectInstanceStore(config)
  const heads = signedHeads(
    await broker.bucket(AUDIT_HEADS),
    await broker.bucket(AUDIT_DAYS),
    await signingKey(await broker.bucket(SIGNING_KEYS), readMasterKeys(config), 'audit'),
  )
  const log = auditLogName(tenantId)
  const places = { head: await heads.read(log), ...(await heads.readDays(log)) }
  const verification = await verifyAuditLog(streamAuditLog(store, tenantId ?? ''), places, Date.now())
  await store.close()
  await broker.close()
  process.stdout.write(options.json === true ? `${JSON.stringify(verification, null, 2)}\n` : asText(log, verification))
  if (verification.findings.length > 0) process.exitCode = EXIT_FOUND
}

function asText(log: string, { records, first, last, signed, findings }: AuditVerification): string {
  const extent = records === 0 ? 'no record' : `${records} records, ${first} to ${last}, signed up to ${signed}`
  const found = findings.map(({ kind, detail }) => `  ${kind.padEnd(10)} ${detail}\n`).join('')
  return `${log}: ${extent}\n${found}${findings.length === 0 ? 'intact' : `${findings.length} findings`}\n`
}
