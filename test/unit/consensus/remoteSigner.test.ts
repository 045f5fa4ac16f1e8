import { describe, expect, it } from 'vitest'
import type { UnsignedProposal, UnsignedVote, VoteType } from '../../../src/chain/comet/types.ts'
import type { ConsensusKey, SigningRequest } from '../../../src/consensus/consensusKey.ts'
import type { AskedSignature } from '../../../src/consensus/environment.ts'
import { isAsked } from '../../../src/consensus/ownMessages.ts'
import { replayHeight } from '../../../src/consensus/replay.ts'
import { RoundState } from '../../../src/consensus/roundState.ts'
import { lastSignedOf, Signer } from '../../../src/consensus/signer.ts'
import { openWal } from '../../../src/consensus/wal.ts'
import { isSignerEntry, type WalEntry } from '../../../src/consensus/walEntry.ts'
import { bytesKey, EMPTY_BYTES } from '../../../src/primitives/bytes.ts'
import { signEd25519 } from '../../../src/primitives/ed25519.ts'
import { checkChain } from '../../support/consensus/checkChain.ts'
import {
  CHAIN,
  createSolo,
  KEY,
  runUntil,
  settle,
  type TestNode,
  WAL,
} from '../../support/consensus/consensusHarness.ts'
import type { MemoryDisk } from '../../support/consensus/memoryDisk.ts'
import { CHAIN as REDUCER_CHAIN, Scene, verifyMessage } from '../../support/consensus/reducerHarness.ts'
import { VirtualClock } from '../../support/consensus/virtualClock.ts'

/** A signer that answers after a while; its memory outlives the node. */
class LateSigner {
  readonly clock: VirtualClock
  /** height, round and step -> sign bytes of all questions about it */
  readonly asked = new Map<string, Set<string>>()
  /** Runs when a question has left; `number` counts them. */
  arrives: (request: SigningRequest, number: number) => void = () => undefined
  #count = 0
  #node = 0

  constructor(clock: VirtualClock) {
    this.clock = clock
  }

