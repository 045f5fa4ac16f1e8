import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dataHash } from '../../../src/chain/comet/block.ts'
import { equalBlockId, isNilBlockId, NIL_BLOCK_ID, type Vote } from '../../../src/chain/comet/types.ts'
import { proposalSignBytes, voteSignBytes } from '../../../src/chain/comet/vote.ts'
import { makeBlock } from '../../../src/consensus/consensusState.ts'
import type { Effect, Input } from '../../../src/consensus/inputsAndEffects.ts'
import { beginHeight, step } from '../../../src/consensus/reducer.ts'
import { RoundState } from '../../../src/consensus/roundState.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { runs } from '../../propertyRuns.ts'
import {
  CHAIN,
  candidateFor,
  finalizeResult,
  genesisState,
  PRECOMMIT,
  PREVOTE,
  signMessage,
  verifyMessage,
} from '../../support/consensus/reducerHarness.ts'

/*
 * Four reducers with one of them, or somebody with one of their keys, faulty: messages are delivered in any order, more than
 * once or never, timers fire whenever, and the faulty validator signs whatever. No honest one may break its word.
 */

interface Node {
  readonly rs: RoundState
  /** what it waits for: timers, answers */
  readonly pending: Input[]
  readonly decided: Map<number, string>
  /** every vote it has signed, by height, round and type */
  readonly signed: Map<string, Vote>
}

const HEIGHTS = 2

class World {
  readonly nodes: Node[]
  readonly #faulty: number
  /** everything that was ever sent */
  readonly messages: Input[] = []
  readonly #state = genesisState()

  constructor(faulty: number) {
    this.#faulty = faulty
    this.nodes = this.#state.validators.validators.map(({ address }) => ({
      rs: new RoundState({ chain: CHAIN, state: this.#state, address, verify: verifyMessage }),
      pending: [],
      decided: new Map(),
      signed: new Map(),
    }))
    for (const node of this.nodes) this.#do(node, beginHeight(node.rs))
  }

  /** One thing happens; `random` gives whole numbers below its argument. */
  act(random: (below: number) => number): void {
    const node = this.nodes[random(4)]!
    const what = random(100)
    if (what < 70 && this.messages.length > 0) {
      // Mostly recent messages: the old ones are stale.
      const among = random(8) === 0 ? this.messages.length : Math.min(this.messages.length, 16)
      this.input(node, this.messages[this.messages.length - 1 - random(among)]!)
    } else if (what < 95 && node.pending.length > 0) {
      const index = random(node.pending.length)
      const input = node.pending[index]!
      const isPatient = input.kind === 'timeout' && input.timeout.step !== 'newHeight' && random(8) > 0
      if (isPatient) return
      node.pending.splice(index, 1)
      this.input(node, input)
    } else if (what >= 95) this.#misbehave(random(1_000_000))
  }

  input(node: Node, input: Input): void {
    this.#do(node, step(node.rs, input))
  }

  #do(node: Node, effects: readonly Effect[]): void {
    for (const effect of effects) this.#answer(node, effect)
  }

  #answer(node: Node, effect: Effect): void {
    const me = this.nodes.indexOf(node)
    const { publicKey, address } = this.#state.validators.validators[me]!
    switch (effect.kind) {
      case 'schedule':
        node.pending.push({ kind: 'timeout', timeout: effect.timeout })
        return
      case 'build': {
        const { state } = node.rs
        const txs = [Uint8Array.of(me, effect.round)]
        const content = { txs, evidence: [], dataHash: dataHash(txs), lastCommit: effect.lastCommit }
        const block = makeBlock(state, { ...content, timeMs: state.lastBlockTimeMs + 1, proposerAddress: address })
        node.pending.push({ kind: 'built', round: effect.round, block })
        return
      }
      case 'validate': {
        const { height, blockHash } = { height: node.rs.height, blockHash: effect.blockId.hash }
        node.pending.push({ kind: 'validated', height, blockHash, reason: undefined })
        return
      }
      case 'signProposal': {
        const { height, round } = effect.proposal
        const signature = signMessage(publicKey, proposalSignBytes(CHAIN.chainId, effect.proposal))
        const proposal = { ...effect.proposal, signature }
        this.#own(node, { kind: 'proposal', proposal, receivedMs: proposal.timestampMs, from: undefined })
        for (const part of effect.parts) this.#own(node, { kind: 'part', height, round, part, from: undefined })
        return
      }
      case 'signVote': {
        const unsigned = { ...effect.vote, timestampMs: effect.earliestMs }
        const vote = { ...unsigned, signature: signMessage(publicKey, voteSignBytes(CHAIN.chainId, unsigned)) }
        this.#checkVote(node, vote)
        this.#own(node, { kind: 'vote', vote, from: undefined })
        return
      }
      case 'finalize': {
        const { height } = effect.decided.block.header
        node.decided.set(height, bytesToHex(effect.decided.blockId.hash))
        if (height < HEIGHTS) node.pending.push({ kind: 'finalized', height, result: finalizeResult(height) })
        return
      }
      case 'halt':
      case 'misbehaviour':
        throw new Error(JSON.stringify(effect))
    }
  }

  #own(node: Node, input: Extract<Input, { kind: 'proposal' | 'part' | 'vote' }>): void {
    this.messages.push({ ...input, from: 'peer' })
    this.input(node, input)
  }

  /** Never two votes of one height, round and type; a prevote against the lock only with later prevotes for it. */
  #checkVote({ rs, signed }: Node, vote: Vote): void {
    const key = `${vote.height}/${vote.round}/${vote.type}`
    expect(signed.has(key), `signed twice: ${key}`).toBe(false)
    signed.set(key, vote)
    if (vote.type !== PREVOTE || isNilBlockId(vote.blockId)) return
    const lock = lastLock(signed, vote)
    if (lock === undefined || equalBlockId(lock.blockId, vote.blockId)) return
    const later = rs.heightVotes.rounds().some((round) => {
      const isLater = round >= lock.round && round < vote.round
      return isLater && rs.heightVotes.prevotes(round)!.hasMajorityFor(vote.blockId)
    })
    expect(later, `prevoted against the lock of round ${lock.round}`).toBe(true)
  }

  /** The faulty validator's key signs a vote for any block that anybody knows of, or proposes another block. */
  #misbehave(which: number): void {
    const { rs } = this.nodes[this.#faulty]!
    const { address, publicKey } = this.#state.validators.validators[this.#faulty]!
    const known = this.messages.flatMap((input) => (input.kind === 'proposal' ? [input.proposal.blockId] : []))
    const blockId = which % 3 === 0 ? NIL_BLOCK_ID : (known[which % (known.length + 1)] ?? NIL_BLOCK_ID)
    const round = Math.max(0, rs.round + (which % 4) - 1)
    if (which % 5 === 0 && rs.proposerOf(round).address === address) {
      this.#proposeAnother(round, which)
      return
    }
    const unsigned = {
      type: which % 2 === 0 ? PREVOTE : PRECOMMIT,
      height: rs.height,
      round,
      blockId,
      timestampMs: rs.state.lastBlockTimeMs,
      validatorAddress: address,
      validatorIndex: this.#faulty,
    }
    const vote = { ...unsigned, signature: signMessage(publicKey, voteSignBytes(CHAIN.chainId, unsigned)) }
    this.messages.push({ kind: 'vote', vote, from: 'peer' })
  }

  #proposeAnother(round: number, which: number): void {
    const { rs } = this.nodes[this.#faulty]!
    const { address, publicKey } = this.#state.validators.validators[this.#faulty]!
    const txs = [Uint8Array.of(which % 7, 200)]
    const { height, state, lastPrecommits } = rs
    const lastCommit = lastPrecommits?.commit() ?? state.lastSeenCommit
    const content = { txs, evidence: [], dataHash: dataHash(txs), lastCommit }
    const block = makeBlock(state, { ...content, timeMs: state.lastBlockTimeMs + 1, proposerAddress: address })
    const candidate = candidateFor(block)
    const polRound = (which % (round + 1)) - 1
    const unsigned = { height, round, polRound, blockId: candidate.blockId, timestampMs: block.header.timeMs }
    const signature = signMessage(publicKey, proposalSignBytes(CHAIN.chainId, unsigned))
    const receivedMs = unsigned.timestampMs
    this.messages.push({ kind: 'proposal', proposal: { ...unsigned, signature }, receivedMs, from: 'peer' })
    for (const part of candidate.parts) this.messages.push({ kind: 'part', height, round, part, from: 'peer' })
  }
}

