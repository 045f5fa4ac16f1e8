import { dataHash, encodeBlock, headerHash } from '../../../src/chain/comet/block.ts'
import { commitSignBytes, encodeCommit } from '../../../src/chain/comet/commit.ts'
import { createPartSet } from '../../../src/chain/comet/partSet.ts'
import {
  ABSENT_COMMIT_SIG,
  BLOCK_ID_FLAGS,
  type BlockId,
  type Commit,
  EMPTY_COMMIT,
  NIL_BLOCK_ID,
  type RankedValidatorSet,
} from '../../../src/chain/comet/types.ts'
import { createRankedSet } from '../../../src/chain/comet/validatorSet.ts'
import type { DecidedBlock, FinalizeResult, ValidatorUpdate } from '../../../src/consensus/application.ts'
import { advanceState, type ConsensusState, makeBlock } from '../../../src/consensus/consensusState.ts'
import type { FetchedBlock, FetchedBlocks } from '../../../src/consensus/transport.ts'
import { concatBytes, equalBytes } from '../../../src/primitives/bytes.ts'
import type { VerifySignature } from '../../../src/primitives/ed25519.ts'
import { sha256 } from '../../../src/primitives/hash.ts'

const CHAIN_ID = 'coin_76287-1'
const GENESIS_MS = 1_790_000_000_000

/** A keyed hash in place of ed25519: as good against peers that do not know the scheme, and fast. */
export function fakeSign(publicKey: Uint8Array, message: Uint8Array): Uint8Array {
  const digest = sha256(concatBytes(publicKey, message))
  return concatBytes(digest, digest)
}

export const verifyFake: VerifySignature = (publicKey, message, signature) =>
  equalBytes(signature, fakeSign(publicKey, message))

/** Public key of validator number `index`; it has no private one. */
export function keyOf(index: number): Uint8Array {
  return sha256(new Uint8Array([index >> 8, index & 255]))
}

interface ServedChainOptions {
  readonly blocks: number
  /** powers of the validators of the first block */
  readonly powers?: readonly bigint[]
  readonly txsAt?: (height: number) => readonly Uint8Array[]
  readonly updatesAt?: (height: number) => readonly ValidatorUpdate[]
  /** whether validator `index` of the set of `height` signed in time for the commit that is served with the block */
  readonly signs?: (height: number, index: number) => boolean
  readonly sign?: (publicKey: Uint8Array, message: Uint8Array) => Uint8Array
  readonly keys?: readonly Uint8Array[]
  /** header.app_hash of the first block, and of the one after each */
  readonly appHashes?: { readonly genesis: Uint8Array; readonly after: (block: DecidedBlock) => Uint8Array }
}

/** A chain of decided blocks, its states, and what an honest peer answers from it. */
export interface ServedChain {
  /** by height: [0] is the genesis */
  readonly states: readonly ConsensusState[]
  /** by height - 1 */
  readonly decided: readonly DecidedBlock[]
  readonly encoded: readonly FetchedBlock[]
  readonly advance: (state: ConsensusState, decided: DecidedBlock) => ConsensusState
  /** @param head of the peer's chain */
  readonly serve: (
    request: { from: number; count: number; maxBytes: number },
    head?: number,
    base?: number,
  ) => FetchedBlocks
}

export function servedChain(options: ServedChainOptions): ServedChain {
  const { powers = [1n, 1n, 1n, 1n], sign = fakeSign, signs = () => true } = options
  const keys = options.keys ?? powers.map((_, index) => keyOf(index))
  const set = createRankedSet(powers.map((power, index) => ({ publicKey: keys[index]!, power })))
  const genesis = genesisState(set)
  const states: ConsensusState[] = [{ ...genesis, appHash: options.appHashes?.genesis ?? genesis.appHash }]
  const decided: DecidedBlock[] = []
  const encoded: FetchedBlock[] = []
  const result = (block: DecidedBlock): FinalizeResult => ({
    appHash: options.appHashes?.after(block) ?? sha256(concatBytes(states[0]!.appHash, block.blockId.hash)),
    lastResultsHash: sha256(block.blockId.hash),
    validatorUpdates: options.updatesAt?.(block.block.header.height) ?? [],
    durableHeight: block.block.header.height,
  })
  const advance = (state: ConsensusState, block: DecidedBlock): ConsensusState =>
    advanceState(state, block, result(block))
  for (let height = 1; height <= options.blocks; height++) {
    const state = states.at(-1)!
    const txs = options.txsAt?.(height) ?? []
    const before = decided.at(-1)
    const block = makeBlock(state, {
      txs,
      evidence: [],
      dataHash: dataHash(txs),
      timeMs: GENESIS_MS + height * 400,
      proposerAddress: state.validators.validators[0]!.address,
      lastCommit:
        before === undefined
          ? EMPTY_COMMIT
          : commitFor(state.lastValidators as RankedValidatorSet, height - 1, before.blockId, sign, () => true),
    })
    const bytes = encodeBlock(block)
    const blockId = { hash: headerHash(block.header), partSetHeader: createPartSet(bytes).header }
    const seenCommit = commitFor(state.validators, height, blockId, sign, (index) => signs(height, index))
    const entry = { block, blockId, seenCommit }
    decided.push(entry)
    encoded.push({ block: bytes, commit: encodeCommit(seenCommit) })
    states.push(advance(state, entry))
  }
  return {
    states,
    decided,
    encoded,
    advance,
    serve: ({ from, count, maxBytes }, head = options.blocks, base = 1) => {
      const blocks: FetchedBlock[] = []
      let bytes = 0
      for (let height = from; height < from + count && height <= head && height >= base && from > 0; height++) {
        const entry = encoded[height - 1]!
        blocks.push(entry)
        bytes += entry.block.length + entry.commit.length
        if (bytes > maxBytes) break
      }
      return { base, height: head, blocks }
    },
  }
}

function genesisState(set: RankedValidatorSet): ConsensusState {
  return {
    chainId: CHAIN_ID,
    appVersion: 0,
    params: { maxBytes: 2_000_000, maxGas: 30_000_000 },
    evidence: { maxBytes: 100_000 },
    lastHeight: 0,
    lastBlockId: NIL_BLOCK_ID,
    lastBlockTimeMs: GENESIS_MS,
    lastSeenCommit: EMPTY_COMMIT,
    appHash: sha256(new Uint8Array([1])),
    lastResultsHash: sha256(new Uint8Array(0)),
    lastValidators: set,
    validators: set,
    nextValidators: set,
  }
}

export function commitFor(
  set: RankedValidatorSet,
  height: number,
  blockId: BlockId,
  sign: (publicKey: Uint8Array, message: Uint8Array) => Uint8Array,
  signs: (index: number) => boolean,
): Commit {
  const unsigned: Commit = {
    height,
    round: 0,
    blockId,
    signatures: set.validators.map(({ address }, index) =>
      signs(index)
        ? {
            flag: BLOCK_ID_FLAGS.commit,
            validatorAddress: address,
            timestampMs: GENESIS_MS + height * 400 + index,
            signature: new Uint8Array(64),
          }
        : ABSENT_COMMIT_SIG,
    ),
  }
  return {
    ...unsigned,
    signatures: unsigned.signatures.map((sig, index) =>
      sig.flag === BLOCK_ID_FLAGS.absent
        ? sig
        : { ...sig, signature: sign(set.validators[index]!.publicKey, commitSignBytes(CHAIN_ID, unsigned, index)) },
    ),
  }
}
