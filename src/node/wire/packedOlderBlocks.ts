import type { OlderBlock, OlderBlocks, VerifiedBlock } from '../../chain/store/olderBlocks.ts'
import { EMPTY_BYTES } from '../../primitives/bytes.ts'
import { type PackedBytes, packBytes, unpackBytes } from './packedBytes.ts'

/* Old blocks on their way from thread to thread. */

/** {@link OlderBlocks}: block, header, validators (none: no bytes) of each, then the validators below. */
export interface PackedOlderBlocks {
  readonly packed: PackedBytes
}

const PARTS = 3

export function packOlderBlocks({ blocks, below = EMPTY_BYTES }: OlderBlocks): PackedOlderBlocks {
  return { packed: packBytes([...blocks.flatMap(partsOf), below]) }
}

export function unpackOlderBlocks({ packed }: PackedOlderBlocks): OlderBlocks {
  const parts = unpackBytes(packed)
  const below = parts.pop()!
  return { blocks: inGroups(parts, PARTS).map(blockOf), below: below.length === 0 ? undefined : below }
}

/** {@link VerifiedBlock}: the parts of each, then its hashes. */
export interface PackedVerifiedBlocks {
  /** of the first */
  readonly highest: number
  readonly packed: PackedBytes
}

const VERIFIED_PARTS = PARTS + 3

export function packVerifiedBlocks(blocks: readonly VerifiedBlock[]): PackedVerifiedBlocks {
  const parts = blocks.flatMap((block) => [...partsOf(block), block.hash, block.consensusHash, block.validatorsHash])
  return { highest: blocks[0]?.height ?? 0, packed: packBytes(parts) }
}

export function unpackVerifiedBlocks({ highest, packed }: PackedVerifiedBlocks): readonly VerifiedBlock[] {
  return inGroups(unpackBytes(packed), VERIFIED_PARTS).map((parts, index) => ({
    ...blockOf(parts),
    height: highest - index,
    hash: parts[PARTS]!,
    consensusHash: parts[PARTS + 1]!,
    validatorsHash: parts[PARTS + 2]!,
  }))
}

function partsOf({ block, header, validators = EMPTY_BYTES }: OlderBlock): readonly Uint8Array[] {
  return [block, header, validators]
}

function blockOf([block, header, validators]: readonly Uint8Array[]): OlderBlock {
  return { block: block!, header: header!, validators: validators!.length === 0 ? undefined : validators }
}

function inGroups<T>(all: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: all.length / size }, (_, index) => all.slice(index * size, (index + 1) * size))
}
