import { describe, expect, it } from 'vitest'
import type { UnsignedProposal, UnsignedVote, Vote, VoteType } from '../../../../src/chain/comet/types.ts'
import { voteSignBytes } from '../../../../src/chain/comet/vote.ts'
import { isAsked } from '../../../../src/consensus/ownMessages.ts'
import { DoubleSignError, lastSignedOf, newerEntry, Signer } from '../../../../src/consensus/signer.ts'
import { isSignerEntry, type SignerEntry, type WalEntry } from '../../../../src/consensus/walEntry.ts'
import { MessageReader } from '../../../../src/p2p/privval/messages.ts'
import {
  ANSWER_MS,
  NO_IDENTITY,
  RemoteKey,
  type RemoteSigner,
  SILENCE_MS,
} from '../../../../src/p2p/privval/remoteKey.ts'
import { ed25519Address, ed25519Key, verifyEd25519 } from '../../../../src/primitives/ed25519.ts'
import { createSignerMetrics } from '../../../../src/telemetry/metrics.ts'
import { VirtualClock } from '../../../support/consensus/virtualClock.ts'
import { TestSigner } from '../../../support/p2p/privval/testSigner.ts'

const CHAIN_ID = 'coin_76287-1'
const KEY = ed25519Key(new Uint8Array(32).fill(1))
const OTHER_KEY = ed25519Key(new Uint8Array(32).fill(2))
const IDENTITIES = [new Uint8Array(32).fill(8), new Uint8Array(32).fill(9)] as const
const BLOCK_ID = { hash: new Uint8Array(32).fill(1), partSetHeader: { total: 1, hash: new Uint8Array(32).fill(2) } }

const vote = (height: number, round: number, type: VoteType, timestampMs = 1000): UnsignedVote => ({
  type,
  height,
  round,
  blockId: BLOCK_ID,
  timestampMs,
  validatorAddress: ed25519Address(KEY.publicKey),
  validatorIndex: 0,
})
const proposal = (height: number): UnsignedProposal => ({
  height,
  round: 0,
  polRound: -1,
  blockId: BLOCK_ID,
  timestampMs: 1000,
})

/** A node's signer over remote ones, whose links carry messages at once. */
class World {
  readonly clock = new VirtualClock(0)
  readonly metrics = createSignerMetrics()
  readonly log: string[] = []
  readonly entries: WalEntry[] = []
  readonly signed: Vote[] = []
  readonly key: RemoteKey
  available = 0
  signer: Signer

  constructor(publicKey: Uint8Array | undefined = KEY.publicKey) {
    const note = (_fields: object, message: string) => void this.log.push(message)
    const log = { info: note, warn: note, error: note }
    this.key = new RemoteKey({ chainId: CHAIN_ID, publicKey, clock: this.clock, metrics: this.metrics, log })
    this.key.onAvailable(() => this.available++)
    this.signer = this.#makeSigner()
  }

  #makeSigner(): Signer {
    const last = this.entries.filter(isSignerEntry).reduce<SignerEntry | undefined>(newerEntry, undefined)
    return new Signer({
      key: this.key,
      chainId: CHAIN_ID,
      wal: { append: (entry) => void this.entries.push(entry) },
      lastSigned: last && lastSignedOf(CHAIN_ID, last),
      decidedHeight: 0,
      onWrongAnswer: (reason) => this.key.wrongAnswer(reason),
    })
  }

  /** The node's process ends and starts with what its log has. */
  restart(): void {
    this.signer = this.#makeSigner()
  }

  connect(
    signer: TestSigner,
    identity: Uint8Array = NO_IDENTITY,
  ): { readonly remote: RemoteSigner; isClosed: boolean } {
    const reader = new MessageReader()
    const questions: Uint8Array[] = []
    const link = {
      identity,
      name: 'test',
      send: (bytes: Uint8Array) => void questions.push(...reader.read(bytes)),
      close: () => {
        connection.isClosed = true
      },
    }
    const connection = { remote: this.key.connected(link), isClosed: false }
    this.#deliver.push(() => {
      for (const question of questions.splice(0)) {
        const answer = signer.answer(question)
        if (answer !== undefined) connection.remote.receive(answer)
      }
    })
    this.deliver()
    return connection
  }

  readonly #deliver: (() => void)[] = []

  deliver(): void {
    for (const each of this.#deliver) each()
  }

  /** Asks for a vote. @returns whether somebody was asked */
  vote(unsigned: UnsignedVote): boolean {
    const staged = this.signer.stageVote(unsigned)
    if (staged === undefined || !isAsked(staged)) return false
    staged.send((complete) => {
      const signed = complete()
      if (signed !== undefined) this.signed.push(signed)
    })
    this.deliver()
    return true
  }

  async pass(ms: number): Promise<void> {
    const endMs = this.clock.monotonicMs() + ms
    let isOver = false
    this.clock.setTimer(ms, () => {
      isOver = true
    })
    await this.clock.runUntil(
      () => isOver,
      async () => undefined,
    )
    expect(this.clock.monotonicMs()).toBeGreaterThanOrEqual(endMs)
  }

  async lost(): Promise<Readonly<Record<string, number>>> {
    const { values } = await this.metrics.lost.get()
    return Object.fromEntries(
      values.filter(({ value }) => value > 0).map(({ labels, value }) => [labels.reason, value]),
    )
  }
}

