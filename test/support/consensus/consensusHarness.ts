import { encodeBlock } from '../../../src/chain/comet/block.ts'
import { encodeCommit } from '../../../src/chain/comet/commit.ts'
import type { BlockId, Evidence, Vote } from '../../../src/chain/comet/types.ts'
import { createRankedSet } from '../../../src/chain/comet/validatorSet.ts'
import { proposalSignBytes } from '../../../src/chain/comet/vote.ts'
import type { Application } from '../../../src/consensus/application.ts'
import type { Clock } from '../../../src/consensus/clock.ts'
import { type ConsensusKey, localKey } from '../../../src/consensus/consensusKey.ts'
import {
  type ConsensusService,
  type DecidedEvent,
  openConsensusService,
} from '../../../src/consensus/consensusService.ts'
import type { EngineChain } from '../../../src/consensus/consensusState.ts'
import type { EvidenceStore } from '../../../src/consensus/evidenceStore.ts'
import {
  type ConsensusMessage,
  decodeConsensusMessage,
  encodeConsensusMessage,
} from '../../../src/consensus/messages.ts'
import type { RoundEvent } from '../../../src/consensus/roundEvents.ts'
import type { BlockRequest, FetchedBlocks } from '../../../src/consensus/transport.ts'
import { type ValidatorKey, validatorKey } from '../../../src/consensus/validatorKey.ts'
import { ValidatorKeys } from '../../../src/consensus/validatorKeys.ts'
import { bytesToHex, equalBytes } from '../../../src/primitives/bytes.ts'
import { verifyEd25519 } from '../../../src/primitives/ed25519.ts'
import { FakeApplication } from './fakeApplication.ts'
import { MemoryDisk } from './memoryDisk.ts'
import { VirtualClock } from './virtualClock.ts'

export const CHAIN: EngineChain = {
  chainId: 'coin_76287-1',
  genesisHash: new Uint8Array(32).fill(0x76),
  genesisTimeMs: 1_790_000_000_000,
  appVersion: 0,
  params: { maxBytes: 2_000_000, maxGas: 30_000_000 },
  intervalMs: 400,
  timing: {
    proposeTimeoutMs: 700,
    proposeTimeoutDeltaMs: 200,
    voteTimeoutMs: 200,
    voteTimeoutDeltaMs: 100,
    precisionMs: 500,
    messageDelayMs: 3000,
  },
  evidence: { maxAgeBlocks: 100_000, maxAgeMs: 172_800_000, maxBytes: 100_000 },
}

export const KEYS = Array.from({ length: 7 }, (_, index) => validatorKey(new Uint8Array(32).fill(index + 42)))
export const KEY = KEYS[0]!

/** Where the logs are on their disks. */
export const WAL = '/wal'

/** Waits until all pending promises and their consequences have run. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

export interface NodeSettings {
  readonly key: ValidatorKey
  /** to which it rotates */
  readonly nextKeys?: readonly ValidatorKey[]
  /** in place of `key` in the node's process: a remote signer that has it */
  readonly remoteKey?: ConsensusKey
  readonly network: TestNetwork
  readonly disk?: MemoryDisk
  readonly application?: FakeApplication
  readonly segmentBytes?: number
  readonly chain?: EngineChain
}

/** A node with consensus alone, which can be killed and started again. */
export class TestNode {
  readonly settings: NodeSettings
  readonly id: string
  disk: MemoryDisk
  application: FakeApplication
  service: ConsensusService | undefined
  readonly events: DecidedEvent[] = []
  readonly decidedAtMs: number[] = []
  readonly warnings: string[] = []
  readonly logged: string[] = []
  readonly sent: ConsensusMessage[] = []
  readonly unknownSignatures: Vote[] = []
  readonly published: Evidence[] = []
  readonly behind: number[] = []
  /** gathered while they are wanted */
  readonly roundEvents: RoundEvent[] = []
  wantsRoundEvents = false
  readonly evidence = memoryStore()
  halted: Error | undefined
  /** height of the mark that the directory has as a copy */
  copyHeight: number | undefined
  /** counts starts: what an earlier process left under way has no effect */
  #life = 0

  constructor(settings: NodeSettings) {
    const { network, disk, application } = settings
    this.settings = settings
    this.id = `node${network.nodes.length}`
    this.disk = disk ?? new MemoryDisk()
    this.application = application ?? new FakeApplication(network.validators)
    network.nodes.push(this)
  }

