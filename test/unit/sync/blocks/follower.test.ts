import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeCommit } from '../../../../src/chain/comet/commit.ts'
import type { FetchedBlock, FetchedBlocks } from '../../../../src/consensus/transport.ts'
import { LIMITS } from '../../../../src/p2p/limits.ts'
import { runs } from '../../../propertyRuns.ts'
import { commitFor, fakeSign, keyOf, type ServedChain, servedChain } from '../../../support/sync/servedChain.ts'
import { type FakePeer, honestPeer, type Reaction, SyncWorld } from '../../../support/sync/syncWorld.ts'

const BLOCKS = 400
const chain = servedChain({ blocks: BLOCKS, txsAt: (height) => (height % 7 === 0 ? [new Uint8Array(300)] : []) })
const ALL = Array.from({ length: BLOCKS }, (_, index) => index + 1)

function syncedWorld(world: SyncWorld, limitMs?: number): SyncWorld {
  world.follower.start()
  world.runToConsensus(limitMs)
  return world
}

function reply(answer: FetchedBlocks, afterMs = 20): Reaction {
  return { afterMs, answer }
}

/** An honest answer with its blocks changed. */
function changed(change: (block: FetchedBlock, height: number) => FetchedBlock): FakePeer['react'] {
  return (request) => {
    const answer = chain.serve(request)
    return reply({ ...answer, blocks: answer.blocks.map((block, index) => change(block, request.from + index)) })
  }
}

function liar(react: FakePeer['react'], height: () => number = () => BLOCKS): FakePeer {
  return { id: 'liar', height, react }
}

