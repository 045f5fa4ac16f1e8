import { type ConsensusBlock, dataHash, encodeBlock } from '../../../src/chain/comet/block.ts'
import {
  type BlockId,
  type Commit,
  EMPTY_COMMIT,
  NIL_BLOCK_ID,
  type Proposal,
  type RankedValidatorSet,
  SIGNED_MESSAGE_TYPES,
  type Validator,
  type Vote,
  type VoteType,
} from '../../../src/chain/comet/types.ts'
import { createRankedSet, incrementPriorities } from '../../../src/chain/comet/validatorSet.ts'
import { proposalSignBytes, voteSignBytes } from '../../../src/chain/comet/vote.ts'
import type { ConsensusTiming } from '../../../src/chain/genesis/chainConfig.ts'
import type { FinalizeResult, ValidatorUpdate } from '../../../src/consensus/application.ts'
import { type CandidateBlock, candidateOf } from '../../../src/consensus/candidateBlock.ts'
import { type ConsensusState, type EngineChain, makeBlock } from '../../../src/consensus/consensusState.ts'
import type { Effect, Input, Timeout } from '../../../src/consensus/inputsAndEffects.ts'
import { beginHeight, step } from '../../../src/consensus/reducer.ts'
import { RoundState } from '../../../src/consensus/roundState.ts'
import type { PeerId } from '../../../src/consensus/transport.ts'
import { VoteSet } from '../../../src/consensus/voteSet.ts'
import { concatBytes, equalBytes } from '../../../src/primitives/bytes.ts'
import type { VerifySignature } from '../../../src/primitives/ed25519.ts'
import { sha256 } from '../../../src/primitives/hash.ts'

export const PREVOTE = SIGNED_MESSAGE_TYPES.prevote
export const PRECOMMIT = SIGNED_MESSAGE_TYPES.precommit
export const GENESIS_TIME_MS = 1_700_000_000_000

export const TIMING: ConsensusTiming = {
  proposeTimeoutMs: 700,
  proposeTimeoutDeltaMs: 200,
  voteTimeoutMs: 200,
  voteTimeoutDeltaMs: 100,
  precisionMs: 500,
  messageDelayMs: 3000,
}

export const CHAIN: EngineChain = {
  chainId: 'coin_76287-1',
  appVersion: 0,
  params: { maxBytes: 2_000_000, maxGas: -1 },
  evidence: { maxAgeBlocks: 1000, maxAgeMs: 1_000_000, maxBytes: 100_000 },
  genesisHash: new Uint8Array(32).fill(9),
  genesisTimeMs: GENESIS_TIME_MS,
  intervalMs: 400,
  timing: TIMING,
}

/** A keyed hash in place of ed25519: a test could forge with the public key, which none does by accident. */
export function signMessage(publicKey: Uint8Array, message: Uint8Array): Uint8Array {
  const half = sha256(concatBytes(publicKey, message))
  return concatBytes(half, half)
}

export const verifyMessage: VerifySignature = (publicKey, message, signature) =>
  equalBytes(signMessage(publicKey, message), signature)

export function publicKeyOf(name: number): Uint8Array {
  return sha256(Uint8Array.of(name))
}

/** Validators whose powers descend, so that validator i is at position i. */
export function rankedSet(powers: readonly bigint[] = [13n, 12n, 11n, 10n]): RankedValidatorSet {
  return createRankedSet(powers.map((power, name) => ({ publicKey: publicKeyOf(name), power })))
}

export function genesisState(validators = rankedSet(), chain: EngineChain = CHAIN): ConsensusState {
  const { chainId, appVersion, params, evidence } = chain
  return {
    chainId,
    appVersion,
    params,
    evidence,
    lastHeight: 0,
    lastBlockId: NIL_BLOCK_ID,
    lastBlockTimeMs: GENESIS_TIME_MS,
    lastSeenCommit: EMPTY_COMMIT,
    appHash: new Uint8Array(32).fill(1),
    lastResultsHash: new Uint8Array(32).fill(2),
    lastValidators: validators,
    validators,
    nextValidators: incrementPriorities(validators, 1),
  }
}

export function finalizeResult(height: number, validatorUpdates: readonly ValidatorUpdate[] = []): FinalizeResult {
  return {
    appHash: sha256(Uint8Array.of(1, height)),
    lastResultsHash: sha256(Uint8Array.of(2, height)),
    validatorUpdates,
    durableHeight: height,
  }
}

interface SceneOptions {
  readonly state?: ConsensusState
  readonly chain?: EngineChain
  /** position of the validator under test; `none`: it follows without voting */
  readonly me?: number | 'none'
  /** answer `validate` at once; otherwise the test does */
  readonly validate?: boolean
}

