import { describe, expect, it } from 'vitest'
import { verifyCommit } from '../../../src/chain/comet/commit.ts'
import { BLOCK_ID_FLAGS, type Commit, EMPTY_COMMIT, NIL_BLOCK_ID } from '../../../src/chain/comet/types.ts'
import { STEPS } from '../../../src/consensus/roundStateView.ts'
import {
  CHAIN,
  candidateFor,
  genesisState,
  PRECOMMIT,
  PREVOTE,
  publicKeyOf,
  rankedSet,
  Scene,
  verifyMessage,
} from '../../support/consensus/reducerHarness.ts'

const ME = 3

function started(me: number | 'none' = ME): Scene {
  const scene = new Scene({ me })
  scene.start()
  return scene
}

const flags = ({ signatures }: Commit) => signatures.map(({ flag }) => flag)
const { absent, commit: forBlock, nil } = BLOCK_ID_FLAGS

describe('a decision', () => {
  it('needs no proposal: precommits of any round name the block to fetch [L49]', () => {
    const scene = new Scene({ me: ME })
    const block = scene.candidate(2)
    scene.precommits(2, block.blockId, 0, 1, 2)
    expect(scene.rs).toMatchObject({ step: STEPS.commit, commitRound: 2 })
    expect(scene.rs.parts?.header).toEqual(block.header)
    scene.parts(block, 0)
    const [{ decided }] = scene.all('finalize') as [ReturnType<typeof scene.all<'finalize'>>[0]]
    expect(decided.blockId).toEqual(block.blockId)
    expect(flags(decided.seenCommit)).toEqual([forBlock, forBlock, forBlock, absent])
    expect(scene.all('signVote')).toEqual([])
  })

  it('comes from any step of a later round too', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.precommits(0, block.blockId, 0, 1)
    for (const round of [1, 2]) scene.receive(scene.vote(0, PREVOTE, round, undefined), 'other')
    scene.receive(scene.vote(1, PREVOTE, 2, undefined), 'other')
    expect(scene.rs.round).toBe(2)
    scene.precommits(0, block.blockId, 2)
    expect(scene.rs).toMatchObject({ round: 2, commitRound: 0, step: STEPS.commit })
    expect(scene.all('finalize')).toHaveLength(1)
  })

  it('is executed once, and ends the rounds', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.precommits(0, block.blockId, 0, 1, 2)
    scene.precommits(0, block.blockId, ME)
    scene.prevotes(4, undefined, 0, 1, 2)
    scene.timeout('precommit')
    scene.parts(block)
    expect(scene.all('finalize')).toHaveLength(1)
    expect(scene.rs.round).toBe(0)
  })

  it('does not wait for the application to judge the block', () => {
    const scene = new Scene({ me: ME, validate: false })
    scene.start()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.precommits(0, block.blockId, 0, 1, 2)
    expect(scene.all('finalize')).toHaveLength(1)
    scene.validated(block.blockId, 'too late')
    expect(scene.all('halt')).toEqual([])
  })

  it('needs no check of the block that the application has stopped', () => {
    const scene = new Scene({ me: ME, validate: false })
    scene.start()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.input({ kind: 'unchecked', height: 1, blockHash: block.blockId.hash })
    scene.precommits(0, block.blockId, 0, 1, 2)
    expect(scene.all('validate')).toHaveLength(1)
    expect(scene.all('finalize')).toHaveLength(1)
  })

  it('of one block in two rounds has the commit of the first that was known', () => {
    const scene = new Scene({ me: 'none' })
    const block = scene.candidate(0)
    scene.precommits(1, block.blockId, 0, 1, 2)
    scene.precommits(0, block.blockId, 1, 2, 3)
    scene.parts(block)
    expect(scene.all('finalize')[0]!.decided.seenCommit.round).toBe(1)
    scene.finalized()
    expect(scene.rs.lastPrecommits!.commit()).toEqual(scene.rs.state.lastSeenCommit)
  })

  it('of two blocks in two rounds stops the node', () => {
    const scene = started()
    const [one, two] = [scene.candidate(0, { tag: 1 }), scene.candidate(0, { tag: 2 })]
    scene.precommits(0, one.blockId, 0, 1, 2)
    scene.precommits(1, two.blockId, 0, 1, 2)
    expect(scene.all('halt')[0]!.reason).toMatch(/two blocks are decided: 0x.* in round 0, 0x.* in round 1/)
    expect(scene.all('finalize')).toEqual([])
  })

  it('holds absent validators, nil votes and votes for other blocks apart', () => {
    const scene = new Scene({ me: 'none', state: genesisState(rankedSet([10n, 10n, 10n, 10n, 10n, 10n, 10n])) })
    const block = scene.candidate(0)
    scene.precommits(0, undefined, 1)
    scene.precommits(0, scene.candidate(0, { tag: 1 }).blockId, 2)
    scene.precommits(0, block.blockId, 0, 3, 4, 5, 6)
    scene.parts(block)
    const { seenCommit } = scene.all('finalize')[0]!.decided
    expect(flags(seenCommit)).toEqual([forBlock, nil, absent, forBlock, forBlock, forBlock, forBlock])
    const target = { chainId: CHAIN.chainId, height: 1, blockId: block.blockId, validators: scene.rs.validators }
    expect(verifyCommit(target, seenCommit, verifyMessage)).toEqual({ valid: true })
  })
})

