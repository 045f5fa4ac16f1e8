import { createHash } from 'node:crypto'
import { closeSync, createReadStream, fsyncSync, mkdirSync, openSync, writeSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createGunzip } from 'node:zlib'
import { bytesToHex } from '../../primitives/bytes.ts'
import { syncDirectory } from '../../storage/writeFileDurably.ts'

/** The archive holds something that no version of the software needs, or is damaged. */
export class BadArchive extends Error {
  override readonly name = 'BadArchive'
}

const BLOCK_BYTES = 512
/** Far above what a version needs: a compressed file of a few megabytes could fill the disk otherwise. */
const MAX_BYTES = 4 * 2 ** 30
const MAX_ENTRIES = 100_000
const MAX_NAME_BYTES = 255
/** As a control character of a terminal, or a separator of another system. */
const ODD_CHARACTERS = /[^\x20-\x7e]|\\/
const SPECIAL_BITS = 0o7000
const EXECUTABLE = 0o111

/** Names in POSIX (pax, "ustar Interchange Format") of the kinds of entries that are refused. */
const REFUSED_KINDS: Readonly<Record<string, string>> = {
  '1': 'a hard link',
  '2': 'a symbolic link',
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a FIFO',
}

/**
 * Unpacks a gzipped tar archive (ustar) into an empty directory, and syncs everything. Every entry is checked before it is
 * written: only regular files and directories are allowed, each below the directory, each file once, and no setuid, setgid or
 * sticky bit.
 * @param file descriptor of the archive, read from its beginning
 * @returns SHA-256 of the archive, 64 hex digits
 * @throws BadArchive, with what was unpacked left in the directory
 */
export async function unpackArchive(file: number, directory: string): Promise<string> {
  const hash = createHash('sha256')
  const compressed = createReadStream('', { fd: file, start: 0, autoClose: false })
  try {
    await pipeline(hashed(compressed, hash), createGunzip(), (tar: AsyncIterable<Buffer>) =>
      unpackEntries(createBlockReader(tar), directory),
    )
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (code.startsWith('Z_')) throw new BadArchive(`it is not a complete gzip file (${message})`, { cause: error })
    if (code === 'EEXIST' || code === 'ENOTDIR') throw new BadArchive('it contains a file twice', { cause: error })
    throw error
  }
  return bytesToHex(hash.digest()).slice(2)
}

async function* hashed(
  chunks: AsyncIterable<Buffer>,
  hash: { update(chunk: Buffer): unknown },
): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    hash.update(chunk)
    yield chunk
  }
}

async function unpackEntries(blocks: BlockReader, directory: string): Promise<void> {
  const directories = new Set([directory])
  const makeDirectory = (path: string): void => {
    if (directories.has(path)) return
    makeDirectory(dirname(path))
    mkdirSync(path, { mode: 0o755 })
    directories.add(path)
  }
  let left = MAX_BYTES
  for (let count = 0; ; count++) {
    const header = await blocks.read(BLOCK_BYTES)
    if (header === undefined) throw new BadArchive('its end is missing')
    if (header.every((byte) => byte === 0)) break
    const { segments, isDirectory, isExecutable, size } = readHeader(header)
    left -= size
    if (left < 0 || count === MAX_ENTRIES) throw new BadArchive('it is larger than the limit for a version')
    const path = join(directory, ...segments)
    if (isDirectory) makeDirectory(path)
    else {
      makeDirectory(dirname(path))
      await writeFile(path, blocks, size, isExecutable ? 0o755 : 0o644)
    }
  }
  await blocks.expectZeros()
  for (const path of directories) syncDirectory(path)
}