/** The newest block that was precommitted in an earlier round of the vote's height. */
function lastLock(signed: ReadonlyMap<string, Vote>, { height, round }: Vote): Vote | undefined {
  let lock: Vote | undefined
  for (const vote of signed.values()) {
    if (vote.height !== height || vote.type !== PRECOMMIT || isNilBlockId(vote.blockId) || vote.round >= round) continue
    if (lock === undefined || vote.round > lock.round) lock = vote
  }
  return lock
}

const STEPS_TAKEN = 2500

function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function run(seed: number, faulty: number): World {
  const world = new World(faulty)
  const random = createRandom(seed)
  for (let taken = 0; taken < STEPS_TAKEN; taken++) world.act(random)
  return world
}

describe('whatever arrives, in whatever order', () => {
  it('no validator signs twice or against its lock, and all decide the same', { timeout: 300_000 }, () => {
    let [decided, locked, rounds] = [0, 0, 0]
    fc.assert(
      fc.property(fc.nat(3), fc.nat(), (faulty, seed) => {
        const world = run(seed, faulty)
        for (let height = 1; height <= HEIGHTS; height++) {
          const blocks = new Set(world.nodes.flatMap((node) => node.decided.get(height) ?? []))
          expect(blocks.size).toBeLessThanOrEqual(1)
          decided += blocks.size
        }
        locked += world.nodes.filter(({ rs }) => rs.lockedRound >= 0).length
        rounds += Math.max(...world.nodes.map(({ rs }) => rs.round))
      }),
      { numRuns: runs(60), seed: 4 },
    )
    // It is not for want of anything happening.
    expect(decided).toBeGreaterThan(20)
    expect(locked).toBeGreaterThan(20)
    expect(rounds).toBeGreaterThan(100)
  })

  it('the same inputs give the same effects', { timeout: 300_000 }, () => {
    fc.assert(
      fc.property(fc.nat(), (seed) => {
        expect(run(seed, 0).messages).toEqual(run(seed, 0).messages)
      }),
      { numRuns: runs(5), seed: 5 },
    )
  })
})
