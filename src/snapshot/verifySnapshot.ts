import { headerHash } from '../chain/comet/block.ts'
import { decodeLightBlock, type LightBlock, verifyLightBlock } from '../chain/comet/lightBlock.ts'
import { type BlockId, equalBlockId } from '../chain/comet/types.ts'
import { ConsensusDecodingError } from '../chain/comet/wire.ts'
import type { ChainConfig } from '../chain/genesis/chainConfig.ts'
import type { BlockLink } from '../chain/store/linkedBlocks.ts'
import { bytesKey, bytesToHex, equalBytes, keyBytes } from '../primitives/bytes.ts'
import { type VerifySignature, verifyEd25519 } from '../primitives/ed25519.ts'
import { EMPTY_CODE_HASH, type Hash, keccak256, sha256 } from '../primitives/hash.ts'
import { NATIVE_ACCOUNT } from '../state/prepareChanges.ts'
import { type Chunk, ChunkError, MAX_PACKED_BYTES } from './chunk.ts'
import { readListedChunk } from './listedChunk.ts'
import type { MadeSnapshot } from './makeSnapshot.ts'
import {
  chunkName,
  describeChunk,
  MANIFEST_NAME,
  MAX_MANIFEST_BYTES,
  type Manifest,
  type ManifestChunk,
  readManifest,
  SnapshotError,
} from './manifest.ts'
import { verifyBlocks } from './verifyBlocks.ts'
import { verifyChunk } from './verifyChunk.ts'

/** The files of a snapshot, in a directory or on a web server. */
export interface SnapshotFiles {
  /** where they are, for messages */
  readonly place: string
  /**
   * Reads a whole file; returns undefined when it does not exist.
   * @throws SnapshotError when it cannot be read, or is larger than `maxBytes`
   */
  read(name: string, maxBytes: number): Promise<Uint8Array | undefined>
}

export interface VerifyOptions {
  /** the chain that the snapshot must be of; undefined for any chain */
  readonly chain: Pick<ChainConfig, 'chainId' | 'evmChainId' | 'genesisHash'> | undefined
  /** awaited after each chunk; an error that it throws ends the work */
  readonly onChunk?: (done: number, total: number) => Promise<void> | void
  readonly verifySignature?: VerifySignature
}

export interface VerifiedSnapshot extends MadeSnapshot {
  readonly height: number
  /** of the block's consensus header */
  readonly consensusHash: Hash
}

/**
 * Checks all of a snapshot: that every file is there and is what the manifest says, that each chunk is a true part of the state with the
 * manifest's root, that nothing is missing, that the blocks follow each other up to the snapshot's, and that the validators in the light
 * blocks decided it. Whether those are the chain's validators, only a light client can tell that has a point of trust.
 * @throws ManifestError; SnapshotError, which names the bad file
 */
export async function verifySnapshot(
  files: SnapshotFiles,
  { chain, onChunk = () => undefined, verifySignature = verifyEd25519 }: VerifyOptions,
): Promise<VerifiedSnapshot> {
  const manifestBytes = await files.read(MANIFEST_NAME, MAX_MANIFEST_BYTES)
  if (manifestBytes === undefined) throw new SnapshotError(`there is no ${MANIFEST_NAME} in ${files.place}`)
  const manifest = readManifest(manifestBytes)
  checkChain(manifest, chain)
  const { blockId } = checkLightBlocks(manifest, verifySignature)
  const contents = new Contents(manifest, blockId)
  let bytes = 0
  for (const [index, listed] of manifest.chunks.entries()) {
    const name = chunkName(listed)
    const packed = await files.read(name, MAX_PACKED_BYTES)
    if (packed === undefined) throw new SnapshotError(`${name} (${describeChunk(listed)}) is missing`)
    bytes += packed.length
    try {
      contents.add(openChunk(packed, listed))
    } catch (error) {
      if (!(error instanceof ChunkError)) throw error
      throw new SnapshotError(`${name} (${describeChunk(listed)}) is bad: ${error.message}`)
    }
    await onChunk(index + 1, manifest.chunks.length)
  }
  contents.finish()
  const { height, consensusHash } = manifest
  return { height, consensusHash, bytes, chunks: manifest.chunks.length }
}

function checkChain(manifest: Manifest, chain: VerifyOptions['chain']): void {
  if (chain === undefined) return
  const { chainId, evmChainId, genesisHash } = manifest
  if (chainId !== chain.chainId || BigInt(evmChainId) !== chain.evmChainId) {
    throw new SnapshotError(
      `${MANIFEST_NAME} is of the chain ${chainId} (${evmChainId}), the genesis of ${chain.chainId}`,
    )
  }
  if (!equalBytes(genesisHash, chain.genesisHash)) {
    throw new SnapshotError(`${MANIFEST_NAME} is of another genesis, ${bytesToHex(genesisHash).slice(2)}`)
  }
}

/**
 * Checks that the light blocks are those of the snapshot's block and of the two after it, follow
 * each other, and prove the manifest's hashes.
 * @returns the ID of the snapshot's block
 */