describe('syncing', () => {
  it('applies every block once and in order, from all peers alike, and takes part in consensus then', () => {
    const world = new SyncWorld({ chain })
    for (const id of ['a', 'b', 'c', 'd']) world.connect(honestPeer(id, chain, () => BLOCKS))
    syncedWorld(world)
    expect(world.applied).toEqual(ALL)
    expect(world.prepared.toSorted((a, b) => a - b)).toEqual(ALL)
    expect(world.punished).toEqual([])
    expect(world.engine).toEqual([[world.nowMs, 'start']])
    expect(world.follower.status).toEqual({
      mode: 'consensus',
      startingHeight: BLOCKS,
      currentHeight: BLOCKS,
      highestHeight: BLOCKS,
    })
    expect(world.statuses[1]).toEqual({ mode: 'syncing', startingHeight: 0, currentHeight: 0, highestHeight: BLOCKS })
    const heights = world.statuses.map(({ currentHeight }) => currentHeight)
    expect(heights).toEqual(heights.toSorted((a, b) => a - b))
    const asked = Map.groupBy(world.requests, ({ peer }) => peer)
    for (const id of ['a', 'b', 'c', 'd']) {
      const blocks = asked.get(id)!.reduce((sum, { count }) => sum + count, 0)
      expect(blocks).toBeGreaterThanOrEqual(BLOCKS / 8)
    }
    // No block was asked for twice.
    expect(world.requests.reduce((sum, { count }) => sum + count, 0)).toBe(BLOCKS)
    expect(Math.max(...world.runs)).toBe(64)
    expect(world.runs.length).toBeLessThan(BLOCKS / 8)
  })

  it('does not begin before it is told to, and remembers the peers until then', () => {
    const world = new SyncWorld({ chain })
    world.connect(honestPeer('a', chain, () => BLOCKS))
    expect(world.run(1000)).toBe(false)
    expect([world.requests, world.engine]).toEqual([[], []])
    expect(syncedWorld(world).applied).toEqual(ALL)
  })

  it('fetches and checks ahead while a block executes, within bounds', () => {
    const long = servedChain({ blocks: 1500, powers: [1n] })
    const world = new SyncWorld({ chain: long, applyMs: () => 10_000 })
    for (const id of ['a', 'b']) world.connect(honestPeer(id, long, () => 1500))
    world.follower.start()
    world.run(9_000)
    expect(world.applied).toEqual([])
    expect(Math.max(...world.prepared)).toBe(1024)
    expect(world.mostOpenRequests).toBeLessThanOrEqual(6 + 2)
  })

  it('holds no more bytes of blocks than it may, big ones included', () => {
    const big = servedChain({ blocks: 60, txsAt: () => [new Uint8Array(20_000)] })
    const limits = { bufferBytes: 200_000, requestBytes: 50_000 }
    const world = new SyncWorld({ chain: big, applyMs: () => 10_000, limits })
    world.connect(honestPeer('a', big, () => 60))
    world.follower.start()
    world.run(9_000)
    // Before the first answer nobody knows how big they are.
    expect(world.prepared.length).toBeGreaterThan(8)
    expect(world.prepared.length).toBeLessThan(20)
    world.runToConsensus()
    expect(world.applied).toHaveLength(60)
    // Runs of big blocks are short.
    expect(Math.max(...world.runs)).toBeLessThanOrEqual(4)
  })

  it('says every ten seconds how far it is, how fast, and how long it will take', () => {
    const world = new SyncWorld({ chain, applyMs: () => 100 })
    world.connect(honestPeer('a', chain, () => BLOCKS))
    world.follower.start()
    world.run(25_500)
    const lines = world.logs.filter(([, message]) => message === 'syncing blocks').slice(1)
    expect(lines).toHaveLength(2)
    for (const [index, [, , fields]] of lines.entries()) {
      const { height, target, remaining, blocksPerSecond, secondsLeft } = fields as Record<string, number>
      expect([target, remaining]).toEqual([BLOCKS, BLOCKS - height!])
      expect(Math.abs(height! - 100 * (index + 1))).toBeLessThanOrEqual(10)
      expect(blocksPerSecond).toBe(10)
      expect(Math.abs(secondsLeft! - remaining! / 10)).toBeLessThanOrEqual(1)
    }
  })

  it('follows a chain that grows meanwhile', () => {
    let head = 200
    const world = new SyncWorld({ chain, applyMs: () => 20 })
    const peer = honestPeer('a', chain, () => head)
    world.connect(peer)
    const grow = (): void => {
      if (head < BLOCKS) head++
      world.follower.peerAt('a', head)
      world.at(100, grow)
    }
    grow()
    syncedWorld(world)
    expect(head - world.state.lastHeight).toBeLessThanOrEqual(1)
    expect(world.applied).toEqual(ALL.slice(0, world.state.lastHeight))
    expect(world.state.lastHeight).toBeGreaterThan(220)
  })

  it('goes on through changes of the validator set in every block', () => {
    const churn = servedChain({
      blocks: 120,
      powers: [5n, 4n, 3n],
      updatesAt: (height) => [
        { publicKey: keyOf(100 + height), power: BigInt(1 + (height % 5)) },
        ...(height > 4 ? [{ publicKey: keyOf(96 + height), power: 0n }] : []),
        ...(height === 60 ? [{ publicKey: keyOf(0), power: 0n }] : []),
      ],
    })
    const world = new SyncWorld({ chain: churn })
    for (const id of ['a', 'b']) world.connect(honestPeer(id, churn, () => 120))
    expect(syncedWorld(world).applied).toHaveLength(120)
    expect(world.punished).toEqual([])
  })

  it('halts at a block that the network decided and this node cannot accept', () => {
    const state = { ...chain.states[50]!, appHash: new Uint8Array(32) }
    const world = new SyncWorld({ chain, state })
    world.connect(honestPeer('a', chain, () => BLOCKS))
    world.follower.start()
    world.run(60_000)
    expect(world.applied).toEqual([])
    expect(world.halts).toEqual([
      expect.stringMatching(
        /^more than two thirds of the validators decided block 51, .* appHash is 0x.*, expected 0x0{64}$/,
      ),
    ])
    expect(world.engine).toEqual([])
  })
})

const forged = servedChain({
  blocks: BLOCKS,
  powers: [1n, 1n, 1n, 1n],
  txsAt: (height) => [new Uint8Array([height & 255])],
})

/** Decided by one validator that the real chain does not have. */
const otherChain: ServedChain = servedChain({ blocks: BLOCKS, powers: [9n], keys: [keyOf(77)] })

