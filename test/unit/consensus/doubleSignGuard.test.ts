import { describe, expect, it } from 'vitest'
import { stateFromInfo } from '../../../src/consensus/consensusState.ts'
import { DoubleSignGuard } from '../../../src/consensus/doubleSignGuard.ts'
import { Recovery } from '../../../src/consensus/recovery.ts'
import { HEADER_LENGTH } from '../../../src/consensus/walSegment.ts'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { CHAIN, createNetwork, KEYS, type TestNetwork, TestNode } from '../../support/consensus/consensusHarness.ts'
import { FakeApplication } from '../../support/consensus/fakeApplication.ts'
import { MemoryDisk } from '../../support/consensus/memoryDisk.ts'
import { seededRandom } from '../../support/consensus/seededRandom.ts'

/** Heights of the votes that the node has sent with its own key, oldest first. */
function signedHeights(node: TestNode): number[] {
  const own = bytesToHex(node.settings.key.address)
  return node.sent.flatMap((message) =>
    message.kind === 'vote' && bytesToHex(message.vote.validatorAddress) === own ? [message.vote.height] : [],
  )
}

async function started(size: number): Promise<TestNetwork> {
  const network = createNetwork(size)
  for (const node of network.nodes) await node.start()
  return network
}

function everyReached(network: TestNetwork, height: number, maxMs?: number): Promise<void> {
  return network.until(() => network.nodes.every((node) => node.height >= height), maxMs)
}

const KEEPS_STILL = 'this validator signs nothing until a height is decided that it may have signed already'

describe('the guard', () => {
  const { address } = KEYS[0]!
  const blockId = { hash: new Uint8Array(32).fill(1), partSetHeader: { total: 1, hash: new Uint8Array(32).fill(2) } }
  const signature = new Uint8Array(64).fill(3)
  const place = { height: 7, blockId, timestampMs: 1, signature }

  it.each([
    { what: 'the precommit in the commit', last: { type: 2 as const, round: 1 }, abstains: false },
    { what: 'one of a later round', last: { type: 1 as const, round: 2 }, abstains: false },
    { what: 'the prevote before it', last: { type: 1 as const, round: 1 }, abstains: true },
    { what: 'the precommit of an earlier round', last: { type: 2 as const, round: 0 }, abstains: true },
    { what: 'nothing of the height', last: { type: 2 as const, round: 9, height: 6 }, abstains: true },
  ])('with $what in the log abstains: $abstains', async ({ last, abstains }) => {
    const recovery = new Recovery(CHAIN.chainId, 7)
    recovery.add({ kind: 'vote', vote: { ...place, ...last, validatorAddress: address, validatorIndex: 0 } })
    const guard = new DoubleSignGuard([address], recovery, false)
    const signatures = [{ flag: 2 as const, validatorAddress: address, timestampMs: 1, signature }]
    guard.inspect({ height: 7, round: 1, blockId, signatures })
    const info = await new FakeApplication(createNetwork(4).validators).info()
    const state = { ...stateFromInfo(CHAIN, info), lastHeight: 7 }
    expect(guard.check(state)?.throughHeight).toBe(abstains ? 8 : undefined)
    // Asked once.
    expect(guard.check(state)).toBeUndefined()
  })
})

describe('a validator whose log was deleted', () => {
  it('signs nothing before a height has been decided, and then goes on', async () => {
    const network = await started(4)
    await everyReached(network, 6)
    const node = network.nodes[3]!
    node.kill('all')
    node.disk = new MemoryDisk()
    node.sent.length = 0
    const open = node.height + 1
    await node.start()
    await everyReached(network, open + 6)
    expect(node.warnings).toContain(KEEPS_STILL)
    expect(Math.min(...signedHeights(node))).toBeGreaterThan(open)
    expect(network.signed.conflicts).toEqual([])
  })

  it('signs after a minute where nothing can be decided without it', async () => {
    const network = await started(3)
    await everyReached(network, 4)
    const node = network.nodes[2]!
    node.kill('all')
    node.disk = new MemoryDisk()
    const killedMs = network.clock.monotonicMs()
    const height = Math.max(...network.nodes.map((other) => other.height))
    await node.start()
    await everyReached(network, height + 5)
    expect(network.clock.monotonicMs() - killedMs).toBeGreaterThan(60_000)
    expect(node.warnings).toContain('nothing was decided for a minute: this validator signs again')
    expect(network.signed.conflicts).toEqual([])
  })

  it('keeps still for the whole minute, however often its engine is stopped and started', async () => {
    const network = await started(3)
    await everyReached(network, 4)
    const node = network.nodes[2]!
    node.kill('all')
    node.disk = new MemoryDisk()
    node.sent.length = 0
    await node.start()
    const beganMs = network.clock.monotonicMs()
    const pass = (ms: number) => {
      const endMs = network.clock.monotonicMs() + ms
      network.clock.setTimer(ms, () => undefined)
      return network.until(() => network.clock.monotonicMs() >= endMs)
    }
    for (let turn = 0; turn < 5; turn++) {
      await pass(10_000)
      expect(signedHeights(node)).toEqual([])
      await node.service!.stopEngine()
      // What it does not hear does not count.
      await pass(10_000)
      node.service!.startEngine()
    }
    const { height } = node
    await everyReached(network, height + 3)
    expect(network.clock.monotonicMs() - beganMs).toBeGreaterThan(110_000)
    expect(node.warnings.filter((warning) => warning === KEEPS_STILL)).toHaveLength(1)
    expect(network.signed.conflicts).toEqual([])
  })
})

