import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConsensusBlock, encodeBlock, headerHash } from '../../../src/chain/comet/block.ts'
import { createDuplicateVoteEvidence } from '../../../src/chain/comet/evidence.ts'
import { createPartSet } from '../../../src/chain/comet/partSet.ts'
import {
  ABSENT_COMMIT_SIG,
  BLOCK_ID_FLAGS,
  type BlockId,
  type Commit,
  type Evidence,
  NIL_BLOCK_ID,
  SIGNED_MESSAGE_TYPES,
  type ValidatorSet,
  type Vote,
  type VoteType,
} from '../../../src/chain/comet/types.ts'
import { proposerAt } from '../../../src/chain/comet/validatorSet.ts'
import { voteSignBytes } from '../../../src/chain/comet/vote.ts'
import type { ChainConfig } from '../../../src/chain/genesis/chainConfig.ts'
import { createGenesis, type GenesisInput } from '../../../src/chain/genesis/createGenesis.ts'
import { chainConfigOf } from '../../../src/chain/genesis/genesis.ts'
import type { DecidedBlock } from '../../../src/consensus/application.ts'
import {
  type ConsensusChain,
  type ConsensusState,
  checkBlock,
  makeBlock,
  stateFromInfo,
} from '../../../src/consensus/consensusState.ts'
import type { Engine } from '../../../src/evm/engine.ts'
import { type BlockHooks, MODULE_HOOKS, moduleHooks } from '../../../src/execution/blockHooks.ts'
import { type Executor, openExecutor } from '../../../src/execution/executor.ts'
import { genesisStateOf } from '../../../src/execution/genesisBlock.ts'
import type { PooledTransaction } from '../../../src/mempool/types.ts'
import { UPGRADE_RULES, type UpgradeRules } from '../../../src/modules/upgrade/beginUpgrade.ts'
import { precompileTable } from '../../../src/precompiles/registry.ts'
import { moduleAddress } from '../../../src/primitives/address.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { type Ed25519Key, ed25519Address, ed25519Key, signEd25519 } from '../../../src/primitives/ed25519.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import type { WorldState } from '../../../src/state/world.ts'
import { productionEngine } from '../evm/productionEngine.ts'
import { GENESIS_TIME_MS, pooled, WALLET } from './testChain.ts'

/** Validators that tests know the keys of, the genesis ones first. */
interface TestValidator {
  readonly key: Ed25519Key
  readonly address: Uint8Array
  readonly operator: Uint8Array
}

export function testValidator(index: number): TestValidator {
  const key = ed25519Key(new Uint8Array(32).fill(index + 1))
  const operator = index === 0 ? WALLET : moduleAddress(`operator ${index}`)
  return { key, address: ed25519Address(key.publicKey), operator }
}

const KEYS: ReadonlyMap<string, Ed25519Key> = new Map(
  Array.from({ length: 64 }, (_, index) => testValidator(index)).map(({ key, address }) => [bytesToHex(address), key]),
)

const APP_VERSION = 0

/** A genesis of `count` validators of 100, 101, … COIN. */
export function networkGenesis(count: number, input: Partial<GenesisInput> = {}) {
  return createGenesis({
    genesisTimeMs: GENESIS_TIME_MS,
    chainId: 'coin_76287-1',
    wallet: WALLET,
    selfDelegationAcoin: 100n * 10n ** 18n,
    consensusPublicKey: testValidator(0).key.publicKey,
    moniker: 'validator 0',
    otherValidators: Array.from({ length: count - 1 }, (_, other) => {
      const { key, operator } = testValidator(other + 1)
      return {
        operator,
        consensusPublicKey: key.publicKey,
        selfDelegationAcoin: BigInt(101 + other) * 10n ** 18n,
        moniker: `validator ${other + 1}`,
      }
    }),
    ...input,
  })
}

