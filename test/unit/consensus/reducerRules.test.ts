import { describe, expect, it } from 'vitest'
import { STEPS } from '../../../src/consensus/roundStateView.ts'
import { candidateFor, GENESIS_TIME_MS, PRECOMMIT, PREVOTE, Scene } from '../../support/consensus/reducerHarness.ts'

/** At height 1 validator i proposes in round i, then in turn again. The node under test is 3, unless it is to propose. */
const ME = 3

function started(me: number | 'none' = ME, validate = true): Scene {
  const scene = new Scene({ me, validate })
  expect([0, 1, 2, 3].map((round) => scene.proposer(round))).toEqual([0, 1, 2, 3])
  scene.start()
  return scene
}

const scheduled = (scene: Scene) =>
  scene.all('schedule').map(({ timeout: { round, step }, delayMs }) => `${step} ${round} ${delayMs}`)

describe('StartRound [L11-L21]', () => {
  it('waits for the timer of the height', () => {
    const scene = new Scene({ me: ME })
    expect(scheduled(scene)).toEqual(['newHeight 0 0'])
    scene.start()
    expect(scene.rs.step).toBe(STEPS.propose)
    scene.start()
    expect(scene.all('entered')).toHaveLength(2)
  })

  it('asks the proposer, and nobody else, for a block [L18]', () => {
    expect(started(0).all('build')).toMatchObject([{ height: 1, round: 0 }])
    expect(started(1).all('build')).toEqual([])
    expect(started('none').all('build')).toEqual([])
  })

  it('makes the proposer propose what was built, and prevote it [L19]', () => {
    const scene = started(0)
    const [effect] = scene.all('signProposal')
    expect(effect!.proposal).toMatchObject({ height: 1, round: 0, polRound: -1, timestampMs: GENESIS_TIME_MS + 400 })
    expect(scene.votedFor(PREVOTE, 0)).toEqual(effect!.proposal.blockId)
    expect(scene.all('validate')).toEqual([])
    expect(scene.all('accepted').map(({ input }) => input.kind)).toEqual(['proposal', 'vote', 'part'])
  })

  it('starts the timeout of the proposal [L21]', () => {
    expect(scheduled(started())).toEqual(['newHeight 0 0', 'propose 0 700'])
  })
})

describe('a built block', () => {
  it.each([
    { what: 'of another round', round: 1 },
    { what: 'after the time for it', round: 0, late: true },
  ])('$what is not proposed', ({ round, late = false }) => {
    const scene = new Scene({ me: 0 })
    const block = scene.block({ proposer: 0, tag: 5 })
    if (late) {
      scene.start()
      scene.timeout('propose')
      scene.clear()
    }
    scene.input({ kind: 'built', round, block })
    expect(scene.all('signProposal')).toEqual([])
  })

  it('that is larger than a block may be is not proposed', () => {
    const scene = new Scene({ me: 0 })
    scene.rs.step = STEPS.propose
    const block = scene.block({ proposer: 0, txs: [new Uint8Array(2_000_000)] })
    scene.input({ kind: 'built', round: 0, block })
    expect(scene.all('signProposal')).toEqual([])
    expect(scene.logged()).toEqual(['block is not proposed: it is too large: '])
  })
})

