import crypto from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { HANDSHAKE_LIMITS } from '../../../src/p2p/limits.ts'
import { nodeId } from '../../../src/p2p/nodeKey.ts'
import { concatBytes } from '../../../src/primitives/bytes.ts'
import { ed25519Address } from '../../../src/primitives/ed25519.ts'
import { closeNodes, counter, randomKey, startNode, type TestNode, until } from '../../support/p2p/testNode.ts'

const { strangers } = HANDSHAKE_LIMITS
const sockets: Socket[] = []

afterEach(async () => {
  vi.restoreAllMocks()
  for (const socket of sockets.splice(0)) socket.destroy()
  await closeNodes()
})

function line(text: string): Uint8Array {
  return concatBytes(Uint8Array.of(text.length), new TextEncoder().encode(text))
}

/** What makes the other side compute its keys: the negotiation of noise, and noise's whole first message. */
function startOfNoise(): Uint8Array {
  const message = new Uint8Array(crypto.randomBytes(32))
  return concatBytes(line('/multistream/1.0.0\n'), line('/noise\n'), Uint8Array.of(0, message.length), message)
}

/** Opens raw connections from other addresses of this machine than the one of the nodes; resolves when each is answered or closed. */
async function flood({ peer }: TestNode, count: number): Promise<void> {
  const each = Array.from({ length: count }, (_, index) => {
    const localAddress = `127.0.1.${1 + (index % 250)}`
    const socket = connect({ ...peer.address, localAddress })
    sockets.push(socket)
    let received = 0
    return new Promise<void>((resolve) => {
      socket.on('connect', () => socket.write(startOfNoise()))
      socket.on('data', (bytes) => {
        received += bytes.length
        // More than the answers to the negotiation: noise's second message has come.
        if (received > 100) resolve()
      })
      socket.on('error', () => resolve())
      socket.on('close', () => resolve())
    })
  })
  await Promise.all(each)
}

const resultsOf = async (node: TestNode) => {
  const metric = await node.registry.getSingleMetric('coind_p2p_inbound_connections_total')!.get()
  return Object.fromEntries(metric.values.map(({ labels, value }) => [labels['result'], value]))
}

const pendingStrangers = (node: TestNode) => counter(node, 'coind_p2p_pending_handshakes', { from: 'strangers' })

// Only Linux has all of 127.0.0.0/8 on its loopback interface.
describe.skipIf(process.platform !== 'linux')('a flood of half handshakes', () => {
  test('costs no more cryptography than there are places', async () => {
    // On a clock that stands still, so that no place becomes free.
    const node = await startNode({ now: () => 0 })
    const secrets = vi.spyOn(crypto, 'diffieHellman')
    await flood(node, 1_000)
    // Two for each: noise's second message has the products ee and es.
    expect(secrets.mock.calls.length).toBe(2 * strangers.pending)
    expect(await resultsOf(node)).toEqual({ admitted: strangers.pending, full: 1_000 - strangers.pending })
    expect(await pendingStrangers(node)).toBe(strangers.pending)
  })

  test('does not keep out a validator that was connected before', async () => {
    const [key, validatorKey] = [randomKey(), randomKey()]
    const node = await startNode()
    node.network.setValidators([ed25519Address(validatorKey.publicKey)])
    const validator = await startNode({ key, validatorKey, persistentPeers: [node.peer] })
    const { id } = validator.network
    await until('the validator is there', () => node.sessions.has(id))
    await validator.close()
    await until('the validator is gone', () => !node.sessions.has(id))

    await flood(node, 500)
    expect(await pendingStrangers(node)).toBe(strangers.pending)
    await startNode({ key, validatorKey, persistentPeers: [node.peer] })
    await until('the validator is back', () => node.sessions.has(id))
  })

  test('does not keep out a configured peer', async () => {
    const key = randomKey()
    const id = nodeId(key.publicKey)
    // Nobody listens there: the peer dials.
    const node = await startNode({ persistentPeers: [{ id, address: { host: '127.0.0.1', port: 1 } }] })
    await flood(node, 500)
    expect(await pendingStrangers(node)).toBe(strangers.pending)
    await startNode({ key, persistentPeers: [node.peer] })
    await until('the configured peer is there', () => node.sessions.has(id))
  })
})
