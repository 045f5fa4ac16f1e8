import { copyFile, type FileHandle, open, rename, rm } from 'node:fs/promises'
import { crc32 } from 'node:zlib'
import { concatBytes, EMPTY_BYTES, equalBytes } from '../primitives/bytes.ts'
import { DEFAULT_POOL_LIMITS } from './types.ts'

/*
 * The pool's journal on the disk: a header, then frames of transactions. All integers are big-endian.
 *
 *   header: magic with the version (9 bytes) | genesis hash (32) | crc32 of both (4)
 *   frame:  length of the content (4) | its crc32 (4) | crc32 of the content (4) | content: (length (4) | encoded transaction) …
 *
 * The length has a checksum of its own, which tells a frame that the end of the file cuts off from a damaged length.
 */

const MAGIC = Uint8Array.of(...new TextEncoder().encode('COINDTXS'), 1)
const NUMBER_BYTES = 4
export const HEADER_BYTES = MAGIC.length + 32 + NUMBER_BYTES
const FRAME_HEADER_BYTES = 3 * NUMBER_BYTES
/** A frame takes no further transaction from here on: to encode or read one takes a small part of a millisecond. */
const FRAME_BYTES = 65_536
/** Content of the longest frame that is written; a greater length in a file means damage. */
const MOST_FRAME_BYTES = FRAME_BYTES + NUMBER_BYTES + DEFAULT_POOL_LIMITS.transactionBytes
/** Bytes of one read: to check 250 frames of one transfer each takes less than a millisecond. */
const READ_BYTES = 32_768
/** Other users of the machine may not read what clients sent to this node alone. */
const FILE_MODE = 0o600

/** The file operations that a journal uses, as in `node:fs/promises`. */
export interface JournalDisk {
  open(path: string, flags: 'r' | 'r+' | 'w', mode: number): Promise<JournalHandle>
  rename(from: string, to: string): Promise<void>
  copyFile(from: string, to: string): Promise<void>
  rm(path: string, options: { readonly force: true }): Promise<void>
}

type JournalHandle = Pick<FileHandle, 'read' | 'write' | 'truncate' | 'datasync' | 'stat' | 'chmod' | 'close'>

export const nodeDisk: JournalDisk = { open, rename, copyFile, rm }

/** An open file, and where the next frame is written. */
export interface JournalFile {
  readonly handle: JournalHandle
  length: number
}

/** Bytes that a transaction takes in the file, besides its share of a frame's header. */
export function journaledBytes(encodedLength: number): number {
  return NUMBER_BYTES + encodedLength
}

/** Makes an empty journal in place of what has the name. */
export async function createJournalFile(
  disk: JournalDisk,
  path: string,
  genesisHash: Uint8Array,
): Promise<JournalFile> {
  const handle = await disk.open(path, 'w', FILE_MODE)
  try {
    await writeAll(handle, encodeHeader(genesisHash), 0)
  } catch (error) {
    await handle.close()
    throw error
  }
  return { handle, length: HEADER_BYTES }
}

function encodeHeader(genesisHash: Uint8Array): Uint8Array {
  const fields = concatBytes(MAGIC, genesisHash)
  return concatBytes(fields, uint32Bytes(crc32(fields)))
}

/** The fault of a journal, and where its file is now. */
interface SetAside {
  readonly file: string
  readonly reason: string
  /** from which byte on it was not read */
  readonly offset: number
}

/**
 * Opens the journal at `path` to continue it; creates it if it is absent. An incomplete end is cut off, so that no
 * later frame follows it:
 *
 * - A frame that the end of the file cuts off, or zeros to the end: a killed process or a power failure leaves a file so.
 * - Everything from another damaged place on, after a copy of the file was set aside.
 * - The whole file where its header is damaged, of another version or of another genesis: it is set aside too.
 *
 * @returns the file, and what was set aside. A second file that is set aside takes the place of the first.
 */