describe('a new proposal [L22-L27]', () => {
  it('is prevoted when it is complete and valid', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.propose(block, 0)
    expect(scene.votes()).toEqual([])
    scene.parts(block)
    expect(scene.votedFor(PREVOTE, 0)).toEqual(block.blockId)
    expect(scene.rs.step).toBe(STEPS.prevote)
    expect(scene.all('signVote')[0]!.earliestMs).toBe(block.block!.header.timeMs)
  })

  it('is prevoted once, whatever comes again', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.proposeWhole(block, 0)
    scene.timeout('propose')
    expect(scene.votes()).toEqual(['prevote 0 block'])
  })

  it('waits for the application, which blocks nothing', () => {
    const scene = started(ME, false)
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    expect(scene.all('validate')).toMatchObject([{ blockId: block.blockId }])
    scene.prevotes(0, block.blockId, 0, 1)
    expect(scene.votes()).toEqual([])
    scene.validated(block.blockId)
    expect(scene.votes()).toEqual(['prevote 0 block', 'precommit 0 block'])
    expect(scene.all('validate')).toHaveLength(1)
  })

  it('gets nil when the application has not answered in time, and is precommitted when it does', () => {
    const scene = started(ME, false)
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.timeout('propose')
    expect(scene.logged()).toEqual(['prevote is nil: the application has not answered in time'])
    scene.prevotes(0, block.blockId, 0, 1, 2)
    expect(scene.votes()).toEqual(['prevote 0 nil'])
    scene.validated(block.blockId)
    expect(scene.votes()).toEqual(['prevote 0 nil', 'precommit 0 block'])
  })

  it('gets nil when the application refuses it', () => {
    const scene = started(ME, false)
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.validated(block.blockId, 'nonsense')
    expect(scene.votes()).toEqual(['prevote 0 nil'])
    expect(scene.logged()).toEqual(['prevote is nil: the application refuses it: nonsense'])
  })

  it('is asked about again when it is proposed again after the answer got lost, not when it was answered', () => {
    const scene = started(ME, false)
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.prevotes(0, block.blockId, 0, 1, 2)
    scene.timeout('propose')
    scene.precommits(0, undefined, 0, 1, 2)
    expect(scene.rs.round).toBe(1)
    scene.validated(block.blockId)
    scene.propose(block, 1, { polRound: 0 })
    expect(scene.votes().at(-1)).toBe('prevote 1 block')
    expect(scene.all('validate')).toHaveLength(1)
  })

  it('gets nil when it does not come in time [L57]', () => {
    const scene = started()
    scene.timeout('propose')
    expect(scene.votes()).toEqual(['prevote 0 nil'])
    expect(scene.logged()).toEqual(['prevote is nil: no proposal in time'])
  })

  it('gets nil when a part does not come in time; that it comes then is harmless', () => {
    const scene = started()
    const block = scene.candidate(0, { txs: [new Uint8Array(100_000)] })
    expect(block.header.total).toBe(2)
    scene.propose(block, 0)
    scene.input({ kind: 'part', height: 1, round: 0, part: block.parts[1]!, from: 'peer' })
    scene.timeout('propose')
    expect(scene.logged()).toEqual(['prevote is nil: parts of the block are missing'])
    scene.parts(block)
    expect(scene.votes()).toEqual(['prevote 0 nil'])
  })

  it('of two in one round is the first that came', () => {
    const scene = started()
    const [first, second] = [scene.candidate(0, { tag: 1 }), scene.candidate(0, { tag: 2 })]
    scene.propose(first, 0)
    scene.proposeWhole(second, 0)
    scene.parts(first)
    expect(scene.votedFor(PREVOTE, 0)).toEqual(first.blockId)
    expect(scene.all('misbehaviour')).toEqual([])
  })

  it('may come before its height begins, and before its round', () => {
    const scene = new Scene({ me: ME })
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    expect(scene.votes()).toEqual([])
    scene.start()
    expect(scene.votes()).toEqual(['prevote 0 block'])

    const other = started()
    const next = other.candidate(1)
    other.proposeWhole(next, 1)
    expect(other.rs.proposal).toBeUndefined()
    other.timeout('propose')
    other.precommits(0, undefined, 0, 1, 2)
    expect(other.rs.round).toBe(1)
    expect(other.votes()).toEqual(['prevote 0 nil', 'prevote 1 block'])
  })
})

describe('a proposal that is not of the present round', () => {
  it('is forgotten when its round is skipped', () => {
    const scene = started()
    scene.proposeWhole(scene.candidate(1), 1)
    scene.prevotes(4, undefined, 0, 1)
    expect(scene.rs.round).toBe(4)
    expect(scene.rs.proposal).toBeUndefined()
    expect(scene.rs.parts).toBeUndefined()
    expect(scene.rs.upcoming).toBeUndefined()
  })

  it('stays when a round before it begins', () => {
    const scene = new Scene({ me: ME })
    scene.proposeWhole(scene.candidate(1), 1)
    scene.start()
    expect(scene.rs.upcoming).toBeDefined()
  })
})