export interface NodeOptions {
  readonly hooks?: BlockHooks
  /** an existing directory, which stays; by default a temporary one */
  readonly directory?: string
  readonly pruning?: 'archive' | number
  readonly blockHistory?: number
  readonly index?: 'all' | 'off'
  readonly indexTraces?: boolean
  readonly maxAge?: { readonly maxAgeBlocks: number; readonly maxAgeMs: number }
  readonly maxEvidenceBytes?: number
  /** of the mempool */
  readonly senders?: (hashes: readonly Uint8Array[]) => Promise<readonly (Uint8Array | undefined)[]>
  /** collects what `openExecutor` wants done later */
  readonly later?: (work: () => void) => void
  readonly now?: () => number
  /** the next block is built while this one is written */
  readonly writesBehind?: boolean
  readonly onHead?: (height: number) => void
  readonly onPublished?: (height: number, included: number) => void
  readonly onWriteFailed?: (error: unknown) => void
  readonly onUpgradeNeeded?: (error: Error) => void
  /** whose lists may be added to before a `reopen` */
  readonly upgrades?: UpgradeRules
  /** the production one by default */
  readonly engine?: Engine
}

/** A node's application on a database of its own. */
export interface NetworkNode {
  readonly chain: ChainConfig
  readonly consensusChain: ConsensusChain
  readonly location: string
  executor: Executor
  /** what its mempool offers */
  offered: readonly PooledTransaction[]
  state(): Promise<ConsensusState>
  reopen(): Promise<void>
  close(): Promise<void>
}

export async function openNetworkNode(
  genesis: ReturnType<typeof networkGenesis>,
  options: NodeOptions = {},
): Promise<NetworkNode> {
  const directory = options.directory ?? mkdtempSync(join(tmpdir(), 'coind-network-'))
  const configured = chainConfigOf(genesis)
  const chain = {
    ...configured,
    evidence: {
      ...configured.evidence,
      ...options.maxAge,
      ...(options.maxEvidenceBytes === undefined ? undefined : { maxBytes: options.maxEvidenceBytes }),
    },
  }
  const location = join(directory, 'db')
  const open = () =>
    openExecutor({
      location,
      chain,
      genesis: () => genesisStateOf(genesis),
      engine: options.engine ?? productionEngine,
      precompiles: precompileTable(chain.registeredPrecompiles),
      candidates: {
        candidates: async ({ isFirst }) => (isFirst ? node.offered : []),
        ...(options.senders && { senders: options.senders }),
      },
      pruning: options.pruning ?? 'archive',
      blockHistory: options.blockHistory ?? 0,
      ...(options.index === undefined ? {} : { index: options.index }),
      indexTraces: options.indexTraces ?? false,
      defer: (work) => work(),
      later: (_, work) => options.later?.(work),
      now: options.now ?? (() => performance.now()),
      hooks: options.hooks ?? MODULE_HOOKS,
      writesBehind: options.writesBehind ?? false,
      onHead: ({ head }) => options.onHead?.(head.header.number),
      onWriteFailed: (error) => options.onWriteFailed?.(error),
      onPublished: ({ head, update }) => options.onPublished?.(head.header.number, update.included.length),
      onUpgradeNeeded: (error) => options.onUpgradeNeeded?.(error),
      upgrades: options.upgrades ?? UPGRADE_RULES,
    })
  const node: NetworkNode = {
    chain,
    consensusChain: {
      chainId: chain.chainId,
      appVersion: APP_VERSION,
      params: { maxBytes: chain.maxBlockBytes, maxGas: Number(chain.blockGasLimit) },
      evidence: chain.evidence,
    },
    location,
    executor: undefined as unknown as Executor,
    offered: [],
    state: async () => stateFromInfo(node.consensusChain, await node.executor.application.info()),
    reopen: async () => {
      await node.executor.close()
      node.executor = await open()
    },
    close: async () => {
      await node.executor.close()
      if (options.directory === undefined) rmSync(directory, { recursive: true, force: true })
    },
  }
  node.executor = await open()
  return node
}

export interface BlockWishes {
  readonly raws?: readonly Uint8Array[]
  readonly evidence?: readonly Evidence[]
  /** positions of validators whose precommit for this block nobody has seen, or that voted nil */
  readonly absent?: readonly number[]
  readonly nil?: readonly number[]
  readonly round?: number
}

/** Longer than any test's block takes. */
const BUILD_BUDGET_MS = 60_000

