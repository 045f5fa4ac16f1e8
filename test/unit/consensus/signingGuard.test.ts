import { describe, expect, it } from 'vitest'
import { bytesToHex } from '../../../src/primitives/bytes.ts'
import { createNetwork, KEYS, type TestNetwork, TestNode } from './consensusHarness.ts'
import { MemoryDisk } from './memoryDisk.ts'
import { seededRandom } from './seededRandom.ts'

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
      await service.applyDecided({ block, blockId, seenCommit })
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
    expect(original.unknownSignatures.length + copy.unknownSignatures.length).toBeGreaterThan(0)
    // Evidence is offered until a block has it, and not again.
    const { height } = network.nodes[0]!
    const first = reported().length
    await network.until(() => network.nodes[0]!.height >= height + 8)
    const places = reported().map(({ height: at, validatorAddress }) => `${at}/${bytesToHex(validatorAddress)}`)
    expect(places.length).toBeGreaterThanOrEqual(first)
    expect(new Set(places).size).toBe(places.length)
  })
})
