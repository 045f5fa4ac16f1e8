import { describe, expect, it } from 'vitest'
import { STEPS } from '../../../src/consensus/roundStateView.ts'
import { Scene } from '../../support/consensus/reducerHarness.ts'

describe('a height', () => {
  it('goes through propose, prevote, precommit and commit', () => {
    const scene = new Scene({ me: 1 })
    expect(scene.rs.step).toBe(STEPS.newHeight)
    scene.start()
    const candidate = scene.candidate(0)
    scene.proposeWhole(candidate, 0)
    expect(scene.votes()).toEqual(['prevote 0 block'])
    scene.prevotes(0, candidate.blockId, 0, 2)
    expect(scene.votes()).toEqual(['prevote 0 block', 'precommit 0 block'])
    scene.precommits(0, candidate.blockId, 0, 2)
    expect(scene.all('finalize')[0]?.decided.blockId).toEqual(candidate.blockId)
    scene.finalized()
    expect(scene.rs).toMatchObject({ height: 2, round: 0, step: STEPS.newHeight, lockedRound: -1, validRound: -1 })
    expect(scene.all('entered').map(({ height, step }) => `${height}/${step}`)).toEqual([
      '1/1',
      '1/3',
      '1/4',
      '1/6',
      '1/8',
      '2/1',
    ])
  })

  it('goes on and on, each proposer in its turn', () => {
    const scene = new Scene({ me: 0 })
    const proposed: number[] = []
    for (let height = 1; height <= 46; height++) {
      expect(scene.rs.height).toBe(height)
      proposed.push(scene.proposer(0))
      scene.decideHeight()
    }
    const turns = [0, 1, 2, 3].map((index) => proposed.filter((proposer) => proposer === index).length)
    expect(turns).toEqual([13, 12, 11, 10])
  })
})