export async function openJournalFile(
  disk: JournalDisk,
  path: string,
  genesisHash: Uint8Array,
): Promise<{ readonly file: JournalFile; readonly aside: SetAside | undefined }> {
  const handle = await openExisting(disk, path)
  if (handle === undefined) return { file: await createJournalFile(disk, path, genesisHash), aside: undefined }
  const asidePath = `${path}.aside`
  let isOpen = true
  try {
    const stats = await handle.stat()
    // Opening a FIFO again would wait for its other end, and hold up the stop of the node.
    if (!stats.isFile()) throw new Error(`${path} is not a regular file: remove it`)
    await handle.chmod(FILE_MODE)
    const { size } = stats
    const reason = await wrongHeader(handle, size, genesisHash)
    if (reason !== undefined) {
      isOpen = false
      await handle.close()
      if (size >= HEADER_BYTES) await disk.rename(path, asidePath)
      const file = await createJournalFile(disk, path, genesisHash)
      return { file, aside: size < HEADER_BYTES ? undefined : { file: asidePath, reason, offset: 0 } }
    }
    const frames = new FrameReader(handle, size)
    let content: Uint8Array | undefined
    do content = await frames.next()
    while (content !== undefined)
    const { offset, isDamaged } = frames
    if (isDamaged) await disk.copyFile(path, asidePath)
    if (offset < size) await handle.truncate(offset)
    const aside = isDamaged ? { file: asidePath, reason: 'it is damaged', offset } : undefined
    return { file: { handle, length: offset }, aside }
  } catch (error) {
    if (isOpen) await handle.close()
    throw error
  }
}