describe('a block that has the prevotes', () => {
  it('stays the one to collect when its proposer has sent another one here', () => {
    const scene = started()
    const [here, there] = [scene.candidate(0), scene.candidate(0, { txs: [new Uint8Array(100_000)] })]
    const [first, second] = there.parts
    scene.prevotes(0, there.blockId, 0, 1, 2)
    scene.input({ kind: 'part', height: 1, round: 0, part: first!, from: 'peer' })
    scene.proposeWhole(here, 0)
    expect(scene.rs.parts?.header).toEqual(there.header)
    scene.input({ kind: 'part', height: 1, round: 0, part: second!, from: 'peer' })
    scene.timeout('propose')
    expect(scene.votedFor(PREVOTE, 0)?.hash).toHaveLength(0)
    expect(scene.votedFor(PRECOMMIT, 0)).toEqual(there.blockId)
  })
})

describe('an own proposal from the log', () => {
  it('is not made again', () => {
    const first = started(0)
    const [accepted] = first.all('accepted').flatMap(({ input }) => (input.kind === 'proposal' ? [input] : []))
    const scene = new Scene({ me: 0 })
    scene.input(accepted!)
    scene.start()
    expect(scene.all('build')).toEqual([])
    scene.parts(first.rs.candidate!)
    expect(scene.all('validate')).toEqual([])
    expect(scene.votes()).toEqual(['prevote 0 block'])
  })

  it("of somebody else's block is judged by the application", () => {
    const scene = new Scene({ me: 1, validate: false })
    const block = scene.candidate(0)
    scene.start()
    scene.prevotes(0, block.blockId, 0, 2, 3)
    scene.timeout('propose')
    const proposal = scene.proposal(block, 1, { polRound: 0 })
    scene.input({ kind: 'proposal', proposal, receivedMs: 0, from: undefined })
    scene.precommits(0, undefined, 0, 2, 3)
    scene.parts(block)
    expect(scene.all('validate')).toHaveLength(1)
    expect(scene.votes()).toEqual(['prevote 0 nil'])
  })
})

describe('a block whose check was stopped', () => {
  it('gets no vote in its round, and is checked again when a later round proposes it', () => {
    const scene = new Scene({ me: ME, validate: false })
    scene.start()
    const block = scene.candidate(0)
    const { hash } = block.blockId
    scene.proposeWhole(block, 0)
    expect(scene.all('validate')).toHaveLength(1)
    scene.input({ kind: 'unchecked', height: 1, blockHash: hash })
    expect(scene.all('validate')).toHaveLength(1)
    scene.prevotes(0, block.blockId, 0, 1, 2)
    scene.timeout('propose')
    scene.timeout('prevote')
    expect(scene.votes()).toEqual(['prevote 0 nil', 'precommit 0 nil'])
    scene.precommits(0, undefined, 0, 1, 2)
    scene.proposeWhole(block, 1, { polRound: 0 })
    expect(scene.all('validate')).toHaveLength(2)
    scene.validated(block.blockId)
    scene.prevotes(1, block.blockId, 0, 1, 2)
    expect(scene.votes().slice(2)).toEqual(['prevote 1 block', 'precommit 1 block'])
  })

  it('is not asked about twice when the answer of an earlier round comes late', () => {
    const scene = new Scene({ me: ME, validate: false })
    scene.start()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.prevotes(0, block.blockId, 0, 1, 2)
    scene.timeout('propose')
    scene.timeout('prevote')
    scene.precommits(0, undefined, 0, 1, 2)
    scene.proposeWhole(block, 1, { polRound: 0 })
    expect(scene.all('validate')).toHaveLength(1)
    // Of round 0, which had less time.
    scene.input({ kind: 'unchecked', height: 1, blockHash: block.blockId.hash })
    expect(scene.all('validate')).toHaveLength(2)
    scene.input({ kind: 'unchecked', height: 1, blockHash: block.blockId.hash })
    scene.input({ kind: 'unchecked', height: 2, blockHash: block.blockId.hash })
    expect(scene.all('validate')).toHaveLength(2)
  })
})

