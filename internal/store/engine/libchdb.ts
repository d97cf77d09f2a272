/**
 * The C library of the npm package `chdb`, reached through `ffi-rs`.
 *
 * `chdb` itself is used only to find the library: its `Session` cannot start the HTTP server. `koffi` cannot be used
 * either: it switches stacks, which the engine's stack check refuses.
 */
import { createRequire } from 'node:module'

export interface Libchdb {
  /**
   * Runs `clickhouse local` with these arguments (the first is the program's name) in a thread of its own.
   * Settles when the command is over, well or badly: the reason for a failure is written to stderr only.
   */
  runLocal(argv: readonly string[]): Promise<void>

  /**
   * Sends what anything in this process writes to stderr into the file behind the descriptor, until the returned
   * function is called. The engine writes its errors straight to descriptor 2, past Node.
   */
  divertStderr(toDescriptor: number): () => void

  /** Locks the file behind the descriptor until this process ends, however it ends; false when another holds it. */
  lock(descriptor: number): boolean

  /**
   * Makes each write to the file, or to files that are made in the folder from now on, survive a power cut before it
   * returns, whichever code writes.
   *
   * @returns false where the system or the file system cannot
   */
  writeThrough(descriptor: number): boolean
}

/** The package or its library is not there: production images leave it out, and not every platform has it. */
export class EngineMissingError extends Error {}

const STDERR = 2

/** `LOCK_EX | LOCK_NB` of flock(2), the same on Linux and macOS. */
const EXCLUSIVELY_AT_ONCE = 6

/** ioctl_iflags(2) of Linux on machines of 64 bits: the flags of a file, `chattr +S` among them. */
const [GET_FLAGS, SET_FLAGS, SYNCHRONOUS] = [0x80086601, 0x40086602, 8]

/** @throws EngineMissingError when this platform has no embedded engine */
export function loadLibchdb(): Libchdb {
  const require = createRequire(import.meta.url)
  let ffi: typeof import('ffi-rs')
  try {
    ffi = require('ffi-rs')
    const { libchdbPath }: typeof import('chdb/libchdb') = require('chdb/libchdb')
    ffi.open({ library: 'chdb', path: libchdbPath() })
  } catch (cause) {
    throw new EngineMissingError(`no embedded engine for ${process.platform}-${process.arch}`, { cause })
  }
  const { DataType, load } = ffi

  // Signals stay Node's: with its own handlers the engine would end the process in the midst of a drain.
  load({
    library: 'chdb',
    funcName: 'chdb_set_signal_handlers_enabled',
    retType: DataType.Void,
    paramsType: [DataType.I32],
    paramsValue: [0],
  })

  // The C library's own functions are found through libchdb, which is linked to it.
  const call = (funcName: 'dup' | 'dup2' | 'close' | 'flock', ...integers: number[]): number =>
    load({
      library: 'chdb',
      funcName,
      retType: DataType.I32,
      paramsType: integers.map(() => DataType.I32),
      paramsValue: integers,
    })

  return {
    async runLocal(argv) {
      await load({
        library: 'chdb',
        funcName: 'chdb_query_cmdline',
        retType: DataType.External,
        paramsType: [DataType.I32, DataType.StringArray],
        paramsValue: [argv.length, argv],
        runInNewThread: true,
      })
    },

    divertStderr(toDescriptor) {
      const original = call('dup', STDERR)
      if (original < 0) return () => undefined
      call('dup2', toDescriptor, STDERR)
      let isDiverted = true
      return () => {
        if (!isDiverted) return
        isDiverted = false
        call('dup2', original, STDERR)
        call('close', original)
      }
    },

    writeThrough(descriptor) {
      if (process.platform !== 'linux') return false
      const flags = Buffer.alloc(8)
      const control = (request: number): number =>
        load({
          library: 'chdb',
          funcName: 'ioctl',
          retType: DataType.I32,
          paramsType: [DataType.I32, DataType.I64, DataType.U8Array],
          paramsValue: [descriptor, request, flags],
        })
      if (control(GET_FLAGS) !== 0) return false
      flags.writeInt32LE(flags.readInt32LE(0) | SYNCHRONOUS, 0)
      return control(SET_FLAGS) === 0
    },

    lock: (descriptor) => call('flock', descriptor, EXCLUSIVELY_AT_ONCE) === 0,
  }
}
