import { privateKeyToAccount } from 'viem/accounts'
import { afterEach, describe, expect, it } from 'vitest'
import { encodeEvidence } from '../../../src/chain/comet/evidence.ts'
import type { RankedValidatorSet } from '../../../src/chain/comet/types.ts'
import { validatorSetHash } from '../../../src/chain/comet/validatorSet.ts'
import { openChainReader } from '../../../src/chain/store/chainReader.ts'
import { advanceState, type ConsensusState } from '../../../src/consensus/consensusState.ts'
import { MODULE_HOOKS } from '../../../src/execution/blockHooks.ts'
import { recoverEntrySender } from '../../../src/execution/entry.ts'
import { ranksAfter } from '../../../src/modules/consensus/validatorRanks.ts'
import { getEvidence, isCommitted } from '../../../src/modules/evidence/evidence.ts'
import { createTransactionDecoder } from '../../../src/modules/tx/transactionDecoder.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { sha256 } from '../../../src/primitives/hash.ts'
import { createViewCaches, openView } from '../../../src/state/view.ts'
import type { WorldState } from '../../../src/state/world.ts'
import { Database } from '../../../src/storage/database.ts'
import { WALLET_KEY } from '../../support/execution/testChain.ts'
import {
  type BlockWishes,
  blockTimeMs,
  equivocation,
  type NetworkNode,
  networkGenesis,
  openNetworkNode,
  proposeBlock,
  scriptedHooks,
  testValidator,
} from '../../support/execution/testNetwork.ts'
import { setPower } from '../../support/modules/staking/setPower.ts'

const account = privateKeyToAccount(WALLET_KEY)
const GENESIS = networkGenesis(4)
const CHAIN_ID = 'coin_76287-1'

let nodes: NetworkNode[] = []

afterEach(async () => {
  for (const node of nodes) await node.close()
  nodes = []
})

/** What is staked and taken back at the end of these blocks. */
function script(height: number, world: WorldState): void {
  const power = (index: number, value: bigint) => {
    const { operator, key } = testValidator(index)
    const context = { world, block: { height, timeMs: blockTimeMs(height) } }
    setPower(context, { operator, publicKey: key.publicKey, power: value })
  }
  if (height === 2) power(4, 500n)
  if (height === 3) power(0, 0n)
  if (height === 5) power(1, 1_000n)
  // Set and taken back within one block: nothing to tell.
  if (height === 6) power(1, 5n)
  if (height === 6) power(1, 1_000n)
  // Nobody would be left.
  if (height === 8) for (const index of [0, 1, 2, 3, 4]) power(index, 0n)
  if (height === 9) for (const index of [0, 1, 2, 3, 4]) power(index, BigInt(10 + index))
  if (height === 10) power(2, 0n)
}

async function transfer(nonce: number): Promise<Uint8Array> {
  return hexToBytes(
    await account.signTransaction({
      chainId: 76287,
      type: 'eip1559',
      gas: 21_000n,
      maxFeePerGas: 10n ** 10n,
      nonce,
      to: '0x00000000000000000000000000000000000000aa',
      value: 1n,
    }),
  )
}

/** The powers of a set by the index of the test validator. */
function powersOf({ validators }: Pick<RankedValidatorSet, 'validators'>): Record<number, number> {
  const names = new Map(
    Array.from({ length: 8 }, (_, index) => [bytesToHex(testValidator(index).address), index] as const),
  )
  return Object.fromEntries(validators.map(({ address, power }) => [names.get(bytesToHex(address)), Number(power)]))
}

/** Without what a restart need not know: priorities of validators that have signed. */
function comparable(state: ConsensusState) {
  const { validators, totalPower } = state.lastValidators
  return { ...state, lastValidators: { validators, totalPower } }
}

