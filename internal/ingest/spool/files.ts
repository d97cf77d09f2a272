import { chmod, type FileHandle, mkdir, open, readdir, rm, rmdir, stat } from 'node:fs/promises'

/** An open file, as far as the spool needs it. Everything here rejects with the system's error. */
export interface SpoolFile {
  /** @returns how many bytes were written, perhaps fewer than given */
  write(bytes: Uint8Array, position: number): Promise<number>
  /** @returns how many bytes were read; 0 at the end of the file */
  read(into: Uint8Array, position: number): Promise<number>
  /** Resolves when the written bytes survive a power loss. */
  datasync(): Promise<void>
  truncate(bytes: number): Promise<void>
  close(): Promise<void>
}

/** The spool's whole view of the disk, so that a test can let it be full or broken. */
export interface SpoolFiles {
  /** Creates the folder and its missing parents, for this user alone. */
  makeFolder(folder: string): Promise<void>
  /** Fails unless the folder is empty. */
  removeFolder(folder: string): Promise<void>
  /** Names in the folder. */
  list(folder: string): Promise<readonly string[]>
  /** Makes new directory entries survive a power loss. */
  syncFolder(folder: string): Promise<void>
  /** Fails when the file exists. */
  create(path: string): Promise<SpoolFile>
  /** Fails when the file does not exist. */
  open(path: string): Promise<SpoolFile>
  size(path: string): Promise<number>
  /** Succeeds if the file does not exist. */
  remove(path: string): Promise<void>
}

export const localFiles: SpoolFiles = {
  makeFolder: async (folder) => {
    const isThere = (await mkdir(folder, { recursive: true, mode: 0o700 })) === undefined
    // Older versions left it open to all; where it is another user's, it works as it is.
    if (isThere) await chmod(folder, 0o700).catch(ifNotOurs)
  },
  removeFolder: (folder) => rmdir(folder),
  list: (folder) => readdir(folder),
  syncFolder: async (folder) => {
    const handle = await open(folder, 'r')
    try {
      await handle.sync()
    } finally {
      await handle.close()
    }
  },
  create: async (path) => localFile(await open(path, 'wx+', 0o600)),
  open: async (path) => localFile(await open(path, 'r+')),
  size: async (path) => (await stat(path)).size,
  remove: (path) => rm(path, { force: true }),
}

function ifNotOurs(cause: NodeJS.ErrnoException): void {
  if (cause.code !== 'EPERM') throw cause
}

const localFile = (handle: FileHandle): SpoolFile => ({
  write: async (bytes, position) => (await handle.write(bytes, 0, bytes.length, position)).bytesWritten,
  read: async (into, position) => (await handle.read(into, 0, into.length, position)).bytesRead,
  datasync: () => handle.datasync(),
  truncate: (bytes) => handle.truncate(bytes),
  close: () => handle.close(),
})

export async function writeAll(file: SpoolFile, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const written = await file.write(bytes.subarray(done), position + done)
    if (written === 0) throw new Error('the disk accepted no bytes of a write')
    done += written
  }
}

/** @returns how many bytes were read: fewer than asked for only at the end of the file */
export async function readAll(file: SpoolFile, into: Uint8Array, position: number): Promise<number> {
  let done = 0
  while (done < into.length) {
    const read = await file.read(into.subarray(done), position + done)
    if (read === 0) break
    done += read
  }
  return done
}