describe('a liar beside one honest peer', () => {
  const tables: [what: string, peer: FakePeer, punishment: string, reason: RegExp][] = [
    [
      'serves nothing of what it claims',
      liar(
        () => reply({ base: 1, height: 1e9, blocks: [] }),
        () => 1e9,
      ),
      'false height',
      /no block \d+, but height 1000000000/,
    ],
    [
      'lowers its height',
      liar((request) => reply({ ...chain.serve(request), height: 300 })),
      'false height',
      /height is 300, was 400/,
    ],
    [
      'serves bytes that are no block',
      liar(changed((block) => ({ ...block, block: new Uint8Array([1, 2, 3]) }))),
      'malformed',
      /cannot be decoded/,
    ],
    [
      'serves bytes that are no commit',
      liar(changed((block) => ({ ...block, commit: new Uint8Array([7]) }))),
      'malformed',
      /cannot be decoded/,
    ],
    [
      'serves blocks of other heights',
      liar((request) => reply({ ...chain.serve({ ...request, from: Math.max(1, request.from - 1) }), height: BLOCKS })),
      'malformed',
      /instead of block|for 0 asked/,
    ],
    [
      'serves the commit of another block',
      liar(changed((block, height) => ({ ...block, commit: chain.encoded[height % BLOCKS]!.commit }))),
      'malformed',
      /the commit of block|is for another block/,
    ],
    [
      'changes a transaction',
      liar(changed((block, height) => ({ ...block, block: forged.encoded[height - 1]!.block }))),
      'malformed',
      /is for another block/,
    ],
    [
      'serves a block over the limit',
      liar(changed((block) => ({ ...block, block: new Uint8Array(2_000_001) }))),
      'malformed',
      /a block of 2000001 bytes/,
    ],
    [
      'serves more than it was asked for',
      liar((request) => reply({ ...chain.serve({ ...request, count: request.count + 1 }) })),
      'malformed',
      /blocks for \d+ asked for/,
    ],
    [
      'forges one signature',
      liar(changed((block, height) => ({ ...block, commit: badSignature(height) }))),
      'bad signature',
      /signature 2 is wrong/,
    ],
    [
      'serves a commit of two thirds exactly',
      liar(changed((block, height) => ({ ...block, commit: tooFew(height) }))),
      'bad signature',
      /power 2 of 4 signed/,
    ],
    [
      'serves a chain of validators of its own',
      liar((request) => reply(otherChain.serve(request, BLOCKS))),
      'invalid block',
      /signed by validators of another height|validators/,
    ],
  ]
  it.each(tables)('%s', (_, peer, punishment, reason) => {
    // The liar is there first and quicker.
    const world = new SyncWorld({ chain })
    world.connect(peer)
    world.connect(honestPeer('honest', chain, () => BLOCKS, 60))
    syncedWorld(world, 60_000)
    expect(world.applied).toEqual(ALL)
    expect(world.punished.map(([id, what]) => [id, what])).toEqual([['liar', punishment]])
    expect(world.punished[0]![2]).toMatch(reason)
  })

  function badSignature(height: number): Uint8Array {
    const { seenCommit } = chain.decided[height - 1]!
    const signatures = seenCommit.signatures.map((sig, index) =>
      index === 2 ? { ...sig, signature: new Uint8Array(64).fill(1) } : sig,
    )
    return encodeCommit({ ...seenCommit, signatures })
  }

  function tooFew(height: number): Uint8Array {
    const { blockId } = chain.decided[height - 1]!
    return encodeCommit(
      commitFor(chain.states[height - 1]!.validators, height, blockId, fakeSign, (index) => index < 2),
    )
  }
})

const silent = (): Reaction => undefined