async function openExisting(disk: JournalDisk, path: string): Promise<JournalHandle | undefined> {
  try {
    return await disk.open(path, 'r+', FILE_MODE)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** Why the file cannot be continued; a file that ends within its header has nothing in it. */
async function wrongHeader(handle: JournalHandle, size: number, genesisHash: Uint8Array): Promise<string | undefined> {
  if (size < HEADER_BYTES) return 'it ends within its header'
  const header = await readAt(handle, 0, HEADER_BYTES)
  const fields = header.subarray(0, HEADER_BYTES - NUMBER_BYTES)
  if (header.length < HEADER_BYTES || crc32(fields) !== uint32At(header, fields.length)) return 'its header is damaged'
  if (!equalBytes(fields.subarray(0, MAGIC.length), MAGIC)) return 'it has another format'
  if (!equalBytes(fields.subarray(MAGIC.length), genesisHash)) return 'it belongs to a chain with another genesis'
  return undefined
}

/**
 * Reads the frames of a journal one after the other, up to `end`: each is an array of encoded transactions. Frames may be appended
 * meanwhile.
 */
export async function* readJournal(
  disk: JournalDisk,
  path: string,
  end: number,
): AsyncGenerator<readonly Uint8Array[], void, void> {
  const handle = await disk.open(path, 'r', FILE_MODE)
  try {
    const frames = new FrameReader(handle, end)
    for (;;) {
      const content = await frames.next()
      if (content === undefined) return
      yield transactionsIn(content)
    }
  } finally {
    await handle.close()
  }
}

/** Reads frames from behind the header on. */
class FrameReader {
  readonly #handle: JournalHandle
  readonly #end: number
  /** what was read and not used, and where it begins in the file */
  #buffer: Uint8Array = EMPTY_BYTES
  #offset = HEADER_BYTES
  #isDamaged = false

  constructor(handle: JournalHandle, end: number) {
    this.#handle = handle
    this.#end = end
  }

  /** where the last whole frame ends */
  get offset(): number {
    return this.#offset
  }

  /** after the last frame: whether what follows is neither a frame that the end cuts off nor zeros */
  get isDamaged(): boolean {
    return this.#isDamaged
  }

  /** The content of the next frame; undefined when there is no whole one any more. */
  async next(): Promise<Uint8Array | undefined> {
    await this.#fill(FRAME_HEADER_BYTES)
    if (this.#buffer.length < FRAME_HEADER_BYTES) return undefined
    const length = uint32At(this.#buffer, 0)
    const end = FRAME_HEADER_BYTES + length
    const isLength = crc32(this.#buffer.subarray(0, NUMBER_BYTES)) === uint32At(this.#buffer, NUMBER_BYTES)
    if (!isLength || length === 0 || length > MOST_FRAME_BYTES) return this.#fail()
    await this.#fill(end)
    if (this.#buffer.length < end) return undefined
    const content = this.#buffer.subarray(FRAME_HEADER_BYTES, end)
    if (crc32(content) !== uint32At(this.#buffer, 2 * NUMBER_BYTES)) return this.#fail()
    this.#buffer = this.#buffer.subarray(end)
    this.#offset += end
    return content
  }

  /** Reads on until the buffer has so many bytes, or all that there are. */
  async #fill(bytes: number): Promise<void> {
    while (this.#buffer.length < bytes) {
      const from = this.#offset + this.#buffer.length
      const read = await readAt(this.#handle, from, Math.min(READ_BYTES, this.#end - from))
      if (read.length === 0) return
      this.#buffer = this.#buffer.length === 0 ? read : concatBytes(this.#buffer, read)
    }
  }

  async #fail(): Promise<undefined> {
    let from = this.#offset
    while (from < this.#end) {
      const read = await readAt(this.#handle, from, Math.min(READ_BYTES, this.#end - from))
      if (read.length === 0) break
      if (read.some((byte) => byte !== 0)) {
        this.#isDamaged = true
        break
      }
      from += read.length
    }
    return undefined
  }
}

/** The transactions in a frame whose checksum is right. */
function transactionsIn(content: Uint8Array): readonly Uint8Array[] {
  const transactions: Uint8Array[] = []
  for (let at = 0; at + NUMBER_BYTES <= content.length; ) {
    const start = at + NUMBER_BYTES
    at = start + uint32At(content, at)
    transactions.push(content.subarray(start, at))
  }
  return transactions
}

/** Gathers transactions for one frame. */
export class JournalFrame {
  readonly #encodings: string[] = []
  #bytes = 0

  get isEmpty(): boolean {
    return this.#encodings.length === 0
  }

  get isFull(): boolean {
    return this.#bytes >= FRAME_BYTES
  }

  /** @param raw `bytesKey` of an encoded transaction */
  add(raw: string): void {
    this.#encodings.push(raw)
    this.#bytes += journaledBytes(raw.length)
  }

  encode(): Uint8Array {
    const out = Buffer.allocUnsafe(FRAME_HEADER_BYTES + this.#bytes)
    out.writeUInt32BE(this.#bytes, 0)
    let at = FRAME_HEADER_BYTES
    for (const raw of this.#encodings) {
      out.writeUInt32BE(raw.length, at)
      out.write(raw, at + NUMBER_BYTES, 'latin1')
      at += journaledBytes(raw.length)
    }
    out.writeUInt32BE(crc32(out.subarray(0, NUMBER_BYTES)), NUMBER_BYTES)
    out.writeUInt32BE(crc32(out.subarray(FRAME_HEADER_BYTES)), 2 * NUMBER_BYTES)
    return out
  }
}

/** Writes a frame at the end of the file. After an error the file may end with an incomplete frame. */
export async function appendFrame(file: JournalFile, frame: Uint8Array): Promise<void> {
  await writeAll(file.handle, frame, file.length)
  file.length += frame.length
}

async function writeAll(handle: JournalHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let done = 0; done < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, done, bytes.length - done, position + done)
    if (bytesWritten === 0) throw new Error('the disk takes no more bytes')
    done += bytesWritten
  }
}

async function readAt(handle: JournalHandle, position: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length)
  const { bytesRead } = await handle.read(bytes, 0, length, position)
  return bytes.subarray(0, bytesRead)
}

function uint32At(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(at)
}

function uint32Bytes(value: number): Uint8Array {
  const bytes = new Uint8Array(NUMBER_BYTES)
  new DataView(bytes.buffer).setUint32(0, value)
  return bytes
}
