import { describe, expect, test } from 'vitest'
import { equalBlockId, isNilBlockId, SIGNED_MESSAGE_TYPES } from '../../../src/chain/comet/types.ts'
import type { RoundEvent } from '../../../src/consensus/roundEvents.ts'
import { STEPS } from '../../../src/consensus/roundStateView.ts'
import { equalBytes } from '../../../src/primitives/bytes.ts'
import { createNetwork, createSolo, KEY, runUntil, type TestNode } from '../../support/consensus/consensusHarness.ts'

type Position = Exclude<RoundEvent, { readonly kind: 'Vote' }>

function heightOf(event: RoundEvent): number {
  return event.kind === 'Vote' ? event.vote.height : event.height
}

function stepsOf(node: TestNode, height: number): string[] {
  return node.roundEvents
    .filter((event): event is Position => event.kind !== 'Vote' && event.height === height)
    .map(({ kind, round, step }) => `${kind} ${round}/${step}`)
}

async function run(size: number, height: number, prepare: (nodes: readonly TestNode[]) => void = () => undefined) {
  const network = createNetwork(size)
  for (const node of network.nodes) node.wantsRoundEvents = true
  prepare(network.nodes)
  for (const node of network.nodes) await node.start()
  await network.until(() => network.nodes.every((node) => node.height >= height))
  for (const node of network.nodes) await node.stop()
  return network
}

describe('a round is reported', () => {
  test('with its begin, steps, proposal and each vote once, at proposer and others alike', async () => {
    const { nodes, validators } = await run(4, 4)
    for (const node of nodes) {
      expect(stepsOf(node, 3)).toEqual([
        `NewRoundStep 0/${STEPS.newHeight}`,
        `NewRound 0/${STEPS.newRound}`,
        `NewRoundStep 0/${STEPS.propose}`,
        `CompleteProposal 0/${STEPS.propose}`,
        `NewRoundStep 0/${STEPS.prevote}`,
        `NewRoundStep 0/${STEPS.precommit}`,
        `NewRoundStep 0/${STEPS.commit}`,
      ])
      const { block, blockId } = node.application.blocks[2]!
      const proposal = node.roundEvents.find((event) => event.kind === 'CompleteProposal' && event.height === 3)
      expect(proposal?.kind === 'CompleteProposal' && equalBlockId(proposal.blockId, blockId)).toBe(true)
      const begun = node.roundEvents.find((event) => event.kind === 'NewRound' && event.height === 3)
      if (begun?.kind !== 'NewRound') return expect.fail('the round did not begin')
      expect(equalBytes(begun.proposer.address, block.header.proposerAddress)).toBe(true)
      expect(equalBytes(validators.validators[begun.proposer.index]!.address, begun.proposer.address)).toBe(true)

      const votes = node.roundEvents.flatMap((event) => (event.kind === 'Vote' ? [event.vote] : []))
      const ofHeight = votes
        .filter(({ height }) => height === 3)
        .map(({ type, validatorIndex }) => `${type}/${validatorIndex}`)
      expect(new Set(ofHeight).size).toBe(ofHeight.length)
      for (let index = 0; index < 4; index++) {
        expect(ofHeight).toContain(`${SIGNED_MESSAGE_TYPES.prevote}/${index}`)
        expect(ofHeight).toContain(`${SIGNED_MESSAGE_TYPES.precommit}/${index}`)
      }
    }
  })

  test('when it fails: the next one begins with another proposer, and prevotes are nil', async () => {
    const { nodes } = await run(4, 3, (all) => {
      // No node hears the proposer of the second height in its first round.
      const [{ settings }] = all as [TestNode, ...TestNode[]]
      settings.network.loses = (_from, _to, message) => {
        if (message.kind !== 'proposal' && message.kind !== 'part') return false
        const { height, round } = message.kind === 'part' ? message : message.proposal
        return height === 2 && round === 0
      }
    })
    const node = nodes.find(({ roundEvents }) =>
      roundEvents.some((event) => event.kind === 'NewRound' && event.round === 1),
    )!
    const begun = node.roundEvents.filter((event) => event.kind === 'NewRound' && event.height === 2)
    expect(begun.map((event) => event.kind === 'NewRound' && event.round)).toEqual([0, 1])
    const [first, second] = begun.map((event) => (event.kind === 'NewRound' ? event.proposer.index : -1))
    expect(first).not.toBe(second)
    const nil = node.roundEvents.filter(
      (event) => event.kind === 'Vote' && event.vote.height === 2 && event.vote.round === 0,
    )
    expect(nil.some((event) => event.kind === 'Vote' && isNilBlockId(event.vote.blockId))).toBe(true)
  })
})

test('nothing is reported while no client wants it', async () => {
  const node = createSolo()
  await runUntil(node, 3)
  expect(node.roundEvents).toEqual([])
})

test('an own vote is reported once the log has it on stable storage, so that no crash can undo what clients have seen', async () => {
  const node = createSolo()
  node.wantsRoundEvents = true
  let reported = 0
  node.disk.before = (operation) => {
    if (operation !== 'datasync') return
    const own = node.roundEvents.filter(
      (event) => event.kind === 'Vote' && equalBytes(event.vote.validatorAddress, KEY.address),
    )
    // Both votes of a height wait for its one sync.
    expect(own.every((event) => heightOf(event) <= node.height)).toBe(true)
    reported = own.length
  }
  await runUntil(node, 5)
  expect(reported).toBeGreaterThanOrEqual(6)
})