describe('peers that hold up', () => {
  it.each<[string, FakePeer['react']]>([
    ['says nothing', silent],
    ['fails at once', () => ({ afterMs: 1, answer: undefined })],
    [
      'drips a block just before its time is over',
      (request) => reply(chain.serve({ ...request, count: 1 }), request.count === 0 ? 1 : 9_900),
    ],
  ])('one that %s delays the others by seconds at most, and is not taken for a liar', (_, react) => {
    const world = new SyncWorld({ chain })
    for (const id of ['slow-1', 'slow-2', 'slow-3']) world.connect({ ...liar(react), id })
    world.connect(honestPeer('honest', chain, () => BLOCKS))
    // No request has run out by then.
    syncedWorld(world, 8_000)
    expect(world.applied).toEqual(ALL)
    for (const [, what] of world.punished) expect(what).toBe('unresponsive')
  })

  it('ignores what a slow peer still sends when another one was quicker', () => {
    const world = new SyncWorld({ chain, applyMs: () => 10 })
    world.connect(honestPeer('slow', chain, () => BLOCKS, 1_000))
    world.at(100, () => world.connect(honestPeer('quick', chain, () => BLOCKS)))
    syncedWorld(world)
    const asked = Map.groupBy(world.requests, ({ from }) => from)
    expect(asked.get(1)?.map(({ peer }) => peer)).toEqual(['slow', 'quick'])
    expect(world.applied).toEqual(ALL)
    expect(world.prepared.toSorted((a, b) => a - b)).toEqual(ALL)
  })

  it('counts requests, not bytes: small blocks over a slow line arrive', () => {
    const world = new SyncWorld({ chain })
    world.connect({
      ...liar((request) => reply(chain.serve(request), 100 + request.count * 400)),
      id: 'slow',
    })
    syncedWorld(world, 600_000)
    expect(world.applied).toEqual(ALL)
    expect(world.engine).toHaveLength(1)
  })

  it('does not ask a peer for blocks that it has pruned', () => {
    const world = new SyncWorld({ chain })
    world.connect(honestPeer('pruned', chain, () => BLOCKS, 5, 250))
    world.connect(honestPeer('archive', chain, () => BLOCKS))
    syncedWorld(world, 30_000)
    expect(world.applied).toEqual(ALL)
    expect(world.punished).toEqual([])
    const asked = world.requests.filter(({ peer }) => peer === 'pruned')
    expect(asked.length).toBeGreaterThan(0)
    expect(Math.min(...asked.map(({ from }) => from))).toBeGreaterThanOrEqual(250)
  })

  it('goes on with another peer when one prunes meanwhile', () => {
    let base = 1
    const world = new SyncWorld({ chain, applyMs: () => 10 })
    world.connect({
      id: 'pruning',
      height: () => BLOCKS,
      react: (request) => {
        base += 40
        return reply(chain.serve(request, BLOCKS, base))
      },
    })
    world.connect(honestPeer('archive', chain, () => BLOCKS, 200))
    syncedWorld(world, 60_000)
    expect(world.applied).toEqual(ALL)
    expect(world.punished).toEqual([])
  })

  it('says that the next block is pruned everywhere, and goes on when a peer has it', () => {
    const world = new SyncWorld({ chain })
    for (const id of ['a', 'b']) world.connect(honestPeer(id, chain, () => BLOCKS, 20, 100))
    world.follower.start()
    world.run(120_000)
    expect(world.follower.status).toMatchObject({ mode: 'syncing', currentHeight: 0 })
    expect(world.logs).toContainEqual([
      'warn',
      'no peer has the next block any more: a peer with older blocks is needed',
      { next: 1, lowest: 100 },
    ])
    world.connect(honestPeer('archive', chain, () => BLOCKS))
    world.runToConsensus(30_000)
    expect(world.applied).toEqual(ALL)
  })
})

describe('a joiner whose peers all hold its requests', () => {
  /** More than are asked for a proof at a time. */
  const silentPeers = Array.from({ length: 12 }, (_, index): FakePeer => ({ ...liar(silent), id: `silent-${index}` }))

  /** The engine hears again and again that others are far ahead. */
  function keepTelling(world: SyncWorld): void {
    world.follower.onBehind(BLOCKS)
    world.at(1_000, () => keepTelling(world))
  }

  it('says so, and syncs as soon as another peer is there', () => {
    const world = new SyncWorld({ chain, onEngineStarted: keepTelling })
    for (const peer of silentPeers) world.connect(peer)
    world.follower.start()
    world.run(40_000)
    expect(world.logs).toContainEqual([
      'warn',
      'no peer serves a next block in time: sync ends',
      expect.objectContaining({ height: 0, peers: 12, silent: 12 }),
    ])
    world.connect(honestPeer('honest', chain, () => BLOCKS))
    expect(world.run(30_000, () => world.state.lastHeight === BLOCKS)).toBe(true)
    expect(world.applied).toEqual(ALL)
  })

  it('reports each of them for every request that it holds, so that the network lets go of it', () => {
    const world = new SyncWorld({ chain, onEngineStarted: keepTelling })
    for (const peer of silentPeers) world.connect(peer)
    world.follower.start()
    world.run(300_000)
    const reports = Map.groupBy(world.punished, ([id]) => id)
    for (const { id } of silentPeers) {
      // More than the network forgives in that time.
      expect(reports.get(id)?.length).toBeGreaterThan(LIMITS.failures.burst + 300 * LIMITS.failures.perSecond)
      for (const [, what] of reports.get(id)!) expect(what).toBe('unresponsive')
    }
  })
})

/** The address of validator `index` of the example chain's set. */
const addressOf = (index: number): Uint8Array => chain.states[0]!.validators.validators[index]!.address