  readonly key: ConsensusKey = {
    address: KEY.address,
    publicKey: KEY.publicKey,
    sign: (request) => ({
      signer: EMPTY_BYTES,
      send: (done) => {
        const node = this.#node
        const { timestampMs } = request.kind === 'vote' ? request.vote : request.proposal
        const before = this.asked.get(stepOf(request)) ?? new Set()
        this.asked.set(stepOf(request), before.add(bytesKey(request.signBytes)))
        this.arrives(request, ++this.#count)
        const signature = signEd25519(KEY, request.signBytes)
        this.clock.setTimer(5, () => {
          if (node === this.#node) done({ timestampMs, signature })
        })
      },
    }),
  }

  /** Another process is to come: answers to the present one are lost. */
  hangUp(): void {
    this.#node++
  }
}

function stepOf(request: SigningRequest): string {
  const { height, round } = request.kind === 'vote' ? request.vote : request.proposal
  return `${height}/${round}/${request.kind === 'vote' ? request.vote.type : 'proposal'}`
}

/** The only validator, whose key is in a signer. */
function withSigner(): { readonly node: TestNode; readonly signer: LateSigner } {
  const { network } = createSolo().settings
  const signer = new LateSigner(network.clock)
  return { node: createSolo({ network, remoteKey: signer.key }), signer }
}

/** Sign bytes of the questions that a log has. */
async function questionsOn(disk: MemoryDisk): Promise<readonly string[]> {
  const questions: string[] = []
  const options = { directory: WAL, genesisHash: CHAIN.genesisHash, disk, randomBytes: () => new Uint8Array(16) }
  const wal = await openWal({ ...options, warn: () => undefined }, (entry) => {
    if (isSignerEntry(entry) && entry.kind === 'asked') {
      questions.push(bytesKey(lastSignedOf(CHAIN.chainId, entry).signBytes))
    }
  })
  await wal.close()
  return questions
}

describe('what a signer is asked', () => {
  it('is on stable storage before it leaves', async () => {
    const { node, signer } = withSigner()
    const left: { readonly step: string; readonly bytes: string; readonly disk: MemoryDisk }[] = []
    signer.arrives = (request) => {
      left.push({ step: stepOf(request), bytes: bytesKey(request.signBytes), disk: node.disk.copy('durable') })
    }
    await runUntil(node, 4)
    checkChain(node.application)
    expect(left.length).toBeGreaterThanOrEqual(12)
    for (const { step, bytes, disk } of left) expect(await questionsOn(disk), step).toContain(bytes)
  })

  it('is the same again when the node loses its power at each question', async () => {
    const { node, signer } = withSigner()
    let isDead = false
    signer.arrives = (_request, number) => {
      // Every second question repeats the one before it.
      isDead = number % 2 === 1
      if (!isDead) return
      signer.hangUp()
      node.kill('durable')
      // What is built or voted anew has another time.
      node.settings.network.clock.advance(7)
    }
    while (node.height < 3) {
      isDead = false
      await node.start()
      await node.settings.network.until(() => isDead || node.height >= 3 || node.halted !== undefined)
      expect(node.halted).toBeUndefined()
    }
    expect(signer.asked.size).toBeGreaterThanOrEqual(9)
    expect([...signer.asked.values()].map(({ size }) => size)).toEqual(Array(signer.asked.size).fill(1))
    checkChain(node.application)
  })
})

describe('a late answer for the height before', () => {
  const blockId = { hash: new Uint8Array(32).fill(1), partSetHeader: { total: 1, hash: new Uint8Array(32).fill(2) } }
  const proposal: UnsignedProposal = { height: 6, round: 0, polRound: -1, blockId, timestampMs: 1 }
  const vote = (type: VoteType): UnsignedVote => {
    return { type, height: 6, round: 0, blockId, timestampMs: 1, validatorAddress: KEY.address, validatorIndex: 0 }
  }

  it('is used when it is a precommit', async () => {
    const clock = new VirtualClock(0)
    const entries: WalEntry[] = []
    const signer = new Signer({
      key: new LateSigner(clock).key,
      chainId: CHAIN.chainId,
      wal: { append: (entry) => void entries.push(entry) },
      lastSigned: undefined,
      decidedHeight: 5,
    })
    const answers: (() => unknown)[] = []
    const ask = (staged: object | undefined): void => {
      if (staged === undefined || !isAsked(staged as AskedSignature<object>)) throw new Error('nobody is asked')
      ;(staged as AskedSignature<object>).send((complete) => void answers.push(complete))
    }
    ask(signer.stageProposal(proposal))
    ask(signer.stageVote(vote(1)))
    ask(signer.stageVote(vote(2)))
    await clock.runUntil(() => answers.length === 3, settle)
    signer.decided(6)
    expect(answers.map((complete) => complete() !== undefined)).toEqual([false, false, true])
    expect(entries.map(({ kind }) => kind)).toEqual(['asked', 'asked', 'asked', 'vote'])
  })

  it('leaves the replay to propose a block of its own', () => {
    const scene = new Scene()
    scene.decideHeight()
    const { state, height } = scene.rs
    const { address } = scene.rs.proposerOf(0)
    const rounds = new RoundState({ chain: REDUCER_CHAIN, state, address, verify: verifyMessage })
    const late = { ...proposal, height: height - 1 }
    const effects = replayHeight(rounds, [
      { kind: 'asked', request: { kind: 'proposal', proposal: late }, signer: EMPTY_BYTES },
      { kind: 'proposal', proposal: { ...late, signature: new Uint8Array(64) } },
      { kind: 'timeout', timeout: { height, round: 0, step: 'newHeight' } },
    ])
    expect(effects.map(({ kind }) => kind)).toContain('build')
    expect(effects.map(({ kind }) => kind)).not.toContain('signProposal')
  })
})