type EffectOf<K extends Effect['kind']> = Extract<Effect, { readonly kind: K }>

/** One reducer whose signer and application answer at once; all others are played by the test. */
export class Scene {
  readonly rs: RoundState
  readonly effects: Effect[] = []
  readonly #validate: boolean
  readonly #chain: EngineChain

  constructor({ state = genesisState(), me = 0, validate = true, chain = CHAIN }: SceneOptions = {}) {
    this.#validate = validate
    this.#chain = chain
    const address = me === 'none' ? undefined : state.validators.validators[me]!.address
    this.rs = new RoundState({ chain, state, address, verify: verifyMessage })
    this.#do(beginHeight(this.rs))
  }

  get validators(): readonly Validator[] {
    return this.rs.validators.validators
  }

  /** Positions of the validators that propose in rounds 0, 1, 2, … of the present height. */
  proposer(round: number): number {
    return this.validators.indexOf(this.rs.proposerOf(round))
  }

  input(input: Input): void {
    this.#do(step(this.rs, input))
  }

  #do(effects: readonly Effect[]): void {
    for (const effect of effects) {
      this.effects.push(effect)
      this.#answer(effect)
    }
  }

  #answer(effect: Effect): void {
    if (effect.kind === 'signVote') {
      const timestampMs = Math.max(effect.earliestMs, GENESIS_TIME_MS + 1)
      const vote = sign(this.#chain.chainId, this.validators[this.rs.ownIndex]!, { ...effect.vote, timestampMs })
      this.input({ kind: 'vote', vote, from: undefined })
    } else if (effect.kind === 'signProposal') {
      const { publicKey } = this.validators[this.rs.ownIndex]!
      const signature = signMessage(publicKey, proposalSignBytes(this.#chain.chainId, effect.proposal))
      const { height, round } = effect.proposal
      this.input({ kind: 'proposal', proposal: { ...effect.proposal, signature }, receivedMs: 0, from: undefined })
      for (const part of effect.parts) this.input({ kind: 'part', height, round, part, from: undefined })
    } else if (effect.kind === 'build') {
      const block = this.block({ proposer: this.rs.ownIndex, lastCommit: effect.lastCommit })
      this.input({ kind: 'built', round: effect.round, block })
    } else if (effect.kind === 'validate' && this.#validate) {
      this.validated(effect.blockId)
    }
  }

  /** Effects of one kind, oldest first. */
  all<K extends Effect['kind']>(kind: K): EffectOf<K>[] {
    return this.effects.filter((effect): effect is EffectOf<K> => effect.kind === kind)
  }

  clear(): void {
    this.effects.length = 0
  }

  /** What this node has voted, as `prevote 0 nil`; blocks by their first byte. */
  votes(): string[] {
    return this.all('signVote').map(({ vote: { type, round, blockId } }) => {
      const what = blockId.hash.length === 0 ? 'nil' : 'block'
      return `${type === PREVOTE ? 'prevote' : 'precommit'} ${round} ${what}`
    })
  }

  votedFor(type: VoteType, round: number): BlockId | undefined {
    return this.all('signVote').find(({ vote }) => vote.type === type && vote.round === round)?.vote.blockId
  }

  logged(): string[] {
    return this.all('log').map(({ message, fields }) => `${message}: ${String(fields['reason'] ?? '')}`)
  }

  timeout(step: Timeout['step'], round = this.rs.round): void {
    this.input({ kind: 'timeout', timeout: { height: this.rs.height, round, step } })
  }

  start(): void {
    this.timeout('newHeight')
  }

  /** A block that fits the present height; `tag` makes different ones. */
  block({
    proposer,
    tag = 0,
    timeMs = this.rs.state.lastBlockTimeMs + 400,
    lastCommit = this.rs.lastPrecommits?.commit() ?? EMPTY_COMMIT,
    txs = [Uint8Array.of(tag)],
  }: {
    proposer: number
    tag?: number
    timeMs?: number
    lastCommit?: Commit
    txs?: readonly Uint8Array[]
  }): ConsensusBlock {
    const proposerAddress = this.validators[proposer]!.address
    return makeBlock(this.rs.state, { txs, evidence: [], dataHash: dataHash(txs), timeMs, proposerAddress, lastCommit })
  }

  /** The block that the proposer of `round` would build. */
  candidate(
    round: number,
    change: { tag?: number; timeMs?: number; txs?: readonly Uint8Array[] } = {},
  ): CandidateBlock {
    return candidateFor(this.block({ proposer: this.proposer(round), ...change }))
  }

  proposal(
    candidate: CandidateBlock,
    round: number,
    { polRound = -1, timestampMs = candidate.block!.header.timeMs, by = this.proposer(round) }: ProposalChange = {},
  ): Proposal {
    const unsigned = { height: this.rs.height, round, polRound, blockId: candidate.blockId, timestampMs }
    const signature = signMessage(this.validators[by]!.publicKey, proposalSignBytes(this.#chain.chainId, unsigned))
    return { ...unsigned, signature }
  }

  /** The proposal of a round arrives, a little after the block's time, but not its parts. */
  propose(candidate: CandidateBlock, round: number, change: ProposalChange = {}): void {
    const proposal = this.proposal(candidate, round, change)
    const receivedMs = change.receivedMs ?? proposal.timestampMs + 20
    this.input({ kind: 'proposal', proposal, receivedMs, from: 'peer' })
  }

  parts({ parts }: CandidateBlock, round = this.rs.round, height = this.rs.height): void {
    for (const part of parts) this.input({ kind: 'part', height, round, part, from: 'peer' })
  }

  /** Proposal and parts arrive. */
  proposeWhole(candidate: CandidateBlock, round: number, change: ProposalChange = {}): void {
    this.propose(candidate, round, change)
    this.parts(candidate, round)
  }

  /** A block, possibly a wrong one, is proposed by the proposer of the round. */
  proposeBlock(
    block: ConsensusBlock,
    round: number,
    { withParts = true, ...change }: ProposalChange & { withParts?: boolean } = {},
  ): CandidateBlock {
    const candidate = candidateFor(block)
    this.propose(candidate, round, change)
    if (withParts) this.parts(candidate, round)
    return candidate
  }

  vote(index: number, type: VoteType, round: number, blockId: BlockId | undefined, height = this.rs.height): Vote {
    const { address } = this.validators[index]!
    return sign(this.#chain.chainId, this.validators[index]!, {
      type,
      height,
      round,
      blockId: blockId ?? NIL_BLOCK_ID,
      timestampMs: GENESIS_TIME_MS + 1,
      validatorAddress: address,
      validatorIndex: index,
    })
  }

  /** These validators vote; undefined: nil. */
  prevotes(round: number, blockId: BlockId | undefined, ...indices: number[]): void {
    for (const index of indices) this.receive(this.vote(index, PREVOTE, round, blockId))
  }

  precommits(round: number, blockId: BlockId | undefined, ...indices: number[]): void {
    for (const index of indices) this.receive(this.vote(index, PRECOMMIT, round, blockId))
  }

  receive(vote: Vote, from: PeerId | undefined = 'peer'): void {
    this.input({ kind: 'vote', vote, from })
  }

  validated({ hash }: BlockId, reason?: string): void {
    this.input({ kind: 'validated', height: this.rs.height, blockHash: hash, reason })
  }

  /** The application has executed the decided block. */
  finalized(updates: readonly ValidatorUpdate[] = []): void {
    const { height } = this.rs
    this.input({ kind: 'finalized', height, result: finalizeResult(height, updates) })
  }

  /** All but this node precommit a block: a commit. */
  commitOf(candidate: CandidateBlock, round: number, ...indices: number[]): Commit {
    const votes = new VoteSet(this.rs.height, round, PRECOMMIT, this.rs.validators)
    for (const index of indices) votes.add(this.vote(index, PRECOMMIT, round, candidate.blockId))
    return votes.commit()
  }

  /** Goes through round 0 of the present height to the next one, whoever proposes. */
  decideHeight(updates: readonly ValidatorUpdate[] = []): void {
    this.start()
    const me = this.rs.ownIndex
    const others = this.validators.map((_, index) => index).filter((index) => index !== me)
    let blockId = this.rs.proposal?.blockId
    if (blockId === undefined) {
      const candidate = this.candidate(0)
      this.proposeWhole(candidate, 0)
      blockId = candidate.blockId
    }
    this.prevotes(0, blockId, ...others)
    this.precommits(0, blockId, ...others)
    this.finalized(updates)
  }
}

interface ProposalChange {
  readonly polRound?: number
  readonly timestampMs?: number
  readonly receivedMs?: number
  /** position of who signs it */
  readonly by?: number
}

export function candidateFor(block: ConsensusBlock): CandidateBlock {
  return candidateOf(block, encodeBlock(block))
}

function sign(chainId: string, { publicKey }: Validator, vote: Omit<Vote, 'signature'>): Vote {
  return { ...vote, signature: signMessage(publicKey, voteSignBytes(chainId, vote)) }
}