describe('a validator whose database is older than its log', () => {
  it('comes to its own old messages by fetched blocks, and goes on where it was', async () => {
    const network = await started(4)
    await everyReached(network, 6)
    // One of four is away, so that nothing is decided without this node; then it is killed in the middle of a height.
    network.nodes[3]!.kill('all')
    const node = network.nodes[2]!
    for (let turn = 0; turn < 4; turn++) {
      await network.until(() => signedHeights(node).at(-1) === node.height + 1)
      node.kill('durable')
      const signed = signedHeights(node).at(-1)!
      node.application = node.application.at(node.height - 3)
      await node.start()
      const from = node.height
      await network.until(() => network.nodes.slice(0, 3).every((other) => other.height >= signed + 2))
      expect(node.height).toBeGreaterThan(from)
      expect(node.halted).toBeUndefined()
      expect(network.signed.conflicts).toEqual([])
    }
  })

  it('does so without the blocks in the log, too', async () => {
    const network = await started(4)
    await everyReached(network, 6)
    network.nodes[3]!.kill('all')
    const node = network.nodes[2]!
    await network.until(() => signedHeights(node).at(-1) === node.height + 1)
    const signed = signedHeights(node).at(-1)!
    node.kill('durable')
    // Of the log only the open height is left, as if the segments before had gone.
    const path = node.disk.names().at(-1)!
    const bytes = node.disk.content(path)
    const begin = endOfHeight(bytes, signed - 1)
    node.disk.put(path, Buffer.concat([bytes.subarray(0, HEADER_LENGTH), bytes.subarray(begin)]))
    node.application = node.application.at(node.height - 3)
    await node.start()
    expect(node.warnings.some((warning) => /older than the write-ahead log/.test(warning))).toBe(true)
    await network.until(() => network.nodes.slice(0, 3).every((other) => other.height >= signed + 2))
    expect(node.halted).toBeUndefined()
    expect(network.signed.conflicts).toEqual([])
  })
})

describe('a validator on an old copy of its directory', () => {
  it('signs nothing before a height has been decided', async () => {
    const network = await started(4)
    await everyReached(network, 5)
    const node = network.nodes[3]!
    const disk = node.disk.copy('all')
    const application = node.application.at(node.height)
    await everyReached(network, 14)
    node.kill('all')
    node.disk = disk
    node.application = application
    node.sent.length = 0
    const tip = Math.max(...network.nodes.map((other) => other.height))
    // The blocks between come as block sync brings them.
    const service = await node.open()
    for (const { block, blockId, seenCommit } of network.nodes[0]!.application.blocks.slice(
      application.blocks.length,
    )) {
      await service.applyDecided({ blocks: [{ block, blockId, seenCommit }], maxGas: service.state.params.maxGas })
    }
    service.startEngine()
    network.connect(node)
    await everyReached(network, tip + 6)
    expect(node.warnings).toContain(KEEPS_STILL)
    expect(Math.min(...signedHeights(node))).toBeGreaterThan(tip + 1)
    expect(network.signed.conflicts).toEqual([])
  })

  it('that was only down for a while signs at once', async () => {
    const network = await started(4)
    await everyReached(network, 5)
    const node = network.nodes[3]!
    node.kill('all')
    await network.until(() => network.nodes[0]!.height >= 15)
    await node.start()
    await everyReached(network, 20)
    expect(node.warnings).not.toContain(KEEPS_STILL)
  })
})

describe('two processes with one key', () => {
  it('are noticed by each other, and the evidence gets into a block', async () => {
    const network = await started(4)
    await everyReached(network, 3)
    const original = network.nodes[3]!
    const copy = new TestNode({
      key: KEYS[3]!,
      network,
      disk: original.disk.copy('all'),
      application: original.application.at(original.height),
    })
    // What they propose differs, as their pools do.
    copy.application.txsFor = () => [Uint8Array.of(1)]
    original.application.txsFor = () => [Uint8Array.of(2)]
    await copy.start()
    // While both see the same they say the same. Sooner or later they do not.
    const random = seededRandom(1)
    network.latencyMs = () => 5 + 60 * random()
    network.loses = () => random() < 0.1
    const reported = () =>
      network.nodes[0]!.application.blocks.flatMap(({ block }) => block.evidence.map(({ voteA }) => voteA))
    await network.until(() => reported().length > 0, 120_000)
    expect(bytesToHex(reported()[0]!.validatorAddress)).toBe(bytesToHex(KEYS[3]!.address))
    const { height: reportedAt } = network.nodes[0]!
    await network.until(() => [original, copy].every((node) => node.height >= reportedAt))
    expect(original.unknownSignatures.length).toBeGreaterThan(0)
    expect(copy.unknownSignatures.length).toBeGreaterThan(0)
    // Evidence is offered until a block has it, and not again.
    const { height } = network.nodes[0]!
    const first = reported().length
    await network.until(() => network.nodes[0]!.height >= height + 8)
    const places = reported().map(({ height: at, validatorAddress }) => `${at}/${bytesToHex(validatorAddress)}`)
    expect(places.length).toBeGreaterThanOrEqual(first)
    expect(new Set(places).size).toBe(places.length)
  })
})

/** Where a segment goes on after the end mark of a height. */
function endOfHeight(bytes: Uint8Array, height: number): number {
  const buffer = Buffer.from(bytes)
  for (let at = HEADER_LENGTH; at < bytes.length; at += 8 + buffer.readUInt32LE(at + 4)) {
    if (buffer[at + 8] === 7 && buffer.readUIntBE(at + 9, 6) === height) return at + 15
  }
  throw new Error(`the log has no end of height ${height}`)
}