function checkLightBlocks(manifest: Manifest, verify: VerifySignature): { readonly blockId: BlockId } {
  const blocks = manifest.lightBlocks.map((bytes, index) => {
    const height = manifest.height + index
    const fail = (problem: string): never => {
      throw new SnapshotError(`${MANIFEST_NAME}: the light block of ${height}: ${problem}`)
    }
    const block = readLightBlock(bytes, fail)
    if (block.header.height !== height) fail(`it is of block ${block.header.height}`)
    const problem = verifyLightBlock(block, manifest.chainId, verify)
    if (problem !== undefined) fail(problem)
    return block
  })
  const [own, next, second] = blocks as [LightBlock, LightBlock, LightBlock]
  const pairs = [
    [own, next],
    [next, second],
  ] as const
  for (const [before, after] of pairs) {
    const follows =
      equalBlockId(after.header.lastBlockId, before.commit.blockId) &&
      equalBytes(after.header.validatorsHash, before.header.nextValidatorsHash)
    if (follows) continue
    throw new SnapshotError(
      `${MANIFEST_NAME}: block ${after.header.height} does not follow block ${before.header.height}`,
    )
  }
  if (!equalBytes(headerHash(own.header), manifest.consensusHash)) {
    throw new SnapshotError(`${MANIFEST_NAME}: consensus_hash is not that of its light block`)
  }
  if (!equalBytes(next.header.appHash, manifest.ethereumHash)) {
    throw new SnapshotError(
      `${MANIFEST_NAME}: block ${next.header.height} names another Ethereum hash than ethereum_hash`,
    )
  }
  return own.commit
}

function readLightBlock(bytes: Uint8Array, fail: (problem: string) => never): LightBlock {
  try {
    return decodeLightBlock(bytes)
  } catch (error) {
    if (error instanceof ConsensusDecodingError) return fail(error.message)
    throw error
  }
}

/** @throws ChunkError when the file is not the one that the manifest lists */
function openChunk(packed: Uint8Array, listed: ManifestChunk): Chunk {
  if (packed.length !== listed.bytes) throw new ChunkError(`it has ${packed.length} bytes, not ${listed.bytes}`)
  if (!equalBytes(sha256(packed), listed.sha256)) throw new ChunkError('its sha256 does not match')
  return readListedChunk(packed, listed)
}

/** Checks chunks in the order of the manifest, and at the end that none is missing. */
class Contents {
  readonly #manifest: Manifest
  readonly #blockId: BlockId
  /** accounts whose slots are in chunks of their own, and hashes of contract code, that no chunk had yet */
  readonly #missingStorages = new Set<string>()
  readonly #missingCodes = new Set<string>()
  #last: BlockLink | undefined

  constructor(manifest: Manifest, blockId: BlockId) {
    this.#manifest = manifest
    this.#blockId = blockId
  }

  /** @throws ChunkError */
  add(chunk: Chunk): void {
    if (chunk.kind === 'blocks') {
      this.#last = verifyBlocks(chunk, this.#last)
      return
    }
    verifyChunk(chunk, this.#manifest.stateRoot)
    if (chunk.kind === 'accounts') {
      for (const { address, codeHash, slots } of chunk.accounts) {
        if (slots === undefined) this.#missingStorages.add(bytesKey(address))
        if (!equalBytes(codeHash, EMPTY_CODE_HASH)) this.#missingCodes.add(bytesKey(codeHash))
      }
    } else if (chunk.kind === 'codes') {
      for (const code of chunk.codes)
        this.#found(this.#missingCodes, keccak256(code), 'contract code that no account has')
    } else if (chunk.kind === 'native') {
      this.#missingStorages.delete(bytesKey(NATIVE_ACCOUNT))
    } else if (equalBytes(chunk.first, FIRST_KEY)) {
      this.#found(this.#missingStorages, chunk.address, 'the storage of an account that has its slots with it')
    }
  }

  #found(missing: Set<string>, key: Uint8Array, what: string): void {
    if (!missing.delete(bytesKey(key))) throw new ChunkError(`it has ${what}`)
  }

  /** @throws SnapshotError */
  finish(): void {
    const [address] = this.#missingStorages
    if (address !== undefined) throw new SnapshotError(`no chunk has the storage of ${hexOf(address)}`)
    const [code] = this.#missingCodes
    if (code !== undefined) throw new SnapshotError(`no chunk has the code with the hash ${hexOf(code)}`)
    const { height, ethereumHash } = this.#manifest
    const isSame = this.#last && equalBlockId(this.#last.blockId, this.#blockId)
    if (!isSame || !equalBytes(this.#last!.ethereumHash, ethereumHash)) {
      throw new SnapshotError(`the last block, ${height}, is not the one of the light block`)
    }
  }
}

const FIRST_KEY: Hash = new Uint8Array(32)

function hexOf(key: string): string {
  return bytesToHex(keyBytes(key))
}
