import { equalBytes } from '../primitives/bytes.ts'
import { type Chunk, ChunkError, decodeChunk, unpackChunk } from './chunk.ts'
import type { ManifestChunk } from './manifest.ts'

/**
 * Reads a file that has the hash in the manifest, and is nothing else than the manifest says. A restore would notice at its end that parts of
 * the state are missing; but with files that say the same again and again, a liar could keep it from coming there.
 * @throws ChunkError
 */
export function readListedChunk<Listed extends ManifestChunk>(packed: Uint8Array, listed: Listed): ChunkOf<Listed> {
  const content = unpackChunk(packed)
  if (content.length !== listed.unpackedBytes) {
    throw new ChunkError(`it unpacks to ${content.length} bytes, not ${listed.unpackedBytes}`)
  }
  const chunk = decodeChunk(content)
  if (!isListed(chunk, listed)) throw new ChunkError('its content is not what the manifest says')
  return chunk as ChunkOf<Listed>
}

/** The content of a listed chunk's file. */
export type ChunkOf<Listed extends Pick<ManifestChunk, 'kind'>> = Extract<Chunk, Pick<Listed, 'kind'>>

function isListed(chunk: Chunk, listed: ManifestChunk): boolean {
  if (chunk.kind === 'codes') return listed.kind === 'codes'
  if (chunk.kind === 'blocks') {
    return listed.kind === 'blocks' && chunk.from === listed.from && chunk.blocks.length === listed.to - listed.from + 1
  }
  if (listed.kind === 'codes' || listed.kind === 'blocks' || chunk.kind !== listed.kind) return false
  if (!equalBytes(chunk.first, listed.first) || !equalBytes(chunk.last, listed.last)) return false
  return chunk.kind !== 'storage' || (listed.kind === 'storage' && equalBytes(chunk.address, listed.address))
}