describe('applications of several validators', () => {
  it('agree whether they propose, check or just receive blocks, while validators change and evidence is reported', async () => {
    const options = { hooks: scriptedHooks(script) }
    for (let i = 0; i < 4; i++) nodes.push(await openNetworkNode(GENESIS, options))
    const [proposer, checker, restarting, syncing] = nodes as [NetworkNode, NetworkNode, NetworkNode, NetworkNode]
    let state: ConsensusState = await proposer.state()
    /** before the block after that height */
    const states = [state]
    let nonce = 0
    const decisions = []
    for (let height = 1; height <= 14; height++) {
      const wishes: BlockWishes = {
        raws: height % 3 === 0 ? [] : [await transfer(nonce++)],
        // Of the second strongest, while it is one; and of one that has left since.
        evidence:
          height === 7
            ? [
                equivocation(CHAIN_ID, states[3]!.validators, { height: 4, index: 1 }),
                equivocation(CHAIN_ID, states[1]!.validators, { height: 2, index: 3 }),
              ]
            : [],
        ...(height === 4 ? { absent: [3], nil: [2], round: 1 } : {}),
      }
      const decided = await proposeBlock(proposer, state, wishes)
      decisions.push(decided)
      const { block } = decided
      expect(block.evidence).toHaveLength(height === 7 ? 2 : 0)
      expect(await checker.executor.application.processProposal(block)).toEqual({ accepted: true })
      const result = await proposer.executor.application.finalizeBlock(decided)
      state = advanceState(state, decided, result)
      states.push(state)
      expect(await checker.executor.application.finalizeBlock(decided)).toEqual(result)
      expect(await restarting.executor.application.finalizeBlock(decided)).toEqual(result)
      const hinted = {
        ...decided,
        catchingUp: true,
        senders: block.txs.map((raw) => recoverEntrySender(raw, createTransactionDecoder(syncing.chain))),
      }
      expect(await syncing.executor.application.finalizeBlock(hinted)).toMatchObject({ appHash: result.appHash })
      await restarting.reopen()
      for (const node of nodes) expect(comparable(await node.state())).toEqual(comparable(state))
      expect(proposer.executor.head().header.miner).toEqual(
        [0, 1, 2, 3, 4]
          .map(testValidator)
          .find(({ address }) => bytesToHex(address) === bytesToHex(block.header.proposerAddress))!.operator,
      )
      expect(bytesToHex(block.header.validatorsHash)).toBe(bytesToHex(validatorSetHash(states[height - 1]!.validators)))
    }
    const genesis = { 0: 100, 1: 101, 2: 102, 3: 103 }
    const grown = { ...genesis, 4: 500 }
    const { 0: _, ...shrunk } = grown
    const sets = states.map(({ validators }, index) => [index + 1, powersOf(validators)])
    expect(sets).toEqual([
      ...[1, 2, 3].map((height) => [height, genesis]),
      [4, grown],
      [5, shrunk],
      [6, shrunk],
      ...[7, 8].map((height) => [height, { ...shrunk, 1: 1_000 }]),
      // One of those that the evidence names had left already.
      ...[9, 10].map((height) => [height, { 1: 1_000, 2: 102, 4: 500 }]),
      [11, { 0: 10, 1: 11, 2: 12, 3: 13, 4: 14 }],
      ...[12, 13, 14, 15].map((height) => [height, { 0: 10, 1: 11, 3: 13, 4: 14 }]),
    ])

    await syncing.reopen()
    for (const { location } of [restarting, syncing]) {
      const database = await Database.open(location, { readOnly: true })
      const reader = openChainReader(database)
      for (const [index, { validators }] of states.entries()) {
        expect(reader.validatorsAt(index + 1)).toEqual(validators)
        expect(reader.validatorSetAt(index + 1)?.totalPower).toBe(validators.totalPower)
      }
      expect(reader.validatorsAt(16)).toEqual(state.nextValidators)
      const view = openView(database, createViewCaches())
      for (const [height, { validators, nextValidators }] of states.entries()) {
        const after = view.stateAt(height)
        const read = () =>
          ranksAfter({ get: (key) => after.getNative(key) }, height, { next: validators, afterNext: nextValidators })
        if (height === 0) expect(read).toThrow('holds no proposer priorities')
        else expect(read()).toEqual({ next: validators, afterNext: nextValidators })
      }
      expect([reader.validatorsAt(0), reader.validatorsAt(17)]).toEqual([undefined, undefined])
      expect(decisions.map(({ blockId }) => reader.heightOfConsensusHash(blockId.hash))).toEqual(
        decisions.map(({ block }) => block.header.height),
      )
      const { hash } = decisions[3]!.blockId
      expect(reader.heightOfConsensusHash(Uint8Array.of(...hash.subarray(0, 31), hash[31]! ^ 1))).toBeUndefined()
      expect(reader.heightOfConsensusHash(new Uint8Array(32))).toBeUndefined()
      const [item] = decisions[6]!.block.evidence
      const native = view.stateAt(7)
      const store = { get: (key: Uint8Array) => native.getNative(key) }
      expect(isCommitted(store, item!.voteA.validatorAddress, 4)).toBe(true)
      expect(isCommitted(store, item!.voteA.validatorAddress, 5)).toBe(false)
      const bytes = encodeEvidence(item!)
      expect(getEvidence(store, sha256(bytes))).toEqual(bytes)
      await database.close()
    }
  })

  it('tells modules who signed the block before, in which round', async () => {
    const seen: unknown[] = []
    const node = await openNetworkNode(networkGenesis(7), {
      hooks: {
        ...MODULE_HOOKS,
        begin: (_, { height, lastCommit, misbehaviour }) => {
          seen.push([
            height,
            lastCommit.round,
            lastCommit.votes.map(({ power, vote }) => `${power} ${vote}`),
            misbehaviour.map((found) => [found.height, Number(found.power), Number(found.totalPower), found.timeMs]),
          ])
        },
        end: () => [],
      },
    })
    nodes.push(node)
    let state = await node.state()
    const first = state.validators
    for (const wishes of [
      { absent: [0], nil: [6], round: 2 },
      {},
      { evidence: [equivocation(CHAIN_ID, first, { height: 1, index: 2 })] },
    ]) {
      const decided = await proposeBlock(node, state, wishes)
      state = advanceState(state, decided, await node.executor.application.finalizeBlock(decided))
    }
    const all = [106, 105, 104, 103, 102, 101, 100].map((power) => `${power} signed`)
    expect(seen).toEqual([
      [1, 0, [], []],
      [2, 2, ['106 absent', ...all.slice(1, 6), '100 nil'], []],
      [3, 0, all, [[1, 104, 721, 1_700_000_000_400]]],
    ])
  })
})
