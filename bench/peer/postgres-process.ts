/**
 * A private Postgres that ends when stdin closes, and its data with it: it is stopped without a checkpoint.
 *
 * Arguments: the folder of its programs, an empty folder for data and socket, user and group id of the account that it
 * runs as (Postgres refuses root), options of the server.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const [programs = '', folder = '', uid, gid, ...options] = process.argv.slice(2)
const data = join(folder, 'data')

const run = (program: string, args: readonly string[]) =>
  spawn(join(programs, program), args, {
    uid: Number(uid),
    gid: Number(gid),
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
  })

let isOver = false
let running = run('initdb', [
  ...['--pgdata', data, '--username', 'bench', '--auth', 'trust', '--encoding', 'UTF8', '--locale', 'C.UTF-8'],
  '--no-sync',
])
process.stdin.resume().on('end', () => {
  isOver = true
  running.kill('SIGQUIT')
})
const [code] = await once(running, 'exit')
if (code === 0 && !isOver) {
  running = run('postgres', ['-D', data, ...options])
  await once(running, 'exit')
}
process.exit()
