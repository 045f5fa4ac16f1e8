import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { encodeFrame } from '../../../src/p2p/frames.ts'
import { formatPeerAddress, type KnownPeer, readKnownPeer } from '../../../src/p2p/peerAddress.ts'
import { hasShare } from '../../../src/p2p/peerManager.ts'
import { PROTOCOLS } from '../../../src/p2p/protocols.ts'
import { ProtobufFields } from '../../../src/primitives/protobuf.ts'
import { type Attacker, closeAttackers, startAttacker } from '../../support/p2p/attacker.ts'
import {
  closeNodes,
  connectedPair,
  counter,
  randomKey,
  startNode,
  type TestNode,
  until,
} from '../../support/p2p/testNode.ts'

const directories: string[] = []
afterEach(async () => {
  await closeAttackers()
  await closeNodes()
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true })
})

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'coind-sentries-'))
  directories.push(directory)
  return directory
}

/** What a node tells a peer that asks for others; undefined when it does not answer. */
async function askedBy(attacker: Attacker, target: TestNode): Promise<readonly KnownPeer[] | undefined> {
  const connection =
    attacker.host.getConnections().find(({ status }) => status === 'open') ?? (await attacker.join(target))
  try {
    const stream = await connection.newStream(PROTOCOLS.peers)
    stream.send(encodeFrame(Uint8Array.of(0)))
    await stream.close()
    const chunks: Uint8Array[] = []
    for await (const chunk of stream) chunks.push(chunk.subarray())
    const bytes = new Uint8Array(Buffer.concat(chunks))
    return new ProtobufFields(bytes.subarray(4)).repeatedMessage(2, readKnownPeer)
  } catch {
    return undefined
  }
}

/** The address book, as it is on the disk after the node has ended. */
async function bookAfter(node: TestNode): Promise<string> {
  await node.close()
  try {
    return readFileSync(join(node.directory, 'addrbook.json'), 'utf8')
  } catch {
    return ''
  }
}

describe('a validator behind a sentry', () => {
  test('is known to its sentry alone: not in books, answers and net_info, and shows its proof to nobody else', async () => {
    const validatorKey = randomKey()
    const key = randomKey()
    const sentryKey = randomKey()
    const sentryDirectory = temporaryDirectory()
    const validator = await startNode({
      key,
      validatorKey,
      policy: { exchangesPeers: false },
      externalAddress: 'secret.example:1',
    })
    const sentry = await startNode({
      key: sentryKey,
      directory: sentryDirectory,
      persistentPeers: [validator.peer],
      policy: { privateIds: new Set([validator.network.id]) },
      counts: { wanted: 4, inbound: 1, outbound: 4 },
    })
    await until('the sentry has its validator', () => sentry.sessions.has(validator.network.id))
    // Announced by itself in no way that could be told on.
    expect(sentry.sessions.get(validator.network.id)!.hello).toMatchObject({ externalAddress: '', listenPort: 0 })

    const other = await startNode({ persistentPeers: [sentry.peer], directory: temporaryDirectory() })
    await until('the sentry has another peer', () => sentry.sessions.has(other.network.id))
    const attacker = await startAttacker()
    // There is no place: a refusal names peers.
    const { answer } = await attacker.greet(sentry)
    const named = answer?.kind === 'refusal' ? answer.refusal.peers : []
    expect(named.map(({ id }) => id)).toEqual([other.network.id])
    expect(sentry.network.netInfo().peers.map(({ node }) => node.id)).toEqual([other.network.id])

    // Somebody who finds the validator's port learns nothing there.
    const { answer: hello } = await attacker.greet(validator)
    expect(hello).toMatchObject({
      kind: 'hello',
      hello: { validator: undefined, externalAddress: '', listenPort: 0 },
    })
    expect(sentry.sessions.get(validator.network.id)!.hello.validator).toBeUndefined()

    const books = await Promise.all([bookAfter(sentry), bookAfter(other), bookAfter(validator)])
    for (const book of books) expect(book).not.toContain(validator.network.id)
    expect(books[1]).toContain(sentry.network.id)
    expect(books[2]).toBe('')
  })

  test('shows its proof to peers that its operator has named', async () => {
    const validatorKey = randomKey()
    const sentry = await startNode()
    const validator = await startNode({
      validatorKey,
      persistentPeers: [sentry.peer],
      policy: { exchangesPeers: false },
    })
    await until('they are connected', () => sentry.sessions.has(validator.network.id))
    expect(sentry.sessions.get(validator.network.id)!.validatorAddress).toHaveLength(20)
  })

  test('neither asks nor answers nor dials whom it is told of', async () => {
    const [validator, sentry] = [
      await startNode({ policy: { exchangesPeers: false }, counts: { wanted: 4, inbound: 0, outbound: 4 } }),
      await startNode(),
    ]
    const third = await startNode({ persistentPeers: [sentry.peer] })
    await until('the sentry has a peer', () => sentry.sessions.has(third.network.id))
    await validator.close()
    const again = await startNode({ persistentPeers: [sentry.peer], policy: { exchangesPeers: false } })
    await until('they are connected', () => again.sessions.has(sentry.network.id))
    const attacker = await startAttacker()
    expect(await askedBy(attacker, again)).toBeUndefined()
    again.clockMs += 60_000
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    expect(await counter(sentry, 'coind_p2p_received_messages_total', { protocol: 'peers' })).toBe(1)
    expect(again.sessions.has(third.network.id)).toBe(false)
  })
})

