import { brotliCompressSync, constants, crc32, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib'
import type { Encoding } from './compression.ts'

/** Bytes between two turns of the thread's other work: 3 to 10 ms. */
const PIECE_BYTES = 524_288
/** The fastest level: a higher one takes half as long again for 1 % less. */
const GZIP_LEVEL = { level: constants.Z_BEST_SPEED }
const ZSTD_LEVEL = { params: { [constants.ZSTD_c_compressionLevel]: 1 } }
/** Level 3 takes two to three times as long for 1 % at most. */
const BROTLI_LEVEL = {
  params: { [constants.BROTLI_PARAM_QUALITY]: 1, [constants.BROTLI_PARAM_MODE]: constants.BROTLI_MODE_TEXT },
}
/** RFC 1952, 2.3.1: deflate, no flags, no time, the fastest level, an unknown system. */
const GZIP_HEAD = Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255)
const GZIP_TAIL_BYTES = 8

/**
 * Compresses bytes in this thread, in gzip piece by piece. It does not use Node.js's asynchronous
 * functions, whose threads also write the database and the write-ahead log.
 * @param turn awaited between pieces; an error that it throws ends the work
 */
export async function compressBytes(
  encoding: Encoding,
  bytes: Uint8Array,
  turn: () => Promise<void>,
): Promise<Uint8Array> {
  switch (encoding) {
    case 'zstd':
      return zstdCompressSync(bytes, ZSTD_LEVEL)
    case 'br':
      return brotliCompressSync(bytes, {
        params: { ...BROTLI_LEVEL.params, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length },
      })
    case 'gzip':
      return bytes.length <= PIECE_BYTES ? gzipSync(bytes, GZIP_LEVEL) : gzipInPieces(bytes, turn)
  }
}

/**
 * Makes one gzip member whose deflate blocks are made piece by piece, as by pigz: each piece except
 * the last ends with an empty stored block (Z_SYNC_FLUSH), after which the next piece starts at a
 * byte.
 */
async function gzipInPieces(bytes: Uint8Array, turn: () => Promise<void>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [GZIP_HEAD]
  let checksum = 0
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
    if (at > 0) await turn()
    const piece = bytes.subarray(at, at + PIECE_BYTES)
    const isLast = at + PIECE_BYTES >= bytes.length
    checksum = crc32(piece, checksum)
    parts.push(
      deflateRawSync(piece, { ...GZIP_LEVEL, finishFlush: isLast ? constants.Z_FINISH : constants.Z_SYNC_FLUSH }),
    )
  }
  const tail = Buffer.alloc(GZIP_TAIL_BYTES)
  tail.writeUInt32LE(checksum, 0)
  tail.writeUInt32LE(bytes.length % 2 ** 32, 4)
  parts.push(tail)
  return Buffer.concat(parts)
}