/** Has `node` propose the next block of `state`, checks it as consensus does, and signs it with the validators' keys. */
export async function proposeBlock(
  node: NetworkNode,
  state: ConsensusState,
  wishes: BlockWishes = {},
): Promise<DecidedBlock> {
  const { round = 0 } = wishes
  const height = state.lastHeight + 1
  const timeMs = blockTimeMs(height)
  const proposerAddress = proposerAt(state.validators, round).address
  const lastCommit = state.lastSeenCommit
  node.offered = (wishes.raws ?? []).map((raw) => pooled(raw, node.chain))
  const data = await node.executor.application.prepareProposal(
    {
      height,
      timeMs,
      proposerAddress,
      parentConsensusHash: state.lastHeight === 0 ? node.chain.genesisHash : state.lastBlockId.hash,
      maxBytes: node.chain.maxBlockBytes,
      lastCommit,
      evidence: wishes.evidence ?? [],
    },
    BUILD_BUDGET_MS,
  )
  const block = makeBlock(state, { ...data!, timeMs, proposerAddress, lastCommit })
  const reason = checkBlock(state, block)
  if (reason !== undefined) throw new Error(reason)
  return decide(block, state, wishes)
}

/** The block with a commit by the validators of its height. */
export function decide(block: ConsensusBlock, state: ConsensusState, wishes: BlockWishes = {}): DecidedBlock {
  const blockId = { hash: headerHash(block.header), partSetHeader: createPartSet(encodeBlock(block)).header }
  return { block, blockId, seenCommit: signCommit(block, blockId, state.validators, wishes) }
}

function signCommit(
  { header: { chainId, height, timeMs } }: ConsensusBlock,
  blockId: BlockId,
  { validators }: ValidatorSet,
  { absent = [], nil = [], round = 0 }: BlockWishes,
): Commit {
  const signatures = validators.map(({ address }, index) => {
    if (absent.includes(index)) return ABSENT_COMMIT_SIG
    const flag = nil.includes(index) ? BLOCK_ID_FLAGS.nil : BLOCK_ID_FLAGS.commit
    const votedFor = nil.includes(index) ? NIL_BLOCK_ID : blockId
    const message = voteSignBytes(chainId, {
      type: SIGNED_MESSAGE_TYPES.precommit,
      height,
      round,
      blockId: votedFor,
      timestampMs: timeMs,
    })
    const signature = signEd25519(KEYS.get(bytesToHex(address))!, message)
    return { flag, validatorAddress: address, timestampMs: timeMs, signature }
  })
  return { height, round, blockId, signatures }
}

/** A signed vote of the validator at `index` for a block that never was. */
export function voteFor(
  what: string | undefined,
  at: {
    readonly chainId: string
    readonly validators: ValidatorSet
    readonly height: number
    readonly index: number
    readonly timestampMs: number
    readonly round?: number
    readonly type?: VoteType
  },
): Vote {
  const { address } = at.validators.validators[at.index]!
  const unsigned = {
    type: at.type ?? SIGNED_MESSAGE_TYPES.precommit,
    height: at.height,
    round: at.round ?? 0,
    blockId:
      what === undefined
        ? NIL_BLOCK_ID
        : {
            hash: sha256(new TextEncoder().encode(what)),
            partSetHeader: { total: 1, hash: sha256(new TextEncoder().encode(`parts of ${what}`)) },
          },
    timestampMs: at.timestampMs,
    validatorAddress: address,
    validatorIndex: at.index,
  }
  const signature = signEd25519(KEYS.get(bytesToHex(address))!, voteSignBytes(at.chainId, unsigned))
  return { ...unsigned, signature }
}

/** True evidence: the validator at `index` of block `height`, whose validators these are, precommitted two blocks. */
export function equivocation(
  chainId: string,
  validators: ValidatorSet,
  {
    height,
    index,
    names = ['a', 'b'],
    ...other
  }: {
    readonly height: number
    readonly index: number
    readonly names?: readonly [string | undefined, string]
    readonly round?: number
    readonly type?: VoteType
    readonly timestampMs?: number
  },
): Evidence {
  const timeMs = blockTimeMs(height)
  const at = { chainId, validators, height, index, timestampMs: timeMs + 5, ...other }
  return createDuplicateVoteEvidence(voteFor(names[0], at), voteFor(names[1], at), { validators, timeMs })
}

export function blockTimeMs(height: number): number {
  return GENESIS_TIME_MS + height * 400
}

/** Hooks that run `script` at a block's end, as a staking module would, before the production ones. */
export function scriptedHooks(
  script: (height: number, world: WorldState) => void,
  upgrades: UpgradeRules = UPGRADE_RULES,
): BlockHooks {
  const hooks = moduleHooks(upgrades)
  return {
    ...hooks,
    end: (world, block) => {
      script(block.height, world)
      return hooks.end(world, block)
    },
  }
}