describe('the beginning', () => {
  it.each<[string, bigint[], 'consensus' | 'waiting']>([
    ['does not wait with more than two thirds of the power', [7n, 2n, 1n], 'consensus'],
    ['waits with two thirds, since its directory may be an old copy', [4n, 1n, 1n], 'waiting'],
    ['waits with a third', [1n, 1n, 1n], 'waiting'],
  ])('%s', (_, powers, mode) => {
    const shared = servedChain({ blocks: 1, powers })
    const ownAddress = shared.states[0]!.validators.validators[0]!.address
    const world = new SyncWorld({ chain: shared, ownAddress })
    world.follower.start()
    expect(world.follower.status.mode).toBe(mode)
    expect(world.engine).toEqual(mode === 'consensus' ? [[0, 'start']] : [])
  })

  it.each<[string, (world: SyncWorld) => void, number, number]>([
    [
      'a peer at the same height lets it begin soon',
      (world) => world.connect(honestPeer('a', chain, () => 50)),
      500,
      700,
    ],
    ['a peer one block ahead too', (world) => world.connect(honestPeer('a', chain, () => 51)), 500, 700],
    ['a peer behind too', (world) => world.connect(honestPeer('a', chain, () => 3)), 500, 700],
    ['no peer at all lets it begin late', () => undefined, 30_000, 30_200],
  ])('%s', (_, act, earliest, latest) => {
    const world = new SyncWorld({ chain, state: chain.states[50]!, ownAddress: addressOf(0) })
    act(world)
    syncedWorld(world)
    expect(world.applied).toEqual([])
    expect(world.nowMs).toBeGreaterThanOrEqual(earliest)
    expect(world.nowMs).toBeLessThanOrEqual(latest)
  })

  it('syncs first when the second peer within the first moments is ahead', () => {
    const world = new SyncWorld({ chain, state: chain.states[50]!, ownAddress: addressOf(0) })
    world.follower.start()
    world.connect(honestPeer('a', chain, () => 50))
    world.at(300, () => world.connect(honestPeer('b', chain, () => 60)))
    world.runToConsensus()
    expect(world.applied).toEqual(ALL.slice(50, 60))
    expect(world.engine).toHaveLength(1)
  })

  it('learns from a poll that a peer which connected early has more now', () => {
    let head = 50
    const world = new SyncWorld({ chain, state: chain.states[50]!, ownAddress: addressOf(0) })
    world.connect(honestPeer('a', chain, () => head))
    head = 90
    syncedWorld(world)
    expect(world.state.lastHeight).toBe(90)
  })
})

describe('a lie about a height', () => {
  it.each<[string, FakePeer['react']]>([
    ['by peers that say nothing', silent],
    ['by peers that fail', () => ({ afterMs: 1, answer: undefined })],
  ])('%s does not keep a node from consensus that is at the height of the others', (_, react) => {
    let head = 300
    const world = new SyncWorld({ chain, state: chain.states[280]!, ownAddress: addressOf(0) })
    const grow = (): void => {
      if (head < BLOCKS) head++
      world.follower.peerAt('honest', head)
      world.at(400, grow)
    }
    world.at(400, grow)
    world.connect(honestPeer('honest', chain, () => head))
    // A new one every few seconds.
    for (let index = 0; index < 40; index++) {
      world.at(index * 5_000, () => world.connect({ id: `liar-${index}`, height: () => 1e6, react }))
    }
    world.follower.start()
    world.runToConsensus(35_000)
    expect(head - world.state.lastHeight).toBeLessThanOrEqual(1)
  })

  it('of one peer beside others is not believed when two of its requests have run out', () => {
    const world = new SyncWorld({ chain, state: chain.states[280]! })
    world.connect(honestPeer('honest', chain, () => 281))
    world.connect({ id: 'liar', height: () => 1e6, react: silent })
    syncedWorld(world, 25_000)
    expect(world.punished).toEqual([['liar', 'unresponsive', '2 requests for blocks ran out']])
  })

  it('of the only peer ends when nothing has come for a while', () => {
    const world = new SyncWorld({ chain, state: chain.states[50]!, ownAddress: addressOf(0) })
    world.connect({ id: 'liar', height: () => 1e6, react: silent })
    syncedWorld(world)
    expect(world.nowMs).toBeLessThanOrEqual(31_000)
    expect(world.logs.map(([, message]) => message)).toContain('no peer serves a next block in time: sync ends')
  })
})

