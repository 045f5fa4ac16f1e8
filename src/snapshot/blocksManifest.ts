import { z } from 'zod'
import { type HeightRange, SEGMENT_BLOCKS, segmentName } from '../chain/segments/segments.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import { RULES } from '../storage/format.ts'
import { chainId, hex, mirrors, parseManifest, unusableManifest } from './manifest.ts'
import type { ManifestKind } from './publicFiles.ts'

/*
 * `manifest.json` of a directory with the blocks of a chain, in files of the format of segments,
 * for any web server. Neither the manifest nor the files are trusted: a node that takes blocks from
 * there verifies and executes them.
 */

/** More than a file takes: an export ends one after {@link FILE_BYTES} of blocks, and one block has some megabytes. */
const MAX_FILE_BYTES = 256 << 20
/** An export starts the next file after so many bytes of unpacked blocks, since a reader has a whole file in memory. */
export const FILE_BYTES = 64 << 20
/** 537 million blocks, or 4 TB. */
const MAX_FILES = 65_536

/** Contents of a directory with blocks. */
export interface BlocksManifest {
  /** native chain ID */
  readonly chainId: string
  readonly evmChainId: number
  readonly genesisHash: Hash
  readonly mirrors: readonly string[]
  /** by ascending height, without a gap; at least one */
  readonly files: readonly BlocksFile[]
}

/** A file with the blocks from `first` to `last`. */
export interface BlocksFile extends HeightRange {
  readonly bytes: number
  /** of all its bytes */
  readonly sha256: Uint8Array
}

/** Blocks among files on web servers, see `publicFiles`. The name of a file follows from its blocks, so that it is in the directory. */
export const BLOCKS_FILES: ManifestKind<BlocksManifest, BlocksFile> = {
  read: readBlocksManifest,
  nameOf: segmentName,
  setting: 'the address',
}

const height = z.int().min(0)
const schema = z.strictObject({
  kind: z.literal('blocks'),
  format: z.literal(RULES),
  chain_id: chainId,
  evm_chain_id: z.int().min(1),
  genesis_hash: hex(32),
  mirrors,
  files: z
    .array(z.strictObject({ first: height, last: height, bytes: z.int().min(1).max(MAX_FILE_BYTES), sha256: hex(32) }))
    .min(1)
    .max(MAX_FILES),
})

/** @throws ManifestError */
export function readBlocksManifest(bytes: Uint8Array): BlocksManifest {
  const data = parseManifest(bytes, schema, WHAT)
  let next = data.files[0]!.first
  for (const { first, last } of data.files) {
    if (first !== next || last < first || last - first >= SEGMENT_BLOCKS) {
      throw unusableManifest(
        WHAT,
        `blocks ${first} to ${last} are not those from ${next} on, at most ${SEGMENT_BLOCKS}`,
      )
    }
    next = last + 1
  }
  return {
    chainId: data.chain_id,
    evmChainId: data.evm_chain_id,
    genesisHash: data.genesis_hash,
    mirrors: data.mirrors ?? [],
    files: data.files,
  }
}

const WHAT = 'the blocks'

/** Returns the text of `manifest.json`: the same for the same manifest. */
export function encodeBlocksManifest({ chainId, evmChainId, genesisHash, mirrors, files }: BlocksManifest): string {
  const json = {
    kind: 'blocks',
    format: RULES,
    chain_id: chainId,
    evm_chain_id: evmChainId,
    genesis_hash: bytesToHex(genesisHash),
    ...(mirrors.length === 0 ? {} : { mirrors }),
    files: files.map(({ first, last, bytes, sha256 }) => ({ first, last, bytes, sha256: bytesToHex(sha256) })),
  }
  return `${JSON.stringify(json)}\n`
}