describe('a new block of this node', () => {
  it('is reported as refused once more than a third of the power has prevoted nil, once a round', () => {
    const scene = started(0)
    expect(scene.all('signProposal')).toHaveLength(1)
    // 13 + 12 + 11 + 10: more than a third is above 15.
    scene.prevotes(0, undefined, 1)
    expect(scene.all('refused')).toEqual([])
    scene.prevotes(0, undefined, 2)
    scene.prevotes(0, undefined, 3)
    const { blockId } = scene.rs.proposal!
    expect(scene.all('refused')).toMatchObject([{ height: 1, round: 0, block: { header: { height: 1 } } }])
    expect(candidateFor(scene.all('refused')[0]!.block).blockId).toEqual(blockId)
  })

  it('of another node is not', () => {
    const scene = started(1)
    scene.proposeWhole(scene.candidate(0), 0)
    scene.prevotes(0, undefined, 0, 2, 3)
    expect(scene.all('refused')).toEqual([])
  })
})

describe('a proposal with a proof of lock [L28-L33]', () => {
  /** In round 1, after a round 0 of which nothing came here. */
  function inRound1() {
    const scene = started()
    const block = scene.candidate(0)
    scene.timeout('propose')
    scene.precommits(0, undefined, 0, 1, 2)
    expect(scene.rs.round).toBe(1)
    return { scene, block }
  }

  it('waits for the prevotes of that round', () => {
    const { scene, block } = inRound1()
    scene.proposeWhole(block, 1, { polRound: 0 })
    expect(scene.votes()).toEqual(['prevote 0 nil'])
    scene.prevotes(0, block.blockId, 0, 1)
    expect(scene.votes()).toEqual(['prevote 0 nil'])
    scene.prevotes(0, block.blockId, 2)
    expect(scene.votes()).toEqual(['prevote 0 nil', 'prevote 1 block'])
  })

  it('gets nil when they do not come in time', () => {
    const { scene, block } = inRound1()
    scene.proposeWhole(block, 1, { polRound: 0 })
    scene.timeout('propose')
    expect(scene.logged().at(-1)).toBe('prevote is nil: no majority of prevotes for it in round 0')
  })

  it('need not be timely: it was when it was new', () => {
    const { scene, block } = inRound1()
    scene.prevotes(0, block.blockId, 0, 1, 2)
    scene.proposeWhole(block, 1, { polRound: 0, receivedMs: GENESIS_TIME_MS + 3_600_000 })
    expect(scene.votes().at(-1)).toBe('prevote 1 block')
  })

  it('may be for a block that somebody else built, unlike a new one', () => {
    const { scene, block } = inRound1()
    scene.proposeWhole(block, 1)
    expect(scene.votes().at(-1)).toBe('prevote 1 nil')
    expect(scene.logged().at(-1)).toBe('prevote is nil: the block names another proposer')
  })
})

