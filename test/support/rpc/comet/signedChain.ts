import type { EthereumHeader } from '../../../../src/chain/block/ethereumBlock.ts'
import { type ConsensusBlock, dataHash, encodeBlock, headerHash } from '../../../../src/chain/comet/block.ts'
import { createPartSet } from '../../../../src/chain/comet/partSet.ts'
import {
  ABSENT_COMMIT_SIG,
  BLOCK_ID_FLAGS,
  type BlockId,
  type Commit,
  type CommitSig,
  EMPTY_COMMIT,
  type Evidence,
  NIL_BLOCK_ID,
  type RankedValidatorSet,
  SIGNED_MESSAGE_TYPES,
} from '../../../../src/chain/comet/types.ts'
import { createRankedSet, proposerAt } from '../../../../src/chain/comet/validatorSet.ts'
import { voteSignBytes } from '../../../../src/chain/comet/vote.ts'
import type { ChainReader } from '../../../../src/chain/store/chainReader.ts'
import type { ValidatorUpdate } from '../../../../src/consensus/application.ts'
import { advanceState, type ConsensusState, makeBlock } from '../../../../src/consensus/consensusState.ts'
import { bytesKey, equalBytes } from '../../../../src/primitives/bytes.ts'
import { type Ed25519Key, ed25519Address, ed25519Key, signEd25519 } from '../../../../src/primitives/ed25519.ts'
import type { CometChain } from '../../../../src/rpc/comet/env.ts'

/** As much of an Ethereum header as CometBFT's RPC shows. */
const GENESIS_LIMITS = { gasLimit: 30_000_000n } as EthereumHeader

/** What is special about one height. */
interface HeightPlan {
  readonly txs?: readonly Uint8Array[]
  readonly evidence?: readonly Evidence[]
  readonly updates?: readonly ValidatorUpdate[]
  readonly round?: number
  /** validators, by their number among the keys, that do not sign, or sign nil */
  readonly absent?: readonly number[]
  readonly nil?: readonly number[]
}

export interface SignedChain extends CometChain {
  readonly blockTimeMs: ChainReader['blockTimeMs']
  base: number
  oldestBlock: number
  readonly keys: readonly Ed25519Key[]
}

export const CHAIN_ID = 'coin_76287-1'
const GENESIS_TIME_MS = Date.UTC(2026, 0, 1)

/** The key of validator `index`. */
export function testKey(index: number): Ed25519Key {
  return ed25519Key(new Uint8Array(32).fill(index + 1))
}

/** `plans.length` blocks decided by four validators of the powers 40, 30, 20 and 10; a fifth key is there to be added. */
export function createSignedChain(plans: readonly HeightPlan[]): SignedChain {
  const keys = Array.from({ length: 5 }, (_, index) => testKey(index))
  const set = createRankedSet(
    [40n, 30n, 20n, 10n].map((power, index) => ({ publicKey: keys[index]!.publicKey, power })),
  )
  let state: ConsensusState = {
    chainId: CHAIN_ID,
    appVersion: 0,
    params: { maxBytes: 2_000_000, maxGas: 30_000_000 },
    evidence: { maxBytes: 100_000 },
    lastHeight: 0,
    lastBlockId: NIL_BLOCK_ID,
    lastBlockTimeMs: GENESIS_TIME_MS,
    lastSeenCommit: EMPTY_COMMIT,
    appHash: new Uint8Array(32).fill(0xa0),
    lastResultsHash: new Uint8Array(32).fill(0xb0),
    lastValidators: set,
    validators: set,
    nextValidators: set,
  }
  const blocks: ConsensusBlock[] = []
  const ids: BlockId[] = []
  const commits: Commit[] = []
  const sets: RankedValidatorSet[] = [state.validators]
  for (const [index, plan] of plans.entries()) {
    const { txs = [], evidence = [], round = 0 } = plan
    const block = makeBlock(state, {
      txs,
      evidence,
      dataHash: dataHash(txs),
      timeMs: GENESIS_TIME_MS + 400 * (index + 1),
      proposerAddress: proposerAt(state.validators, round).address,
      lastCommit: state.lastSeenCommit,
    })
    const blockId = { hash: headerHash(block.header), partSetHeader: createPartSet(encodeBlock(block)).header }
    const seenCommit = signCommit(state.validators, keys, blockId, block.header.height, block.header.timeMs, plan)
    blocks.push(block)
    ids.push(blockId)
    commits.push(seenCommit)
    state = advanceState(
      state,
      { block, blockId, seenCommit },
      {
        appHash: new Uint8Array(32).fill(index + 1),
        lastResultsHash: new Uint8Array(32).fill(0xb0),
        validatorUpdates: plan.updates ?? [],
        durableHeight: 0,
      },
    )
    sets.push(state.validators)
  }
  sets.push(state.nextValidators)
  const heights = new Map(ids.map(({ hash }, index) => [bytesKey(hash), index + 1]))
  return {
    keys,
    headHeight: plans.length,
    base: 0,
    oldestBlock: 0,
    // What the next header commits to.
    hash: (height) => new Uint8Array(32).fill(height),
    header: (height) => (height <= plans.length ? GENESIS_LIMITS : undefined),
    consensusBlock: (height) => blocks[height - 1],
    blockTimeMs: (height) => blocks[height - 1]?.header.timeMs,
    blockId: (height) => ids[height - 1],
    seenCommit: (height) => commits[height - 1],
    lightBlock: (height) => {
      const [block, commit, validators] = [blocks[height - 1], commits[height - 1], sets[height - 1]]
      return block && commit && validators && { header: block.header, commit, validators }
    },
    nextLightBlock: (height) => height,
    validatorsAt: (height) => sets[height - 1],
    validatorSetAt: (height) => sets[height - 1],
    packedBelow: 0,
    heightOfConsensusHash: (hash) => heights.get(bytesKey(hash)),
    heightsOfConsensusHash: (hash) => [heights.get(bytesKey(hash)) ?? []].flat(),
    heightsOfTransaction: () => [],
  }
}

function signCommit(
  { validators }: RankedValidatorSet,
  keys: readonly Ed25519Key[],
  blockId: BlockId,
  height: number,
  timeMs: number,
  { round = 0, absent = [], nil = [] }: HeightPlan,
): Commit {
  const signatures = validators.map(({ address }, index): CommitSig => {
    const number = keys.findIndex(({ publicKey }) => equalBytes(ed25519Address(publicKey), address))
    if (absent.includes(number)) return ABSENT_COMMIT_SIG
    const isNil = nil.includes(number)
    const vote = {
      type: SIGNED_MESSAGE_TYPES.precommit,
      height,
      round,
      blockId: isNil ? NIL_BLOCK_ID : blockId,
      timestampMs: timeMs + 10 + index,
    }
    return {
      flag: isNil ? BLOCK_ID_FLAGS.nil : BLOCK_ID_FLAGS.commit,
      validatorAddress: address,
      timestampMs: vote.timestampMs,
      signature: signEd25519(keys[number]!, voteSignBytes(CHAIN_ID, vote)),
    }
  })
  return { height, round, blockId, signatures }
}