async function writeFile(path: string, blocks: BlockReader, size: number, mode: number): Promise<void> {
  const file = openSync(path, 'wx', mode)
  try {
    for (let left = size; left > 0; ) {
      const chunk = await blocks.readSome(left)
      if (chunk === undefined) throw new BadArchive('its end is missing')
      for (let at = 0; at < chunk.length; ) at += writeSync(file, chunk, at)
      left -= chunk.length
    }
    const padding = (BLOCK_BYTES - (size % BLOCK_BYTES)) % BLOCK_BYTES
    if (padding > 0 && (await blocks.read(padding)) === undefined) throw new BadArchive('its end is missing')
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}

interface Entry {
  /** names from the directory down to the entry; none: the directory itself */
  readonly segments: readonly string[]
  readonly isDirectory: boolean
  readonly isExecutable: boolean
  readonly size: number
}

/** @throws BadArchive */
function readHeader(header: Buffer): Entry {
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0)
  if (readOctal(header, 148, 8) !== sum) throw new BadArchive('it is not a tar archive, or is damaged')
  const isUstar = header.toString('latin1', 257, 262) === 'ustar'
  const prefix = isUstar && header[262] === 0 ? readText(header, 345, 155) : ''
  const base = readText(header, 0, 100)
  const name = prefix === '' ? base : `${prefix}/${base}`
  const shown = JSON.stringify(name)
  const kind = header[156] === 0 ? '0' : String.fromCharCode(header[156]!)
  if (kind !== '0' && kind !== '5') {
    throw new BadArchive(`${shown} is ${REFUSED_KINDS[kind] ?? 'neither a file nor a directory'}`)
  }
  const isDirectory = kind === '5'
  const mode = readOctal(header, 100, 8)
  if ((mode & SPECIAL_BITS) !== 0) throw new BadArchive(`${shown} has a setuid, setgid or sticky bit`)
  const size = readOctal(header, 124, 12)
  if (isDirectory && size !== 0) throw new BadArchive(`the directory ${shown} has contents`)
  return { segments: segmentsOf(name, isDirectory), isDirectory, isExecutable: (mode & EXECUTABLE) !== 0, size }
}

/** Splits a name. tar writes `./` before a name and `/` after a directory's; other such forms are refused. */
function segmentsOf(name: string, isDirectory: boolean): readonly string[] {
  const shown = JSON.stringify(name)
  if (name.startsWith('/')) throw new BadArchive(`${shown} is an absolute path`)
  if (ODD_CHARACTERS.test(name) || name.length > MAX_NAME_BYTES) {
    throw new BadArchive(`${shown} has characters that are not allowed`)
  }
  const relative = name.replace(/^\.\//, '')
  const inner = isDirectory ? relative.replace(/\/$/, '') : relative
  if (isDirectory && (inner === '' || inner === '.')) return []
  const segments = inner.split('/')
  if (segments.some((segment) => segment === '' || segment === '.' || segment === '..')) {
    throw new BadArchive(`${shown} is a path with "..", "." or an empty name`)
  }
  return segments
}

/** Reads text up to a zero byte. */
function readText(header: Buffer, at: number, length: number): string {
  const field = header.subarray(at, at + length)
  const end = field.indexOf(0)
  return field.toString('latin1', 0, end === -1 ? length : end)
}

/** @throws BadArchive; for GNU's numbers in base 256, too, which only larger files than any version's have */
function readOctal(header: Buffer, at: number, length: number): number {
  const text = readText(header, at, length).trim()
  if (!/^[0-7]+$/.test(text)) throw new BadArchive('it is not a tar archive, or is damaged')
  return Number.parseInt(text, 8)
}

interface BlockReader {
  /** so many bytes; undefined at the end */
  read(length: number): Promise<Buffer | undefined>
  /** at least one byte and at most so many; undefined at the end */
  readSome(length: number): Promise<Buffer | undefined>
  /** @throws BadArchive when anything but zeros is left */
  expectZeros(): Promise<void>
}

function createBlockReader(stream: AsyncIterable<Buffer>): BlockReader {
  const chunks = stream[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  const readSome = async (length: number): Promise<Buffer | undefined> => {
    while (rest.length === 0) {
      const next = await chunks.next()
      if (next.done) return undefined
      rest = next.value
    }
    const found = rest.subarray(0, length)
    rest = rest.subarray(found.length)
    return found
  }
  return {
    readSome,
    read: async (length) => {
      const parts: Buffer[] = []
      for (let left = length; left > 0; ) {
        const part = await readSome(left)
        if (part === undefined) return undefined
        parts.push(part)
        left -= part.length
      }
      return Buffer.concat(parts)
    },
    expectZeros: async () => {
      for (;;) {
        const part = await readSome(Number.MAX_SAFE_INTEGER)
        if (part === undefined) return
        if (part.some((byte) => byte !== 0)) throw new BadArchive('it has data after its end')
      }
    },
  }
}
