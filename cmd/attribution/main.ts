/** The command line. One file per command; `attribution <command> --help` lists its options. */
import { Command } from 'commander'
import { serviceVersion } from '../../internal/config/version.js'
import { auditCommand } from './audit.js'
import { demoCommand } from './demo.js'
import { eraseIdentityCommand } from './erase-identity.js'
import { keyCommand } from './key.js'
import { masterKeyCommand } from './master-key.js'
import { modelCommand } from './model.js'
import { pricesCommand } from './prices.js'
import { quarantineCommand } from './quarantine.js'
import { reattributeCommand } from './reattribute.js'
import { sandboxDataCommand } from './sandbox-data.js'
import { signingKeyCommand } from './signing-key.js'
import { tenantCommand } from './tenant.js'

const program = new Command('attribution')
  .description('Operates the Attribution Service.')
  .version(serviceVersion())
  .addCommand(demoCommand())
  .addCommand(tenantCommand())
  .addCommand(keyCommand())
  .addCommand(modelCommand())
  .addCommand(auditCommand())
  .addCommand(masterKeyCommand())
  .addCommand(pricesCommand())
  .addCommand(signingKeyCommand())
  .addCommand(reattributeCommand())
  .addCommand(quarantineCommand())
  .addCommand(eraseIdentityCommand())
  .addCommand(sandboxDataCommand())

program.parseAsync().then(
  // A command may have set another exit code.
  () => process.exit(),
  (cause: unknown) => {
    process.stderr.write(`attribution: ${cause instanceof Error ? cause.message : String(cause)}\n`)
    process.exit(1)
  },
)