const isValid = (signed: Vote): boolean =>
  verifyEd25519(KEY.publicKey, voteSignBytes(CHAIN_ID, signed), signed.signature)

describe('a remote signer', () => {
  it('signs what others accept; the log has the question before and the signature after it', () => {
    const world = new World(undefined)
    world.connect(new TestSigner(KEY, CHAIN_ID))
    expect(world.key.publicKey).toEqual(KEY.publicKey)
    expect(world.available).toBe(1)
    expect(world.vote(vote(1, 0, 1))).toBe(true)
    expect(world.signed.map(isValid)).toEqual([true])
    expect(world.entries.map(({ kind }) => kind)).toEqual(['asked', 'vote'])
    const staged = world.signer.stageProposal(proposal(2))
    expect(staged !== undefined && isAsked(staged)).toBe(true)
  })

  it('that refuses is not asked again, nor is another one', async () => {
    const world = new World()
    const [first, second] = [new TestSigner(KEY, CHAIN_ID), new TestSigner(KEY, CHAIN_ID)]
    world.connect(first, IDENTITIES[0])
    world.connect(second, IDENTITIES[1])
    first.conduct = 'refuse'
    expect(world.vote(vote(1, 0, 1))).toBe(true)
    expect(world.vote(vote(1, 0, 1))).toBe(false)
    expect([first.asked, second.asked, world.signed]).toEqual([['1/0/2'], [], []])
    expect(await world.lost()).toMatchObject({ refused: 1 })
    first.conduct = 'sign'
    world.vote(vote(1, 0, 2))
    expect(world.signed.map(isValid)).toEqual([true])
  })

  it('that is silent loses the vote; another one is asked from the next step on', async () => {
    const world = new World()
    const [first, second] = [new TestSigner(KEY, CHAIN_ID), new TestSigner(KEY, CHAIN_ID)]
    const connection = world.connect(first, IDENTITIES[0])
    world.connect(second, IDENTITIES[1])
    first.conduct = 'silent'
    world.vote(vote(1, 0, 1))
    await world.pass(ANSWER_MS + 1)
    expect(await world.lost()).toEqual({ timeout: 1 })
    // Nobody is asked again.
    world.vote(vote(1, 0, 1))
    world.vote(vote(1, 0, 2))
    expect([first.asked, second.asked]).toEqual([['1/0/2'], ['1/0/3']])
    expect(world.signed.map(({ type }) => type)).toEqual([2])
    await world.pass(SILENCE_MS)
    expect(connection.isClosed).toBe(true)
  })

  it('may answer late', async () => {
    const world = new World()
    const slow = new TestSigner(KEY, CHAIN_ID)
    const connection = world.connect(slow)
    const answers: Uint8Array[] = []
    const answer = slow.answer.bind(slow)
    slow.answer = (question) => {
      answers.push(answer(question)!)
      return undefined
    }
    world.vote(vote(1, 0, 1))
    world.vote(vote(1, 0, 2))
    await world.pass(ANSWER_MS + 1)
    for (const late of answers) connection.remote.receive(late)
    expect(world.signed.map(({ type }) => type)).toEqual([1, 2])
    expect(world.entries.map(({ kind }) => kind)).toEqual(['asked', 'asked', 'vote', 'vote'])
    world.restart()
    expect(() => world.signer.stageVote(vote(1, 0, 1))).toThrow(DoubleSignError)
  })

  it('answers the engine that wanted the signature last', () => {
    const world = new World()
    const signer = new TestSigner(KEY, CHAIN_ID)
    world.connect(signer)
    const got: string[] = []
    for (const engine of ['stopped', 'present']) {
      const staged = world.signer.stageVote(vote(1, 0, 1))
      if (staged === undefined || !isAsked(staged)) throw new Error('nobody is asked')
      staged.send(() => got.push(engine))
    }
    world.deliver()
    expect([got, signer.asked]).toEqual([['present'], ['1/0/2']])
  })

  it('whose signature is wrong is not believed', async () => {
    const world = new World()
    const signer = new TestSigner(KEY, CHAIN_ID)
    world.connect(signer)
    signer.conduct = 'wrong signature'
    world.vote(vote(1, 0, 1))
    expect(world.signed).toEqual([])
    expect(world.entries.map(({ kind }) => kind)).toEqual(['asked'])
    expect(await world.lost()).toEqual({ wrong: 1 })
  })

  it.each([
    { what: 'of another chain', signer: new TestSigner(KEY, 'cosmoshub-4') },
    { what: 'with another consensus key', signer: new TestSigner(OTHER_KEY, CHAIN_ID) },
  ])('$what is not used', ({ signer }) => {
    const world = new World()
    expect(world.connect(signer).isClosed).toBe(true)
    expect(world.vote(vote(1, 0, 1))).toBe(false)
    expect(world.log).toEqual(['a remote signer is not used'])
  })

  it('that has signed a vote before gives it with the time of then', () => {
    const world = new World()
    const signer = new TestSigner(KEY, CHAIN_ID)
    world.connect(signer)
    world.vote(vote(3, 0, 1, 1000))
    world.entries.length = 0
    world.restart()
    world.vote(vote(3, 0, 1, 2000))
    expect(world.signed.map(({ timestampMs }) => timestampMs)).toEqual([1000, 1000])
    expect(world.signed.every(isValid)).toBe(true)
  })

  it('that sends what nobody asked for is hung up on', () => {
    const world = new World()
    const connection = world.connect(new TestSigner(KEY, CHAIN_ID))
    connection.remote.receive(Uint8Array.of(2, 0x42, 0))
    expect(connection.isClosed).toBe(true)
    expect(world.key.signerCount).toBe(0)
  })
})