  get height(): number {
    return this.application.blocks.length
  }

  async open(): Promise<ConsensusService> {
    const { network, key, nextKeys = [], remoteKey = localKey(key), segmentBytes, chain = CHAIN } = this.settings
    const life = ++this.#life
    const isAlive = () => this.#life === life
    this.halted = undefined
    const service = await openConsensusService({
      application: mortal(this.application, isAlive),
      keys: new ValidatorKeys([remoteKey, ...nextKeys.map(localKey)]),
      chain,
      clock: mortalClock(network.clock, isAlive),
      wal: {
        directory: WAL,
        randomBytes: (length) => new Uint8Array(length).fill(life),
        warn: (message) => this.warnings.push(message),
        disk: this.disk,
        ...(segmentBytes === undefined ? {} : { segmentBytes }),
      },
      transport: {
        send: (to, message) => {
          if (!isAlive()) return
          this.sent.push(message)
          network.signed.see(key, message)
          for (const id of to) network.deliver(this, id, message)
        },
        publishEvidence: (evidence) => void this.published.push(evidence),
        punish: (peer, what, reason) => network.punished.push({ peer, what, reason }),
        fetchBlocks: (peer, request) => network.fetch(this, peer, request),
      },
      evidenceStore: this.evidence,
      copy:
        this.copyHeight === undefined
          ? undefined
          : {
              height: this.copyHeight,
              remove: () => {
                this.copyHeight = undefined
              },
            },
      onDecided: (event) => {
        this.events.push(event)
        this.decidedAtMs.push(network.clock.monotonicMs())
      },
      onHalt: (error) => {
        this.halted = error
      },
      onBehind: (height) => this.behind.push(height),
      onUnknownSignature: (vote) => this.unknownSignatures.push(vote),
      onTimedProposal: () => undefined,
      roundEvents: {
        isWanted: () => this.wantsRoundEvents,
        publish: (event) => isAlive() && this.roundEvents.push(event),
      },
      log: (message) => this.logged.push(message),
    })
    this.service = service
    return service
  }

  async start(): Promise<void> {
    const service = await this.open()
    service.startEngine()
    this.settings.network.connect(this)
  }

  async stop(): Promise<void> {
    const { service } = this
    if (service === undefined) return
    this.service = undefined
    this.settings.network.disconnect(this)
    await service.close()
    this.#life++
  }

  /** The process ends as it is (`all`), or the machine loses its power (`durable`). */
  kill(what: 'all' | 'durable'): void {
    this.#life++
    this.service = undefined
    this.disk = this.disk.copy(what)
    this.settings.network.disconnect(this)
  }
}

function memoryStore(): EvidenceStore {
  const texts = new Map<string, string>()
  return {
    read: () => [...texts].map(([name, text]) => ({ name, text })),
    write: (name, text) => void texts.set(name, text),
    remove: (name) => void texts.delete(name),
  }
}

/** An application whose answers never reach a dead process. */
function mortal(application: FakeApplication, isAlive: () => boolean): Application {
  const alive = async <T>(run: () => Promise<T>): Promise<T> => {
    if (!isAlive()) return new Promise(() => {})
    const result = await run()
    return isAlive() ? result : new Promise(() => {})
  }
  return {
    info: () => application.info(),
    prepareProposal: (request, budgetMs) => alive(() => application.prepareProposal(request, budgetMs)),
    checkEvidence: (evidence) => alive(() => application.checkEvidence(evidence)),
    processProposal: (block, budgetMs) => alive(() => application.processProposal(block, budgetMs)),
    finalizeBlock: (decided) => alive(() => application.finalizeBlock(decided)),
  }
}

function mortalClock(clock: VirtualClock, isAlive: () => boolean): Clock {
  return {
    nowMs: () => clock.nowMs(),
    monotonicMs: () => clock.monotonicMs(),
    setTimer: (delayMs, run) => clock.setTimer(delayMs, () => isAlive() && run()),
  }
}

/** What the validators have signed and sent, over all lives of their nodes. */
class SignedMessages {
  readonly #blocks = new Map<string, string>()
  /** height, round and kind for which one key has signed two blocks */
  readonly conflicts: string[] = []

  get size(): number {
    return this.#blocks.size
  }