describe('prevotes', () => {
  it('of two thirds start the timeout [L34], but only after this node has prevoted', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.prevotes(0, block.blockId, 0, 1)
    scene.prevotes(0, undefined, 2)
    expect(scheduled(scene)).toHaveLength(2)
    expect(scene.rs.step).toBe(STEPS.propose)
    scene.proposeWhole(block, 0)
    // Its own one makes three.
    expect(scene.votes()).toEqual(['prevote 0 block', 'precommit 0 block'])

    const other = started()
    other.timeout('propose')
    other.prevotes(0, block.blockId, 0, 1)
    expect(scheduled(other)).toEqual(['newHeight 0 0', 'propose 0 700', 'prevote 0 200'])
    other.timeout('prevote')
    expect(other.votes()).toEqual(['prevote 0 nil', 'precommit 0 nil'])
  })

  it('that come before the proposal do not end the wait for it', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.prevotes(0, block.blockId, 0, 1, 2)
    expect(scene.votes()).toEqual([])
    expect(scene.rs.parts?.header).toEqual(block.header)
    scene.parts(block)
    expect(scene.votes()).toEqual([])
    scene.propose(block, 0)
    expect(scene.votes()).toEqual(['prevote 0 block', 'precommit 0 block'])
  })

  it('that come before the proposal let it be precommitted, too, when it never comes', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.prevotes(0, block.blockId, 0, 1, 2)
    scene.parts(block)
    scene.timeout('propose')
    expect(scene.votes()).toEqual(['prevote 0 nil', 'precommit 0 block'])
  })

  it('of two thirds for nil give a precommit of nil at once [L44]', () => {
    const scene = started()
    scene.prevotes(0, undefined, 0, 1, 2)
    expect(scene.votes()).toEqual([])
    scene.timeout('propose')
    expect(scene.votes()).toEqual(['prevote 0 nil', 'precommit 0 nil'])
  })

  it('that are so split that no majority can come of them give one at once', () => {
    const scene = started()
    const [one, two] = [scene.candidate(0, { tag: 1 }), scene.candidate(0, { tag: 2 })]
    scene.timeout('propose')
    scene.prevotes(0, one.blockId, 0)
    expect(scene.votes()).toEqual(['prevote 0 nil'])
    scene.prevotes(0, two.blockId, 1)
    expect(scene.votes()).toEqual(['prevote 0 nil', 'precommit 0 nil'])
    expect(scene.logged().at(-1)).toBe('precommit is nil: no majority of prevotes is possible')
  })

  it('of a round that is over are no reason to precommit in it', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.precommits(0, undefined, 0, 1, 2)
    expect(scene.rs.round).toBe(1)
    scene.prevotes(0, block.blockId, 0, 1, 2)
    expect(scene.votes()).toEqual(['prevote 0 block'])
  })

  it('of the proposer only for itself change nothing', () => {
    const scene = started()
    scene.prevotes(0, scene.candidate(0).blockId, 0)
    expect(scene.rs).toMatchObject({ round: 0, step: STEPS.propose })
  })
})

describe('more than two thirds for an invalid block', () => {
  it.each([
    { what: 'prevotes', type: PREVOTE },
    { what: 'precommits', type: PRECOMMIT },
  ])('$what stop the node', ({ type }) => {
    const scene = started()
    const good = scene.block({ proposer: 0 })
    const bad = { ...good, header: { ...good.header, appHash: new Uint8Array(32) } }
    scene.proposeBlock(bad, 0)
    expect(scene.votes()).toEqual(['prevote 0 nil'])
    const { blockId } = scene.rs.proposal!
    for (const index of [0, 1, 2]) scene.receive(scene.vote(index, type, 0, blockId))
    const [halt] = scene.all('halt')
    expect(halt!.reason).toMatch(/^height 1, round 0: more than two thirds .* invalid block 0x.*: appHash is/)
    scene.clear()
    scene.timeout('prevote')
    scene.timeout('precommit')
    expect(scene.effects).toEqual([])
  })

  it('stops it before it signs anything when the votes came first', () => {
    const scene = started()
    const good = scene.block({ proposer: 0 })
    const candidate = scene.proposeBlock({ ...good, txs: [] }, 0, { withParts: false })
    scene.prevotes(0, candidate.blockId, 0, 1, 2)
    scene.parts(candidate)
    expect(scene.all('halt')).toHaveLength(1)
    expect(scene.votes()).toEqual([])
  })
})