describe('peers that give blocks late, but before their time is over', () => {
  /** It has each block of the growing chain when it answers, and claims so many that it never claims a false height. */
  function late(id: string, head: () => number, afterMs = 9_300): FakePeer {
    const soon = () => Math.min(BLOCKS, head() + Math.floor(afterMs / 400))
    return {
      id,
      height: soon,
      react: (request) =>
        request.count === 0
          ? reply(chain.serve(request, soon()), 20)
          : { afterMs, answer: chain.serve(request, soon()) },
    }
  }

  /** The chain grows by a block in 400 ms from `head` on; `honest` are told of each. */
  function growing(world: SyncWorld, head: number, honest: readonly string[]): () => number {
    let height = head
    const grow = (): void => {
      if (height < BLOCKS) height++
      for (const id of honest) world.follower.peerAt(id, height)
      world.at(400, grow)
    }
    world.at(400, grow)
    return () => height
  }

  const validatorPeers = (head: () => number, indices: readonly number[]): FakePeer[] =>
    indices.map((index) => ({ ...honestPeer(`validator-${index}`, chain, head), validatorAddress: addressOf(index) }))

  it('do not keep a validator from consensus that has what a third of the power claims', () => {
    const world = new SyncWorld({ chain, state: chain.states[90]!, ownAddress: addressOf(0) })
    const head = growing(world, 100, ['validator-1', 'validator-2', 'validator-3'])
    for (const peer of validatorPeers(head, [1, 2, 3])) world.connect(peer)
    for (let index = 0; index < 6; index++) world.connect(late(`late-${index}`, head))
    syncedWorld(world, 3_000)
    expect(head() - world.state.lastHeight).toBeLessThanOrEqual(1)
    expect(world.follower.status.highestHeight).toBeLessThanOrEqual(head())
  })

  it.each<[string, readonly number[], number]>([
    ['validators with a third of the power at most', [1], 1e6],
    ['a validator beside honest ones', [3], 1e6],
  ])('%s that claim a great height do not either', (_, liars, claim) => {
    const world = new SyncWorld({ chain, state: chain.states[90]!, ownAddress: addressOf(0) })
    const head = growing(world, 100, [])
    const honest = [1, 2, 3].filter((index) => !liars.includes(index))
    for (const peer of validatorPeers(head, honest)) world.connect(peer)
    for (const peer of validatorPeers(() => claim, liars)) world.connect({ ...peer, react: silent })
    syncedWorld(world, 4_000)
  })

  it('do not keep it where it has no other peers: it follows by consensus', () => {
    const world = new SyncWorld({ chain, state: chain.states[90]!, ownAddress: addressOf(0) })
    const head = growing(world, 100, [])
    for (let index = 0; index < 6; index++) world.connect(late(`late-${index}`, head))
    syncedWorld(world, 45_000)
  })

  it.each<[string, FakePeer['react'], number]>([
    [
      'one block for each request',
      (request) => reply(chain.serve({ ...request, count: 1 }), request.count === 0 ? 1 : 9_900),
      60_000,
    ],
    ['nothing', silent, 12_000],
  ])('or %s, do not keep a validator that is far behind in a sync that gains nothing', (_, react, limitMs) => {
    const world = new SyncWorld({ chain, state: chain.states[10]!, ownAddress: addressOf(0) })
    for (let index = 0; index < 6; index++) world.connect({ id: `late-${index}`, height: () => BLOCKS, react })
    syncedWorld(world, limitMs)
    expect(world.logs.map(([, message]) => message)).toContain('no peer serves a next block in time: sync ends')
  })

  it('are not believed where others are far quicker', () => {
    // No validator: it has no better word than that of its peers.
    const world = new SyncWorld({ chain, state: chain.states[90]! })
    const head = growing(world, 100, ['quick-0', 'quick-1'])
    for (const index of [0, 1]) world.connect(honestPeer(`quick-${index}`, chain, head))
    for (let index = 0; index < 6; index++) world.connect(late(`late-${index}`, head))
    syncedWorld(world, 33_000)
    expect(head() - world.state.lastHeight).toBeLessThanOrEqual(1)
    expect(world.punished).toEqual([])
  })

  it('let a validator sync that a proof has shown to be behind, though validators that are restarted too have no more', () => {
    const world = new SyncWorld({ chain, state: chain.states[50]!, ownAddress: addressOf(0) })
    for (const peer of validatorPeers(() => 50, [1, 2, 3])) world.connect(peer)
    syncedWorld(world, 2_000)
    world.connect(honestPeer('far', chain, () => 200))
    const behind = (): void => {
      world.follower.onBehind(200)
      world.at(1_000, behind)
    }
    behind()
    world.run(30_000, () => world.engine.length === 3)
    expect(world.state.lastHeight).toBe(200)
  })
})

