import { expect, it } from 'vitest'
import { createDuplicateVoteEvidence } from '../../../src/chain/comet/evidence.ts'
import type { Evidence } from '../../../src/chain/comet/types.ts'
import type { EvidenceVerdict } from '../../../src/consensus/application.ts'
import { CHAIN, createNetwork } from '../../support/consensus/consensusHarness.ts'
import { blockOf, createValidators, voteOf } from '../../support/consensus/gossipWorld.ts'

const validators = createValidators(30)

function evidenceOf(index: number, height = 1): Evidence {
  const timeMs = CHAIN.genesisTimeMs + 400
  const vote = { ...voteOf(validators, index, { height }), timestampMs: timeMs }
  return createDuplicateVoteEvidence({ ...vote, blockId: blockOf(2, 1).blockId }, vote, { validators, timeMs })
}

it('evidence of peers is checked a few pieces at a time, and none that would not be taken', async () => {
  const network = createNetwork(1)
  const [node] = network.nodes
  const { events } = await node!.open()
  const answers: ((verdict: EvidenceVerdict) => void)[] = []
  node!.application.checkEvidence = () => new Promise((resolve) => answers.push(resolve))

  const outcomes = Array.from({ length: 20 }, (_, index) => events.evidence('peer', evidenceOf(index)))
  expect(answers).toHaveLength(4)
  for (const answer of answers.splice(0)) answer({ verdict: 'valid' })
  expect((await Promise.all(outcomes)).map((outcome, index) => outcome === (index < 4 ? 'accept' : 'ignore'))).toEqual(
    Array(20).fill(true),
  )
  // Known by now.
  expect(await events.evidence('peer', evidenceOf(0))).toBe('ignore')
  expect(answers).toEqual([])

  for (const [verdict, outcome] of [
    [{ verdict: 'invalid', reason: 'a signature is wrong' }, 'reject'],
    [{ verdict: 'unpunishable' }, 'ignore'],
    [{ verdict: 'early' }, 'ignore'],
  ] as const) {
    const asked = events.evidence('peer', evidenceOf(9))
    answers.shift()!(verdict)
    expect(await asked).toBe(outcome)
  }
})
