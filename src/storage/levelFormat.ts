import { readSync } from 'node:fs'
import { join } from 'node:path'
import { createCRC32 } from 'hash-wasm'
import { damagedFile } from './damage.ts'

/*
 * What all files of a LevelDB directory have in common: names, checksums and integers.
 * Formats: https://github.com/google/leveldb/tree/main/doc
 */

const CRC32C = 0x82f63b78
const MASK_DELTA = 0xa282ead8
const crc32c = await createCRC32(CRC32C)

/** Returns whether these bytes have the masked crc32c that is stored for them. */
export function hasChecksum(bytes: Uint8Array, stored: number): boolean {
  crc32c.init()
  crc32c.update(bytes)
  const digest = crc32c.digest('binary')
  const crc = ((digest[0]! << 24) | (digest[1]! << 16) | (digest[2]! << 8) | digest[3]!) >>> 0
  return (((crc >>> 15) | (crc << 17)) + MASK_DELTA) >>> 0 === stored
}

/** Reads a little-endian integer of 4 bytes. */
export function readUint32(bytes: Uint8Array, at: number): number {
  return (bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24)) >>> 0
}

/** Reads varints and byte strings one after another. */
export class LevelReader {
  readonly #bytes: Uint8Array
  #at: number

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes
    this.#at = at
  }

  get isDone(): boolean {
    return this.#at >= this.#bytes.length
  }

  /** @throws RangeError behind the end, and above 2^53 */
  varint(): number {
    let value = 0
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.#at++]
      if (byte === undefined || scale > 2 ** 49) throw new RangeError('not a varint')
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }

  /** @throws RangeError behind the end */
  take(length: number): Uint8Array {
    const end = this.#at + length
    if (end > this.#bytes.length) throw new RangeError('bytes are missing')
    const taken = this.#bytes.subarray(this.#at, end)
    this.#at = end
    return taken
  }
}

/** A file that is open for reading. */
export interface OpenFile {
  readonly path: string
  readonly descriptor: number
}

/**
 * Reads the bytes of the file from `offset` on.
 * @throws DatabaseError when the file has not so many, or the disk cannot read them
 */
export function readBytes({ path, descriptor }: OpenFile, offset: number, length: number): Uint8Array {
  const bytes = new Uint8Array(length)
  for (let done = 0; done < length; ) {
    let count: number
    try {
      count = readSync(descriptor, bytes, done, length - done, offset + done)
    } catch (error) {
      throw damagedFile(path, offset + done, `it cannot be read: ${(error as Error).message}`, error)
    }
    if (count === 0) throw damagedFile(path, offset + done, 'it ends there')
    done += count
  }
  return bytes
}

/** Paths of a table; LevelDB reads both names. */
export function tablePaths(location: string, number: number): readonly string[] {
  const name = fileName(number)
  return [join(location, `${name}.ldb`), join(location, `${name}.sst`)]
}

export function logPath(location: string, number: number): string {
  return join(location, `${fileName(number)}.log`)
}

function fileName(number: number): string {
  return String(number).padStart(6, '0')
}

/** Returns the number in the name of a log; undefined for another name. */
export function logNumber(name: string): number | undefined {
  const digits = /^(\d+)\.log$/.exec(name)?.[1]
  return digits === undefined ? undefined : Number(digits)
}