describe('a node in consensus', () => {
  function inConsensus(height: number, served: ServedChain = chain): SyncWorld {
    const world = new SyncWorld({ chain: served, state: served.states[height]!, ownAddress: addressOf(0) })
    world.connect(honestPeer('near', served, () => height))
    return syncedWorld(world)
  }

  /** The engine notices again and again. */
  function behind(world: SyncWorld, peerHeight: number): void {
    world.follower.onBehind(peerHeight)
    world.at(1_000, () => behind(world, peerHeight))
  }

  it('leaves it for a proof that it is behind, with the engine stopped, and returns', () => {
    const world = inConsensus(50)
    world.connect(honestPeer('far', chain, () => 200))
    behind(world, 200)
    world.run(60_000, () => world.engine.length === 3)
    expect(world.engine.map(([, what]) => what)).toEqual(['start', 'stop', 'start'])
    expect(world.applied).toEqual(ALL.slice(50, 200))
    expect(world.statuses.map(({ mode }) => mode)).toContain('syncing')
    world.run(10_000)
    expect(world.engine).toHaveLength(3)
    expect(world.follower.status).toMatchObject({ mode: 'consensus', startingHeight: 200, currentHeight: 200 })
  })

  /** By a node that is not stuck, the first fault is found in a later block; once it is stuck, in the next one too. */
  it.each<[string, FakePeer['react'], string]>([
    ['says nothing', silent, 'unresponsive'],
    ['has no block', () => reply({ base: 1, height: 1e6, blocks: [] }), 'false height'],
    ['is not at its height', () => reply({ base: 1, height: 900, blocks: [] }), 'false height'],
    [
      'serves nonsense',
      (request) =>
        reply({
          base: 1,
          height: 1e6,
          blocks: Array(request.count).fill({ block: new Uint8Array(9), commit: new Uint8Array(9) }),
        }),
      'malformed',
    ],
    [
      'serves the chain of other validators',
      (request) => reply({ ...otherChain.serve(request), height: 1e6 }),
      'invalid block',
    ],
    [
      'invents a signature of a validator',
      (request) => {
        const height = request.from
        if (request.count === 0) return reply({ base: 1, height: 1e6, blocks: [] })
        const { blockId } = chain.decided[height - 1]!
        const { validators } = chain.states[height - 1]!
        const invent: typeof fakeSign = (...args) => fakeSign(...args).map((byte) => byte ^ 1)
        const commit = encodeCommit(commitFor(validators, height, blockId, invent, () => true))
        return reply({ base: 1, height: 1e6, blocks: [{ block: chain.encoded[height - 1]!.block, commit }] })
      },
      'bad signature',
    ],
    [
      'has a third of the signatures and no more',
      (request) => {
        const height = request.from
        if (request.count === 0) return reply({ base: 1, height: 1e6, blocks: [] })
        const { blockId } = chain.decided[height - 1]!
        const { validators } = chain.states[height - 1]!
        const commit = encodeCommit(commitFor(validators, height, blockId, fakeSign, (index) => index < 1))
        return reply({ base: 1, height: 1e6, blocks: [{ block: chain.encoded[height - 1]!.block, commit }] })
      },
      'invalid block',
    ],
  ])('stays when the peer that claims to be ahead %s, and reports it', (_, react, what) => {
    const world = inConsensus(50)
    world.connect({ id: 'liar', height: () => 1e6, react })
    behind(world, 1e6)
    world.run(120_000)
    expect(world.engine).toHaveLength(1)
    // It asks no more often than every two seconds, and a peer that lied never again.
    expect(world.requests.length).toBeLessThanOrEqual(what === 'unresponsive' ? 2 * 60 : 8)
    expect(world.punished.at(-1)?.slice(0, 2)).toEqual(['liar', what])
    for (const [, found] of world.punished.slice(0, -1)) expect(found).toBe('unresponsive')
  })

  it('asks validators for the proof before strangers, which connect again and never answer', () => {
    const world = inConsensus(50)
    for (const index of [1, 2, 3]) {
      const validator = honestPeer(`validator-${index}`, chain, () => 200)
      // It does not answer in time at first.
      const react: FakePeer['react'] = (request, nowMs) =>
        nowMs < 20_000 ? undefined : validator.react(request, nowMs)
      world.connect({ ...validator, react, validatorAddress: addressOf(index) })
    }
    const strangers = Array.from({ length: 30 }, (_, index) => ({
      id: `stranger-${index}`,
      height: () => 200,
      react: silent,
    }))
    for (const peer of strangers) world.connect(peer)
    const reconnect = (): void => {
      for (const peer of strangers) {
        world.disconnect(peer.id)
        world.connect(peer)
      }
      world.at(1_000, reconnect)
    }
    reconnect()
    behind(world, 200)
    world.run(120_000, () => world.engine.length === 3)
    expect(world.applied).toEqual(ALL.slice(50, 200))
    expect(world.nowMs).toBeLessThan(45_000)
  })

  it('stays while it decides blocks itself, when no more than the next block proves to be there', () => {
    const world = inConsensus(50)
    world.connect({
      id: 'little',
      height: () => 1e6,
      react: (request) =>
        request.from === world.state.lastHeight + 1 ? reply(chain.serve(request, request.from), 1) : undefined,
    })
    const decide = (): void => {
      world.decide()
      world.at(400, decide)
    }
    decide()
    behind(world, 1e6)
    world.run(60_000)
    expect(world.engine).toHaveLength(1)
    expect(world.state.lastHeight).toBeGreaterThan(190)
  })

  it('leaves it when it is stuck and the next block is decided, whoever the validators are now', () => {
    const world = inConsensus(50, handedOver)
    world.connect(honestPeer('far', handedOver, () => 200))
    behind(world, 200)
    world.run(60_000, () => world.engine.length === 3)
    expect(world.applied).toEqual(ALL.slice(50, 200))
  })
})

