import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type FileHandle, open, readdir, rm } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { asError } from './incident.js'

export type Claim =
  | { readonly kind: 'owned'; release(): Promise<void> }
  /** A living process owns it; `pid` is its pid in its own namespace. */
  | { readonly kind: 'taken'; readonly pid: number }
  | { readonly kind: 'failed'; readonly error: Error }

/**
 * Makes this process the one owner of a folder until it releases it or dies.
 *
 * The lock is a Unix socket in the folder, named by a rising generation and its owner's pid. A pid alone would not do:
 * a container that starts again has the same pids, and two containers on one volume do not see each other's. Whether
 * somebody listens on a socket the kernel knows, across containers, and it forgets it together with the process.
 * The folder must lie on a disk of this machine: on a network file system the owner of another machine seems dead.
 *
 * Of several that claim an abandoned folder at once at most one gets it: each takes a higher generation than all it
 * sees, and gives up when it then finds a higher one than its own or a living one of any.
 */
export async function claimFolder(folder: string): Promise<Claim> {
  let release = async (): Promise<void> => undefined
  try {
    const directory = await open(folder, 'r')
    release = () => directory.close()
    const via = socketFolder(folder, directory)
    const found = await locksIn(folder)
    const living = await firstLiving(found, via)
    if (living !== undefined) {
      await release()
      return { kind: 'taken', pid: living.pid }
    }

    const generation = Math.max(0, ...found.map((lock) => lock.generation)) + 1
    const name = `owner.${generation}.${process.pid}.${randomBytes(6).toString('hex')}.sock`
    const server = await listen(join(via, name))
    release = async () => {
      // Closing the server removes its socket, by a path that may lead through the handle.
      await new Promise((resolve) => server.close(resolve))
      await directory.close()
    }

    const now = await locksIn(folder)
    const others = now.filter((lock) => lock.name !== name)
    const rival = others.find((lock) => isHigher(lock, { name, generation })) ?? (await firstLiving(others, via))
    if (rival !== undefined || now.length === others.length) {
      await release()
      return { kind: 'taken', pid: rival?.pid ?? 0 }
    }
    for (const dead of others) await rm(join(folder, dead.name), { force: true })
    return { kind: 'owned', release }
  } catch (cause) {
    await release().catch(() => undefined)
    return { kind: 'failed', error: asError(cause) }
  }
}

interface Lock {
  readonly name: string
  readonly generation: number
  readonly pid: number
}

const LOCK_NAME = /^owner\.(\d{1,15})\.(\d{1,15})\.[0-9a-f]{12}\.sock$/

async function locksIn(folder: string): Promise<Lock[]> {
  const locks: Lock[] = []
  for (const name of await readdir(folder)) {
    const match = LOCK_NAME.exec(name)
    if (match !== null) locks.push({ name, generation: Number(match[1]), pid: Number(match[2]) })
  }
  return locks
}

const isHigher = (one: Omit<Lock, 'pid'>, other: Omit<Lock, 'pid'>): boolean =>
  one.generation === other.generation ? one.name > other.name : one.generation > other.generation

async function firstLiving(locks: readonly Lock[], via: string): Promise<Lock | undefined> {
  for (const lock of locks) if (await isListenedOn(join(via, lock.name))) return lock
  return undefined
}

/** Only a plain refusal means that the owner is dead: a busy one, for instance, answers with another error. */
function isListenedOn(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code !== 'ECONNREFUSED' && error.code !== 'ENOENT'),
    )
  })
}

async function listen(path: string): Promise<Server> {
  const server = createServer((socket) => socket.destroy())
  server.listen(path)
  await once(server, 'listening')
  // The lock must not keep its process alive.
  server.unref()
  return server
}

/** The path of a socket may have about 100 bytes; Linux also knows the folder by its open handle. */
const SOCKET_FOLDER_BYTES_MAX = 50

const socketFolder = (folder: string, { fd }: FileHandle): string =>
  process.platform === 'linux' && Buffer.byteLength(folder) > SOCKET_FOLDER_BYTES_MAX ? `/proc/self/fd/${fd}` : folder