describe('a decided block from a peer', () => {
  function withDecision() {
    const scene = started()
    const block = scene.candidate(0)
    const commit = scene.commitOf(block, 5, 0, 1, 2)
    return { scene, block, commit }
  }

  it('is taken when its commit is good, whatever its round', () => {
    const { scene, block, commit } = withDecision()
    scene.input({ kind: 'decision', block: block.block!, commit, from: 'peer' })
    expect(scene.all('finalize')[0]).toMatchObject({ decided: { blockId: block.blockId, seenCommit: commit } })
    expect(scene.all('finalize')[0]!.parts).toEqual(block.parts)
    scene.finalized()
    expect(scene.rs.height).toBe(2)
    expect(scene.rs.lastPrecommits?.round).toBe(5)
  })

  it('gives the block to who waits for its parts', () => {
    const { scene, block, commit } = withDecision()
    scene.precommits(5, block.blockId, 0, 1, 2)
    expect(scene.rs.step).toBe(STEPS.commit)
    scene.input({ kind: 'decision', block: block.block!, commit, from: 'peer' })
    expect(scene.all('finalize')).toHaveLength(1)
  })

  it('is preferred to the same block whose parts are still missing', () => {
    const scene = started()
    const block = scene.candidate(1)
    scene.propose(block, 1)
    scene.input({ kind: 'decision', block: block.block!, commit: scene.commitOf(block, 1, 0, 1, 2), from: 'peer' })
    expect(scene.all('finalize')).toHaveLength(1)
  })

  it('counts for validators that have voted differently here', () => {
    const { scene, block, commit } = withDecision()
    scene.precommits(5, scene.candidate(0, { tag: 3 }).blockId, 0)
    scene.input({ kind: 'decision', block: block.block!, commit, from: 'peer' })
    expect(scene.all('equivocation')).toHaveLength(1)
    expect(scene.all('finalize')).toHaveLength(1)
  })

  it.each([
    {
      what: 'with a bad signature',
      change: (commit: Commit): Commit => ({
        ...commit,
        signatures: commit.signatures.map((sig, index) =>
          index > 0 ? sig : { ...sig, signature: new Uint8Array(64) },
        ),
      }),
      blame: 'bad signature',
    },
    {
      what: 'with too few signatures',
      change: (commit: Commit): Commit => ({ ...commit, signatures: commit.signatures.slice(1) }),
      blame: 'bad signature',
    },
  ])('$what is refused', ({ change, blame }) => {
    const { scene, block, commit } = withDecision()
    scene.input({ kind: 'decision', block: block.block!, commit: change(commit), from: 'liar' })
    expect(scene.all('misbehaviour')).toMatchObject([{ peer: 'liar', what: blame }])
    expect(scene.rs.step).toBe(STEPS.propose)
  })

  it('that the commit does not name is refused', () => {
    const { scene, commit } = withDecision()
    const { block } = scene.candidate(0, { tag: 9 })
    scene.input({ kind: 'decision', block: block!, commit, from: 'liar' })
    expect(scene.all('misbehaviour')).toMatchObject([{ peer: 'liar', what: 'invalid block' }])
    expect(scene.rs.step).toBe(STEPS.propose)
  })

  it('of another height is ignored', () => {
    const { scene, block, commit } = withDecision()
    scene.clear()
    scene.input({ kind: 'decision', block: block.block!, commit: { ...commit, height: 2 }, from: 'peer' })
    expect(scene.effects).toEqual([])
  })

  it('that breaks the rules stops the node: more than two thirds decided it', () => {
    const { scene } = withDecision()
    const good = scene.block({ proposer: 0 })
    const bad = candidateFor({ ...good, header: { ...good.header, appHash: new Uint8Array(32) } })
    scene.input({ kind: 'decision', block: bad.block!, commit: scene.commitOf(bad, 0, 0, 1, 2), from: 'peer' })
    expect(scene.all('halt')[0]!.reason).toMatch(/invalid block .*appHash/)
  })

  it('against another decision of the same round stops it', () => {
    const { scene, block, commit } = withDecision()
    scene.precommits(5, scene.candidate(0, { tag: 3 }).blockId, 0, 1, 2)
    scene.input({ kind: 'decision', block: block.block!, commit, from: 'peer' })
    expect(scene.all('halt')[0]!.reason).toMatch(/two blocks are decided in round 5/)
  })
})