describe('places', () => {
  test('are there for unconditional peers, however many others there are', async () => {
    const key = randomKey()
    const stranger = await startAttacker()
    const named = await startAttacker({ key })
    const node = await startNode({
      counts: { wanted: 1, inbound: 1, outbound: 1 },
      policy: { unconditionalIds: new Set([named.id]) },
    })
    await stranger.join(node)
    const { answer } = await (await startAttacker()).greet(node)
    expect(answer?.kind).toBe('refusal')
    await named.join(node)
    expect(node.sessions.get(named.id)).toMatchObject({ isConfigured: true })
  })

  test.each<[string, readonly string[], string, number, boolean]>([
    ['of an address that has none', ['8.8.8.8', '8.9.8.8'], '1.1.1.1', 40, true],
    ['of an address that has its share', Array(4).fill('8.8.8.8'), '8.8.8.8', 40, false],
    ['of an IPv6 /64 that has its share', ['2a00::1', '2a00::2', '2a00::3', '2a00::4'], '2a00::5', 40, false],
    ['of another /64', ['2a00::1', '2a00::2', '2a00::3', '2a00::4'], '2a00:0:0:1::5', 40, true],
    ['of a /16 that has its share', Array.from({ length: 10 }, (_, i) => `8.8.${i}.1`), '8.8.99.1', 40, false],
    [
      'of a /48 that has its share',
      Array.from({ length: 10 }, (_, i) => `2a00:0:0:${i}::1`),
      '2a00:0:0:99::1',
      40,
      false,
    ],
    ['of a private network', Array(30).fill('10.0.0.1'), '10.0.0.1', 40, true],
    ['of this machine', Array(30).fill('127.0.0.1'), '127.0.0.1', 40, true],
    ['of an IPv4 address on a socket for IPv6', Array(4).fill('::ffff:8.8.8.8'), '8.8.8.8', 40, false],
  ])('%s', (_, hosts, host, places, isFree) => {
    expect(hasShare(hosts, host, places)).toBe(isFree)
  })
})

describe('seeds', () => {
  test('are asked once, told to nobody, and lead to peers', async () => {
    const seed = await startNode({ policy: { isSeed: true } })
    const first = await startNode({ policy: { seeds: [seed.peer] } })
    const second = await startNode({ policy: { seeds: [seed.peer] } })
    await until('the two are connected', () => {
      // Seeds are asked again after a pause.
      for (const node of [seed, first, second]) node.clockMs += 200
      return first.sessions.has(second.network.id) && second.sessions.has(first.network.id)
    })
    await until('the seed has hung up', () => seed.network.peerCount + seed.sessions.size === 0)
    expect(first.sessions.size + second.sessions.size).toBe(2)
    const books = await Promise.all([first, second].map(bookAfter))
    for (const book of books) expect(book).not.toContain(seed.network.id)
  })

  test('that are ordinary nodes stay peers', async () => {
    const seed = await startNode()
    const node = await startNode({ policy: { seeds: [seed.peer] } })
    await until('they are connected', () => seed.sessions.has(node.network.id) && node.sessions.has(seed.network.id))
    expect(node.sessions.get(seed.network.id)).toMatchObject({ isConfigured: false, isVisit: false })
  })

  test('that nobody has named as such are dropped from the book', async () => {
    const seed = await startNode({ policy: { isSeed: true } })
    const directory = temporaryDirectory()
    const known = { id: seed.peer.id, address: formatPeerAddress(seed.peer.address), isValidator: false }
    const file = { version: 1, peers: [{ ...known, reachedMs: 1, failures: 0 }] }
    writeFileSync(join(directory, 'addrbook.json'), JSON.stringify(file))
    const node = await startNode({ directory })
    await until('it has hung up', () =>
      node.log.some(({ msg, peer }) => msg === 'peer disconnected' && peer === known.id),
    )
    expect(await bookAfter(node)).not.toContain(known.id)
  })

  test('are not visited by a node that has its persistent peers', async () => {
    const seed = await startNode()
    const [a] = await connectedPair({}, { policy: { seeds: [seed.peer], exchangesPeers: false } })
    await new Promise((resolve) => setTimeout(resolve, 1_200))
    expect([seed.sessions.size, a.sessions.size]).toEqual([0, 1])
  })

  test('stay connected to their persistent peers', async () => {
    const [a, seed] = await connectedPair({}, { policy: { isSeed: true } })
    expect(a.sessions.get(seed.network.id)).toMatchObject({ isVisit: false })
    const attacker = await startAttacker()
    const { answer, connection } = await attacker.greet(seed)
    expect(answer).toMatchObject({ kind: 'hello', hello: { isVisit: true, listenPort: 0 } })
    // One that asks nothing is not kept for long.
    await until('it has to go', () => {
      seed.clockMs += 500
      return connection.status !== 'open'
    })
    await until('the peer is there', () => seed.sessions.has(a.network.id))
  })
})

test('a peer gets one answer in an interval, and cannot have more of them at once', async () => {
  const node = await startNode()
  const attacker = await startAttacker()
  await attacker.join(node)
  node.frozenMs = performance.now()
  expect(await askedBy(attacker, node)).toEqual([])
  const early = askedBy(attacker, node)
  const others = Array.from({ length: 5 }, () => askedBy(attacker, node))
  expect(await Promise.all(others)).toEqual(Array(5).fill(undefined))
  const isAnswered = await Promise.race([early.then(() => true), new Promise((resolve) => setTimeout(resolve, 300))])
  expect(isAnswered).toBeUndefined()
  expect(await counter(node, 'coind_p2p_received_messages_total', { protocol: 'peers' })).toBe(1)
})