/** At block 52 other validators take over from those that are known at height 50. */
const handedOver = servedChain({
  blocks: 200,
  updatesAt: (height) =>
    height === 51
      ? [0, 1, 2, 3].flatMap((i) => [
          { publicKey: keyOf(i), power: 0n },
          { publicKey: keyOf(200 + i), power: 9n },
        ])
      : [],
})

describe('any peers', () => {
  it('give every block once and in order, if one of them is honest', () => {
    const short = servedChain({ blocks: 90, txsAt: (height) => [new Uint8Array(height % 50)] })
    const kinds = ['honest', 'slow', 'failing', 'silent', 'garbage', 'pruned', 'partial', 'leaving'] as const
    const peerOf = (kind: (typeof kinds)[number], id: string, seed: number): FakePeer => {
      let state = seed >>> 0
      const random = (below: number): number => {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
        return Math.floor((state / 2 ** 32) * below)
      }
      const honest = (request: Parameters<FakePeer['react']>[0], base = 1): FetchedBlocks =>
        short.serve(request, 90, base)
      return {
        id,
        base: kind === 'pruned' ? 40 : 1,
        height: () => 90,
        react: (request) => {
          const afterMs = random(kind === 'slow' ? 12_000 : 150)
          if (kind === 'silent') return undefined
          if (kind === 'failing' && random(3) > 0) return { afterMs, answer: undefined }
          if (kind === 'pruned') return reply(honest(request, 40), afterMs)
          if (kind === 'partial' && request.count > 0)
            return reply(honest({ ...request, count: 1 + random(request.count) }), afterMs)
          if (kind === 'garbage' && random(4) === 0) {
            const answer = honest(request)
            return reply(
              {
                ...answer,
                blocks: answer.blocks.map(({ block }) => ({ block, commit: new Uint8Array([random(256)]) })),
              },
              afterMs,
            )
          }
          return reply(honest(request), afterMs)
        },
      }
    }
    const peers = fc.array(fc.tuple(fc.constantFrom(...kinds), fc.integer(), fc.integer({ min: 0, max: 3_000 })), {
      maxLength: 6,
    })
    const times = fc.record({ verify: fc.integer({ min: 0, max: 40 }), apply: fc.integer({ min: 0, max: 40 }) })
    fc.assert(
      fc.property(peers, fc.integer(), times, (others, seed, { verify, apply }) => {
        const world = new SyncWorld({ chain: short, verifyMs: () => verify, applyMs: () => apply })
        world.connect(peerOf('honest', 'honest', seed))
        for (const [index, [kind, peerSeed, joinsMs]] of others.entries()) {
          const id = `${kind}-${index}`
          world.at(joinsMs, () => world.connect(peerOf(kind, id, peerSeed)))
          if (kind === 'leaving') world.at(joinsMs + 200, () => world.disconnect(id))
        }
        syncedWorld(world, 60_000)
        expect(world.applied).toEqual(ALL.slice(0, 90))
        expect(world.halts).toEqual([])
        expect(world.prepared.toSorted((a, b) => a - b)).toEqual(ALL.slice(0, 90))
        expect(world.mostOpenRequests).toBeLessThanOrEqual(16 + 7)
        for (const [id, what] of world.punished) {
          if (what !== 'unresponsive') expect(id).toMatch(/^garbage/)
        }
      }),
      { numRuns: runs(25) },
    )
  })
})