describe('precommits', () => {
  it('of two thirds start the timeout [L47], after which the next round begins [L65]', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.prevotes(0, block.blockId, 0, 1)
    scene.precommits(0, undefined, 0, 1)
    expect(scheduled(scene).at(-1)).toBe('precommit 0 200')
    scene.timeout('precommit')
    expect(scene.rs).toMatchObject({ round: 1, step: STEPS.propose })
    expect(scene.logged().at(-1)).toBe('round failed: no majority of precommits in time')
  })

  it('of two thirds for nil begin the next round at once', () => {
    const scene = started()
    scene.precommits(0, undefined, 0, 1)
    expect(scene.rs.round).toBe(0)
    scene.precommits(0, undefined, 2)
    expect(scene.rs).toMatchObject({ round: 1, step: STEPS.propose })
    expect(scheduled(scene).some((line) => line.startsWith('precommit'))).toBe(false)
  })

  it('that are so split that no majority can come of them, too', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.prevotes(0, block.blockId, 0, 1)
    scene.precommits(0, undefined, 0)
    expect(scene.rs.round).toBe(0)
    scene.precommits(0, scene.candidate(0, { tag: 7 }).blockId, 1)
    expect(scene.rs.round).toBe(1)
    expect(scene.logged().at(-1)).toBe('round failed: no majority of precommits is possible')
  })
})

describe('f + 1 votes of a later round [L55]', () => {
  it('begin it, prevotes and precommits counted together', () => {
    const scene = started()
    scene.prevotes(6, undefined, 0)
    expect(scene.rs.round).toBe(0)
    scene.precommits(6, undefined, 1)
    expect(scene.rs).toMatchObject({ round: 6, step: STEPS.propose })
    expect(scheduled(scene).at(-1)).toBe('propose 6 1500')
  })

  it('of one sender do not', () => {
    const scene = started()
    scene.prevotes(1, undefined, 0)
    scene.precommits(1, undefined, 0)
    expect(scene.rs.round).toBe(0)
  })

  it('begin the highest such round', () => {
    const scene = started()
    scene.prevotes(1, undefined, 0)
    scene.receive(scene.vote(0, PREVOTE, 3, undefined), 'another')
    scene.prevotes(3, undefined, 1)
    expect(scene.rs.round).toBe(3)
  })

  it('begin round 0 for a node whose pace is slower', () => {
    const scene = new Scene({ me: ME })
    scene.prevotes(0, undefined, 0)
    expect(scene.rs.step).toBe(STEPS.newHeight)
    scene.prevotes(0, undefined, 1)
    expect(scene.rs).toMatchObject({ round: 0, step: STEPS.propose })
    scene.timeout('newHeight')
    expect(scene.all('entered')).toHaveLength(2)
  })

  it('make its proposer propose', () => {
    const scene = started(2)
    scene.prevotes(2, undefined, 0, 1)
    expect(scene.all('build')).toMatchObject([{ round: 2 }])
  })
})

describe('timeouts', () => {
  it.each(['propose', 'prevote', 'precommit', 'newHeight'] as const)(
    'of %s are void in another round or height',
    (step) => {
      const scene = started()
      scene.clear()
      for (const [height, round] of [
        [1, 1],
        [2, 0],
        [0, 0],
      ] as const) {
        if (step === 'newHeight' && height === 1) continue
        scene.input({ kind: 'timeout', timeout: { height, round, step } })
      }
      expect(scene.effects).toEqual([])
    },
  )

  it('of the prevotes are void before this node has prevoted', () => {
    const scene = started()
    scene.timeout('prevote')
    expect(scene.votes()).toEqual([])
  })

  it('do not grow without bound, nor overflow, over 300 rounds', () => {
    const scene = started()
    for (let round = 0; round < 300; round++) {
      scene.timeout('propose')
      scene.precommits(round, undefined, 0, 1, 2)
    }
    expect(scene.rs.round).toBe(300)
    expect(scheduled(scene).at(-1)).toBe('propose 300 10000')
    expect(scene.rs.heightVotes.rounds().length).toBeLessThan(70)
  })
})

describe('a node that is no validator', () => {
  it('follows without signing', () => {
    const scene = started('none')
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.prevotes(0, block.blockId, 0, 1, 2)
    scene.precommits(0, block.blockId, 0, 1, 2)
    expect(scene.all('finalize')).toHaveLength(1)
    expect(scene.all('signVote')).toEqual([])
  })
})
