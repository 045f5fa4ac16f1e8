import { describe, expect, it, vi } from 'vitest'
import type { DecidedBlock, DecidedRun } from '../../../../src/consensus/application.ts'
import type { ConsensusState } from '../../../../src/consensus/consensusState.ts'
import type { StatusMessage } from '../../../../src/consensus/messages.ts'
import type { BlockRequest, FetchedBlocks } from '../../../../src/consensus/transport.ts'
import { ProtobufFields } from '../../../../src/primitives/protobuf.ts'
import { checkCommits } from '../../../../src/sync/blocks/commitChecks.ts'
import {
  type FollowedConsensus,
  type FollowNodeOptions,
  followNode,
  SyncError,
} from '../../../../src/sync/blocks/followNode.ts'
import { servedChain, verifyFake } from '../../../support/sync/servedChain.ts'

const chain = servedChain({ blocks: 60, txsAt: (height) => (height % 2 === 0 ? [new Uint8Array([height])] : []) })

class FakeConsensus implements FollowedConsensus {
  state: ConsensusState = chain.states[0]!
  readonly applied: DecidedBlock[] = []
  readonly calls: string[] = []
  failAt = 0

  startEngine(): void {
    this.calls.push('start')
  }

  async stopEngine(): Promise<void> {
    this.calls.push('stop')
  }

  /** Runs end after this many blocks. */
  mostBlocks = 64

  async applyDecided({ blocks }: DecidedRun): Promise<void> {
    for (const [index, decided] of blocks.slice(0, this.mostBlocks).entries()) {
      const { height } = decided.block.header
      if (height === this.failAt) {
        if (index > 0) return
        throw new Error('the disk is full')
      }
      this.applied.push(decided)
      this.state = chain.advance(this.state, decided)
    }
  }
}

function node(options: Partial<FollowNodeOptions> = {}, head = 60) {
  const consensus = new FakeConsensus()
  const halted = Promise.withResolvers<Error>()
  const inConsensus = Promise.withResolvers<void>()
  const punished: string[] = []
  const follower = followNode({
    consensus,
    transport: {
      fetchBlocks: async (_, request: BlockRequest): Promise<FetchedBlocks> => chain.serve(request, head),
      punish: (peer, what) => punished.push(`${peer} ${what}`),
    },
    ownAddress: undefined,
    verifyCommits: async (checks) => checkCommits(checks, verifyFake),
    nowMs: () => performance.now(),
    setTimer: (delayMs, run) => {
      const timer = setTimeout(run, delayMs)
      return () => clearTimeout(timer)
    },
    log: () => undefined,
    onStatus: ({ mode }) => {
      if (mode === 'consensus') inConsensus.resolve()
    },
    onHalt: (error) => halted.resolve(error),
    ...options,
  })
  return { follower, consensus, halted: halted.promise, inConsensus: inConsensus.promise, punished }
}

const PEER = { id: 'a', validatorAddress: undefined, base: 1, height: 40 }