describe('the height after', () => {
  /** At height 2, in step newHeight, with the precommits of validators 0 and 1 (and this node's own) for block 1. */
  function atHeight2() {
    const scene = started()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.prevotes(0, block.blockId, 0, 1)
    scene.precommits(0, block.blockId, 0, 1)
    const late = scene.vote(2, PRECOMMIT, 0, block.blockId)
    scene.finalized()
    scene.clear()
    expect(scene.rs).toMatchObject({ height: 2, step: STEPS.newHeight })
    return { scene, block, late }
  }

  it('takes late precommits into its last commit', () => {
    const { scene, late } = atHeight2()
    expect(flags(scene.rs.lastPrecommits!.commit())).toEqual([forBlock, forBlock, absent, forBlock])
    scene.receive(late)
    scene.receive(late)
    expect(scene.all('accepted')).toHaveLength(1)
    expect(flags(scene.rs.lastPrecommits!.commit())).toEqual([forBlock, forBlock, forBlock, forBlock])
    expect(flags(scene.rs.state.lastSeenCommit)).toEqual([forBlock, forBlock, absent, forBlock])
  })

  it('does so only until its first round begins, and checks them', () => {
    const { scene, late } = atHeight2()
    scene.receive({ ...late, signature: new Uint8Array(64) }, 'liar')
    expect(scene.all('misbehaviour')).toMatchObject([{ peer: 'liar', what: 'bad signature' }])
    scene.receive({ ...late, round: 1 })
    scene.receive({ ...late, type: PREVOTE })
    scene.start()
    scene.receive(late)
    expect(scene.all('accepted')).toEqual([])
  })

  it('finds a validator out whose precommit in the last commit of a block is another one than it sent here', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.prevotes(0, block.blockId, 0, 1)
    scene.precommits(0, undefined, 2)
    scene.precommits(0, block.blockId, 0, 1)
    const ofOthers = scene.commitOf(block, 0, 0, 1, 2)
    scene.finalized()
    expect(flags(scene.rs.lastPrecommits!.commit())).toEqual([forBlock, forBlock, nil, forBlock])
    scene.clear()
    scene.start()
    scene.proposeBlock(scene.block({ proposer: scene.proposer(0), lastCommit: ofOthers }), 0)
    expect(scene.all('equivocation')).toMatchObject([
      { first: { validatorIndex: 2, height: 1, blockId: NIL_BLOCK_ID }, second: { blockId: block.blockId } },
    ])
    // Known by now.
    scene.proposeBlock(scene.block({ proposer: scene.proposer(1), lastCommit: ofOthers, tag: 2 }), 1)
    expect(scene.all('equivocation')).toHaveLength(1)
    expect(scene.all('misbehaviour')).toEqual([])
  })

  it('takes later votes of the height before only where they contradict known ones', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.prevotes(0, block.blockId, 0, 1)
    scene.prevotes(0, undefined, 2)
    scene.precommits(0, block.blockId, 0, 1)
    scene.precommits(0, undefined, 2)
    const late = [PREVOTE, PRECOMMIT].map((type) => scene.vote(2, type, 0, block.blockId))
    const again = scene.vote(0, PREVOTE, 0, block.blockId)
    scene.finalized()
    scene.start()
    scene.clear()
    scene.receive(again)
    scene.receive({ ...late[0]!, signature: new Uint8Array(64) }, 'liar')
    expect(scene.all('misbehaviour')).toMatchObject([{ peer: 'liar', what: 'bad signature' }])
    for (const vote of late) for (const _ of [1, 2]) scene.receive(vote)
    expect(scene.all('equivocation').map(({ first, second }) => [first.type, second])).toEqual([
      [PREVOTE, late[0]],
      [PRECOMMIT, late[1]],
    ])
    expect(scene.all('accepted')).toEqual([])
  })

  it('builds with all of them', () => {
    const scene = new Scene({ me: 1 })
    scene.start()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.precommits(0, block.blockId, 0, 2, 3)
    scene.finalized()
    scene.receive({ ...scene.vote(1, PRECOMMIT, 0, block.blockId, 1) })
    scene.start()
    expect(flags(scene.all('build')[0]!.lastCommit)).toEqual([forBlock, forBlock, forBlock, forBlock])
    // The block of that commit is one that others accept.
    expect(scene.votes().at(-1)).toBe('prevote 0 block')
  })

  it('begins with what came early for it', () => {
    const scene = started()
    const first = scene.candidate(0)
    scene.proposeWhole(first, 0)
    scene.precommits(0, first.blockId, 0, 1, 2)

    // The others are done with height 1, and with most of height 2.
    const ahead = new Scene({ me: 'none' })
    ahead.start()
    ahead.proposeWhole(first, 0)
    ahead.precommits(0, first.blockId, 0, 1, 2)
    ahead.finalized()
    const second = ahead.candidate(0)
    scene.clear()
    scene.input({
      kind: 'proposal',
      proposal: ahead.proposal(second, 0),
      receivedMs: second.block!.header.timeMs,
      from: 'peer',
    })
    scene.parts(second, 0, 2)
    for (const type of [PREVOTE, PRECOMMIT]) {
      for (const index of [0, 1, 2]) scene.receive(ahead.vote(index, type, 0, second.blockId))
    }
    expect(scene.effects).toEqual([])
    scene.finalized()
    expect(scene.all('accepted')).toHaveLength(8)
    expect(scene.all('finalize')).toMatchObject([{ decided: { blockId: second.blockId } }])
    // It is decided before the application has judged it, so this node has nothing to add.
    expect(scene.votes()).toEqual([])
  })

  it('keeps only what is well signed and can be of use of what comes early', () => {
    const scene = started()
    const vote = (index: number, round: number) => scene.vote(index, PREVOTE, round, undefined, 2)
    scene.receive({ ...vote(0, 0), signature: new Uint8Array(64) }, 'liar')
    scene.receive({ ...vote(0, 0), validatorIndex: 1 }, 'liar')
    expect(scene.all('misbehaviour').map(({ what }) => what)).toEqual(['bad signature', 'malformed'])
    for (let round = 0; round < 100; round++) for (const index of [0, 1, 2]) scene.receive(vote(index, round))
    expect(scene.rs.early.inputs).toHaveLength(6)
    for (const height of [3, 4, 1_000_000]) scene.receive(scene.vote(0, PREVOTE, 0, undefined, height))
    expect(scene.rs.early.inputs).toHaveLength(6)
  })

  it('has the validators that block H - 2 gave it', () => {
    const scene = new Scene({ me: 'none' })
    const joining = { publicKey: publicKeyOf(77), power: 40n }
    expect(scene.rs.height).toBe(1)
    scene.decideHeight([joining])
    expect(scene.validators).toHaveLength(4)
    scene.decideHeight()
    expect(scene.rs.height).toBe(3)
    expect(scene.validators[0]).toMatchObject(joining)
    // Block 3 has a last commit of four, block 4 one of five.
    for (const signers of [4, 5]) {
      const { height } = scene.rs
      const block = scene.candidate(0)
      expect(block.block!.lastCommit.signatures).toHaveLength(signers)
      scene.start()
      scene.proposeWhole(block, 0)
      scene.precommits(0, block.blockId, 0, 1, 2, 3, 4)
      scene.finalized(height === 3 ? [{ ...joining, power: 0n }] : [])
    }
    expect(scene.rs.height).toBe(5)
    expect(scene.validators).toHaveLength(4)
  })

  it('does not begin when the application makes an impossible change', () => {
    const scene = started()
    const block = scene.candidate(0)
    scene.proposeWhole(block, 0)
    scene.precommits(0, block.blockId, 0, 1, 2)
    scene.finalized([{ publicKey: publicKeyOf(50), power: 0n }])
    expect(scene.all('halt')[0]!.reason).toMatch(/changes the validators in an impossible way/)
    expect(scene.rs.height).toBe(1)
  })

  it('does not begin without a decision', () => {
    const scene = started()
    scene.finalized()
    expect(scene.rs.height).toBe(1)
  })
})