describe('after a restart in the middle of a vote', () => {
  function interrupted(): World {
    const world = new World()
    const signer = new TestSigner(KEY, CHAIN_ID)
    const connection = world.connect(signer, IDENTITIES[0])
    signer.conduct = 'silent'
    world.vote(vote(1, 0, 1, 1000))
    world.key.disconnected(connection.remote)
    world.restart()
    return world
  }

  it('the same signer is asked for the same, with the time of before', () => {
    const world = interrupted()
    const signer = new TestSigner(KEY, CHAIN_ID)
    world.connect(signer, IDENTITIES[0])
    expect(world.vote(vote(1, 0, 1, 5000))).toBe(true)
    expect(world.signed.map(({ timestampMs }) => timestampMs)).toEqual([1000])
    expect(world.entries.map(({ kind }) => kind)).toEqual(['asked', 'vote'])
  })

  it('another signer is not asked for it, but for the next step', () => {
    const world = interrupted()
    const signer = new TestSigner(KEY, CHAIN_ID)
    world.connect(signer, IDENTITIES[1])
    expect(world.vote(vote(1, 0, 1, 5000))).toBe(false)
    expect(world.vote(vote(1, 0, 2, 5000))).toBe(true)
    expect(signer.asked).toEqual(['1/0/3'])
  })

  it('nothing else is asked for that step', () => {
    const world = interrupted()
    world.connect(new TestSigner(KEY, CHAIN_ID), IDENTITIES[0])
    const other = { ...vote(1, 0, 1), blockId: { ...BLOCK_ID, hash: new Uint8Array(32).fill(7) } }
    expect(() => world.signer.stageVote(other)).toThrow(DoubleSignError)
  })
})