describe('followNode', () => {
  it('syncs, with the senders that other threads recovered, and starts the engine', async () => {
    let running = 0
    let most = 0
    const { follower, consensus, inConsensus } = node({
      recoverSenders: async (txs) => {
        most = Math.max(most, ++running)
        await new Promise((resolve) => setTimeout(resolve, 2))
        running--
        return txs.map(([byte]) => new Uint8Array(20).fill(byte!))
      },
    })
    follower.peerJoined({ ...PEER, height: 60 })
    follower.start()
    await inConsensus
    expect(consensus.applied.map(({ block }) => block.header.height)).toEqual(
      Array.from({ length: 60 }, (_, index) => index + 1),
    )
    expect(consensus.calls).toEqual(['start'])
    for (const { block, senders } of consensus.applied) {
      const { height } = block.header
      expect(senders).toEqual(height % 2 === 0 ? [new Uint8Array(20).fill(height)] : undefined)
    }
    // The last block has none to wait for; most others have.
    expect(consensus.applied.at(-1)!.catchingUp).toBe(false)
    expect(consensus.applied.filter(({ catchingUp }) => catchingUp).length).toBeGreaterThan(30)
    expect(most).toBeGreaterThan(1)
    expect(most).toBeLessThanOrEqual((64 + 16) / 2)
    await follower.stop()
  })

  it('syncs without the threads that clients feed when these do not answer', async () => {
    const checked: number[] = []
    const { follower, consensus, inConsensus, punished } = node({
      // A hundred times as fast.
      nowMs: () => performance.now() * 100,
      setTimer: (delayMs, run) => {
        const timer = setTimeout(run, delayMs / 100)
        return () => clearTimeout(timer)
      },
      verifyCommits: () => new Promise(() => undefined),
      checkCommit: (check) => {
        checked.push(check.height)
        return checkCommits([check], verifyFake)[0]
      },
      recoverSenders: () => new Promise(() => undefined),
    })
    follower.peerJoined({ ...PEER, height: 60 })
    follower.start()
    await inConsensus
    expect(consensus.applied).toHaveLength(60)
    expect(consensus.applied.every(({ senders }) => senders === undefined)).toBe(true)
    expect(new Set(checked)).toEqual(new Set(Array.from({ length: 60 }, (_, index) => index + 1)))
    expect(punished).toEqual([])
    await follower.stop()
  })

  it('learns from status messages that a peer has decided the height before the one it works on', async () => {
    const { follower, consensus, inConsensus } = node()
    follower.peerJoined(PEER)
    follower.start()
    follower.message('a', { kind: 'status', height: 61 } as StatusMessage)
    follower.message('a', { kind: 'vote' } as never)
    await inConsensus
    expect(consensus.state.lastHeight).toBeGreaterThanOrEqual(59)
    await follower.stop()
  })

  it('halts with the error of the application, and applies nothing more', async () => {
    const { follower, consensus, halted } = node()
    consensus.failAt = 10
    follower.peerJoined(PEER)
    follower.start()
    expect((await halted).message).toBe('the disk is full')
    await follower.stop()
    expect(consensus.applied).toHaveLength(9)
    expect(consensus.calls).toEqual([])
  })

  it('recovers the senders of each block once, also when runs end early', async () => {
    const recovered: number[] = []
    const { follower, consensus, inConsensus } = node({
      recoverSenders: async (txs) => {
        recovered.push(txs[0]![0]!)
        return txs.map(([byte]) => new Uint8Array(20).fill(byte!))
      },
    })
    consensus.mostBlocks = 3
    follower.peerJoined({ ...PEER, height: 60 })
    follower.start()
    await inConsensus
    expect(consensus.applied.map(({ block }) => block.header.height)).toEqual(
      Array.from({ length: 60 }, (_, index) => index + 1),
    )
    expect(recovered).toEqual(Array.from({ length: 30 }, (_, index) => 2 * index + 2))
    for (const { block, senders } of consensus.applied) {
      expect(senders ?? []).toEqual(block.txs.map(([byte]) => new Uint8Array(20).fill(byte!)))
    }
    await follower.stop()
  })

  it.each(['appHash', 'lastResultsHash'] as const)(
    'halts at the block after the one whose execution gave another %s than the network has',
    async (field) => {
      const { follower, consensus, halted } = node()
      const { applyDecided } = consensus
      consensus.applyDecided = async ({ blocks, maxGas }) => {
        const count = blocks.findIndex(({ block }) => block.header.height === 10) + 1
        await applyDecided.call(consensus, { blocks: count === 0 ? blocks : blocks.slice(0, count), maxGas })
        if (count > 0) consensus.state = { ...consensus.state, [field]: new Uint8Array(32) }
      }
      follower.peerJoined(PEER)
      follower.start()
      expect((await halted).message).toMatch(new RegExp(`decided block 11, which .* cannot accept: ${field} is `))
      expect(consensus.applied).toHaveLength(10)
      await follower.stop()
    },
  )

  it('halts when the threads that verify fail', async () => {
    const { follower, halted } = node({ verifyCommits: () => Promise.reject(new Error('the thread is gone')) })
    follower.peerJoined(PEER)
    follower.start()
    expect((await halted).message).toBe('the thread is gone')
    await follower.stop()
  })

  it('halts with a SyncError when the network decided what this node cannot accept', async () => {
    const { follower, consensus, halted } = node()
    consensus.state = { ...consensus.state, lastResultsHash: new Uint8Array(32) }
    const second = node({ consensus })
    second.follower.peerJoined(PEER)
    second.follower.start()
    expect(await second.halted).toBeInstanceOf(SyncError)
    await Promise.all([follower.stop(), second.follower.stop()])
    expect(halted).toBeInstanceOf(Promise)
  })

  it.each([new RangeError('Array buffer allocation failed'), new TypeError('undefined is not a function')])(
    'halts with an error of its own while it reads a block, and punishes no peer: %s',
    async (error) => {
      const blamed = Promise.withResolvers<string>()
      const { follower, halted } = node({
        transport: {
          fetchBlocks: async (_, request) => chain.serve(request, 40),
          punish: (peer, what) => blamed.resolve(`${peer} ${what}`),
        },
      })
      const reading = vi.spyOn(ProtobufFields.prototype, 'message').mockImplementationOnce(() => {
        throw error
      })
      try {
        follower.peerJoined(PEER)
        follower.start()
        expect(await Promise.race([halted, blamed.promise])).toBe(error)
      } finally {
        reading.mockRestore()
        await follower.stop()
      }
    },
  )

  it('waits at its end for the run that is being applied', async () => {
    const gate = Promise.withResolvers<void>()
    const { follower, consensus } = node()
    const applying = Promise.withResolvers<void>()
    consensus.applyDecided = async ({ blocks }) => {
      applying.resolve()
      await gate.promise
      consensus.applied.push(...blocks)
    }
    follower.peerJoined(PEER)
    follower.start()
    await applying.promise
    let hasStopped = false
    const stopped = follower.stop().then(() => {
      hasStopped = true
    })
    await new Promise((resolve) => setTimeout(resolve, 5))
    expect(hasStopped).toBe(false)
    gate.resolve()
    await stopped
    expect(consensus.applied.length).toBeGreaterThan(0)
    expect(follower.status.currentHeight).toBe(0)
  })

  it('leaves the rest to a peer that answers when a request fails', async () => {
    let calls = 0
    const { follower, inConsensus, consensus } = node({
      transport: {
        fetchBlocks: async (peer, request) => {
          if (peer === 'b' && ++calls > 0) throw new Error('gone')
          return chain.serve(request, 40)
        },
        punish: () => undefined,
      },
    })
    follower.peerJoined({ ...PEER, id: 'b' })
    follower.peerJoined(PEER)
    follower.start()
    await inConsensus
    expect(calls).toBeGreaterThan(0)
    expect(consensus.state.lastHeight).toBeGreaterThanOrEqual(39)
    await follower.stop()
  })
})
