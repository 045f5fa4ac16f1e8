import type { WalDisk, WalFile } from '../../../src/consensus/wal.ts'

interface MemoryFile {
  /** as processes see it */
  bytes: Uint8Array
  /** what a crash of the machine leaves of it */
  durable: Uint8Array
}

/** What an operation of the disk is; a test may have it fail. */
type DiskOperation = 'write' | 'datasync' | 'sync' | 'rename' | 'truncate' | 'remove' | 'open' | 'syncDirectory'

/**
 * A disk in memory: what was not synced is lost when the power fails. One directory; names are durable after
 * `syncDirectory`.
 */
export class MemoryDisk implements WalDisk {
  #files = new Map<string, MemoryFile>()
  #durableNames = new Map<string, MemoryFile>()
  /** runs before an operation; may throw, as a failing disk does */
  before: (operation: DiskOperation, path: string) => void = () => {}
  operations = 0

  /** A copy of what a crash of the machine would leave, or (`all`) of what processes see: a crash of the process alone. */
  copy(what: 'durable' | 'all'): MemoryDisk {
    const disk = new MemoryDisk()
    for (const [path, file] of what === 'all' ? this.#files : this.#durableNames) {
      const bytes = what === 'all' ? file.bytes : file.durable
      const copy = { bytes, durable: bytes }
      disk.#files.set(path, copy)
      disk.#durableNames.set(path, copy)
    }
    return disk
  }

  /** Puts a file there, durably. */
  put(path: string, bytes: Uint8Array): void {
    const file = { bytes, durable: bytes }
    this.#files.set(path, file)
    this.#durableNames.set(path, file)
  }

  names(): string[] {
    return [...this.#files.keys()].sort()
  }

  content(path: string): Uint8Array {
    return this.#file(path).bytes
  }

  #file(path: string): MemoryFile {
    const file = this.#files.get(path)
    if (file === undefined) throw Object.assign(new Error(`ENOENT: ${path}`), { code: 'ENOENT' })
    return file
  }

  #step(operation: DiskOperation, path: string): void {
    this.operations++
    this.before(operation, path)
  }

  makeDirectory(): Promise<void> {
    return Promise.resolve()
  }

  list(directory: string): Promise<readonly string[]> {
    const prefix = `${directory}/`
    const paths = [...this.#files.keys()].filter((path) => path.startsWith(prefix))
    return Promise.resolve(paths.map((path) => path.slice(prefix.length)))
  }

  async read(path: string): Promise<Uint8Array> {
    return this.#file(path).bytes.slice()
  }

  async open(path: string, flags: 'wx' | 'w' | 'r+'): Promise<WalFile> {
    this.#step('open', path)
    if (flags === 'wx' && this.#files.has(path)) throw Object.assign(new Error(`EEXIST: ${path}`), { code: 'EEXIST' })
    if (flags !== 'r+') this.#files.set(path, { bytes: new Uint8Array(), durable: new Uint8Array() })
    const file = this.#file(path)
    const sync = (operation: 'sync' | 'datasync') => async () => {
      this.#step(operation, path)
      file.durable = file.bytes
    }
    return {
      write: async (bytes, offset, length, position) => {
        this.#step('write', path)
        const size = Math.max(file.bytes.length, position + length)
        const next = new Uint8Array(size)
        next.set(file.bytes)
        next.set(bytes.subarray(offset, offset + length), position)
        file.bytes = next
        return { bytesWritten: length }
      },
      datasync: sync('datasync'),
      sync: sync('sync'),
      close: () => Promise.resolve(),
    }
  }

  async rename(from: string, to: string): Promise<void> {
    this.#step('rename', to)
    const file = this.#file(from)
    this.#files.delete(from)
    this.#files.set(to, file)
  }

  async remove(path: string): Promise<void> {
    this.#step('remove', path)
    this.#files.delete(path)
  }

  async truncate(path: string, length: number): Promise<void> {
    this.#step('truncate', path)
    const file = this.#file(path)
    file.bytes = file.bytes.slice(0, length)
  }

  async syncDirectory(path: string): Promise<void> {
    this.#step('syncDirectory', path)
    this.#durableNames = new Map(this.#files)
  }
}