  see(key: ValidatorKey, message: ConsensusMessage): void {
    if (message.kind === 'vote') {
      const { vote } = message
      if (!equalBytes(vote.validatorAddress, key.address)) return
      this.#add(key, `${vote.height}/${vote.round}/${vote.type}`, vote.blockId)
    } else if (message.kind === 'proposal') {
      const { proposal } = message
      const bytes = proposalSignBytes(CHAIN.chainId, proposal)
      if (!verifyEd25519(key.publicKey, bytes, proposal.signature)) return
      this.#add(key, `${proposal.height}/${proposal.round}/proposal`, proposal.blockId)
    }
  }

  #add({ address }: ValidatorKey, step: string, blockId: BlockId): void {
    const place = `${bytesToHex(address)}/${step}`
    const block = bytesToHex(blockId.hash)
    const known = this.#blocks.get(place)
    if (known === undefined) this.#blocks.set(place, block)
    else if (known !== block) this.conflicts.push(place)
  }
}

/** Nodes joined by a network without loss; every pair is connected. */
export class TestNetwork {
  readonly nodes: TestNode[] = []
  readonly signed = new SignedMessages()
  readonly clock: VirtualClock
  readonly validators
  readonly punished: { readonly peer: string; readonly what: string; readonly reason: string }[] = []
  latencyMs: (from: TestNode, to: TestNode) => number = () => 20
  /** whether a message gets lost */
  loses: (from: TestNode, to: TestNode, message: ConsensusMessage) => boolean = () => false
  readonly #connected = new Set<TestNode>()

  constructor(keys: readonly ValidatorKey[], startMs = CHAIN.genesisTimeMs + 1000) {
    this.clock = new VirtualClock(startMs)
    this.validators = createRankedSet(keys.map(({ publicKey }) => ({ publicKey, power: 10n })))
  }

  connect(node: TestNode): void {
    for (const other of this.#connected) {
      other.service?.events.peerJoined(describe(node))
      node.service?.events.peerJoined(describe(other))
    }
    this.#connected.add(node)
  }

  disconnect(node: TestNode): void {
    if (!this.#connected.delete(node)) return
    for (const other of this.#connected) other.service?.events.peerLeft(node.id)
  }

  deliver(from: TestNode, id: string, message: ConsensusMessage): void {
    const to = this.nodes.find((node) => node.id === id)!
    if (!this.#connected.has(to) || this.loses(from, to, message)) return
    const bytes = encodeConsensusMessage(message)
    this.clock.setTimer(this.latencyMs(from, to), () => {
      if (this.#connected.has(from) && this.#connected.has(to)) {
        to.service?.events.message(from.id, decodeConsensusMessage(bytes))
      }
    })
  }

  fetch(from: TestNode, id: string, { from: height }: BlockRequest): Promise<FetchedBlocks> {
    const peer = this.nodes.find((node) => node.id === id)!
    const { promise, resolve } = Promise.withResolvers<FetchedBlocks>()
    this.clock.setTimer(2 * this.latencyMs(from, peer), () => {
      const stored = peer.application.blocks[height - 1]
      const blocks =
        stored === undefined ? [] : [{ block: encodeBlock(stored.block), commit: encodeCommit(stored.seenCommit) }]
      resolve({ base: 1, height: peer.height, blocks })
    })
    return promise
  }

  /** Time passes until then. */
  until(isDone: () => boolean, maxMs?: number): Promise<void> {
    return this.clock.runUntil(isDone, settle, maxMs)
  }
}

function describe(node: TestNode) {
  return { id: node.id, validatorAddress: node.settings.key.address, base: 1, height: node.height }
}

/** A network of that many validators of equal power, not started. */
export function createNetwork(size: number, settings: Partial<NodeSettings> = {}): TestNetwork {
  const keys = KEYS.slice(0, size)
  const network = new TestNetwork(keys)
  for (const key of keys) new TestNode({ key, network, ...settings })
  return network
}

/** One validator, not started. */
export function createSolo(settings: Partial<NodeSettings> = {}): TestNode {
  const network = settings.network ?? new TestNetwork([KEY])
  return new TestNode({ key: KEY, network, ...settings })
}

/** Starts it, waits for the height, stops. */
export async function runUntil(node: TestNode, height: number): Promise<TestNode> {
  await node.start()
  await node.settings.network.until(() => node.height >= height || node.halted !== undefined)
  if (node.halted !== undefined) throw node.halted
  await node.stop()
  return node
}
