/** The command line. One file a command; `attribution <command> --help` says what each needs. */
import { Command } from 'commander'
import { demoCommand } from './demo.js'

const program = new Command('attribution').description('Operates the Attribution Service.').addCommand(demoCommand())

program.parseAsync().then(
  () => process.exit(0),
  (cause: unknown) => {
    process.stderr.write(`attribution: ${cause instanceof Error ? cause.message : String(cause)}\n`)
    process.exit(1)
  },
)