describe('the first height', () => {
  it('is built on no commit', () => {
    expect(started(0).all('build')[0]!.lastCommit).toEqual(EMPTY_COMMIT)
  })
})

describe('a node that restarts', () => {
  it('knows the commit of the last block', () => {
    const scene = new Scene({ me: ME })
    scene.decideHeight()
    const again = new Scene({ me: ME, state: scene.rs.state })
    expect(again.rs.height).toBe(2)
    expect(again.rs.lastPrecommits!.commit()).toEqual(scene.rs.state.lastSeenCommit)
  })

  it('is bound by its own votes, even if what led to them is lost', () => {
    const before = started()
    const block = before.candidate(0)
    before.proposeWhole(block, 0)
    before.prevotes(0, block.blockId, 0, 1)
    const own = before
      .all('accepted')
      .flatMap(({ input }) => (input.kind === 'vote' && !input.from ? [input.vote] : []))
    expect(own).toHaveLength(2)

    const after = new Scene({ me: ME })
    for (const vote of own) after.input({ kind: 'vote', vote, from: undefined })
    expect(after.rs).toMatchObject({ round: 0, step: STEPS.precommit, lockedRound: 0, lockedBlockId: block.blockId })
    after.proposeWhole(after.candidate(0, { tag: 5 }), 0)
    after.timeout('propose')
    after.timeout('prevote')
    expect(after.votes()).toEqual([])
    after.timeout('precommit')
    after.proposeWhole(after.candidate(1, { tag: 6 }), 1)
    expect(after.votes()).toEqual(['prevote 1 nil'])
  })

  it('is bound by a precommit of its own that only its peers remember', () => {
    const scene = new Scene({ me: ME })
    const block = scene.candidate(0)
    scene.receive(scene.vote(ME, PRECOMMIT, 0, block.blockId))
    expect(scene.rs).toMatchObject({ step: STEPS.newHeight, lockedRound: 0, lockedBlockId: block.blockId })
    scene.start()
    scene.proposeWhole(scene.candidate(0, { tag: 5 }), 0)
    expect(scene.votes()).toEqual(['prevote 0 nil'])
  })
})
