import { mkdtempSync, rmSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import type { SignerAddress } from '../../../../src/config/valueKind.ts'
import { systemClock } from '../../../../src/consensus/clock.ts'
import { RemoteKey } from '../../../../src/p2p/privval/remoteKey.ts'
import { SignerListener } from '../../../../src/p2p/privval/signerListener.ts'
import { ed25519Key } from '../../../../src/primitives/ed25519.ts'
import { createSignerMetrics } from '../../../../src/telemetry/metrics.ts'
import { dialNode, TestSigner } from '../../../support/p2p/privval/testSigner.ts'
import { until } from '../../../support/p2p/testNode.ts'

const CHAIN_ID = 'coin_76287-1'
const [KEY, NODE_KEY, ALLOWED, STRANGE] = [1, 2, 3, 4].map((byte) => ed25519Key(new Uint8Array(32).fill(byte))) as [
  ReturnType<typeof ed25519Key>,
  ReturnType<typeof ed25519Key>,
  ReturnType<typeof ed25519Key>,
  ReturnType<typeof ed25519Key>,
]
const TCP: SignerAddress = { kind: 'tcp', host: '127.0.0.1', port: 0 }

const TOO_MANY = 'too many connections to the port of remote signers: it is closed for a second'

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

async function listen(address: SignerAddress, allowedKeys?: readonly Uint8Array[]) {
  const log: string[] = []
  const note = (_fields: object, message: string) => void log.push(message)
  const remoteKey = new RemoteKey({
    chainId: CHAIN_ID,
    publicKey: undefined,
    clock: systemClock,
    metrics: createSignerMetrics(),
    log: { info: note, warn: note, error: note },
  })
  const listener = new SignerListener({
    address,
    allowedKeys,
    nodeKey: NODE_KEY,
    remoteKey,
    onFailure: (error) => void log.push(error.message),
    log: { warn: note },
  })
  await listener.open()
  ends.push(() => {
    listener.close()
    remoteKey.close()
  })
  return { listener, remoteKey, log }
}

function dial(...parameters: Parameters<typeof dialNode>): Socket {
  const socket = dialNode(...parameters)
  ends.push(() => socket.destroy())
  return socket
}

it('a signer with an allowed connection key says the consensus key', async () => {
  const { listener, remoteKey } = await listen(TCP, [ALLOWED.publicKey])
  dial(new TestSigner(KEY, CHAIN_ID), { port: listener.port! }, ALLOWED)
  expect(await remoteKey.whenKnown()).toEqual(KEY.publicKey)
})

it('one with another connection key is refused', async () => {
  const { listener, remoteKey, log } = await listen(TCP, [ALLOWED.publicKey])
  const socket = dial(new TestSigner(KEY, CHAIN_ID), { port: listener.port! }, STRANGE)
  await until('it is hung up on', () => socket.destroyed)
  expect(log).toEqual(['a remote signer is refused: its connection key is not in PRIV_VALIDATOR_SIGNER_KEYS'])
  expect(remoteKey.signerCount).toBe(0)
})

it('signers come over a Unix socket, also where a killed node has left one', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'coind-signer-'))
  ends.push(() => rmSync(directory, { recursive: true }))
  const path = join(directory, 'signer.sock')
  const former = await listen({ kind: 'unix', path })
  const { remoteKey } = await listen({ kind: 'unix', path })
  dial(new TestSigner(KEY, CHAIN_ID), { path }, STRANGE)
  expect(await remoteKey.whenKnown()).toEqual(KEY.publicKey)
  expect(former.remoteKey.signerCount).toBe(0)
})

it('a signer that connects again takes the place of its former connection', async () => {
  const { listener, remoteKey } = await listen(TCP, [ALLOWED.publicKey])
  const former = dial(new TestSigner(KEY, CHAIN_ID), { port: listener.port! }, ALLOWED)
  await remoteKey.whenKnown()
  dial(new TestSigner(KEY, CHAIN_ID), { port: listener.port! }, ALLOWED)
  await until('the former one is closed', () => former.destroyed)
  expect(remoteKey.signerCount).toBe(1)
})

it('a stranger that dials without end does not keep out a signer that comes back', async () => {
  const { listener, remoteKey, log } = await listen(TCP, [ALLOWED.publicKey])
  const port = listener.port!
  const former = dial(new TestSigner(KEY, CHAIN_ID), { port }, ALLOWED)
  await remoteKey.whenKnown()
  former.destroy()
  await until('the signer is gone', () => remoteKey.signerCount === 0)
  let refused = 0
  for (let count = 0; count < 60; count++) {
    const socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2' })
    socket.on('error', () => undefined)
    socket.on('close', () => refused++)
    ends.push(() => socket.destroy())
  }
  await until('strangers are hung up on', () => refused >= 20)
  dial(new TestSigner(KEY, CHAIN_ID), { port }, ALLOWED)
  await until('the signer is back', () => remoteKey.signerCount === 1)
  expect(log).not.toContain(TOO_MANY)
})

it('a flood of connections costs the port for a moment, and no signer', async () => {
  const { listener, remoteKey, log } = await listen(TCP, [ALLOWED.publicKey])
  const port = listener.port!
  const signer = dial(new TestSigner(KEY, CHAIN_ID), { port }, ALLOWED)
  await remoteKey.whenKnown()
  let refused = 0
  const sockets: Socket[] = []
  for (let count = 0; count < 400; count++) {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => refused++)
    sockets.push(socket)
    ends.push(() => socket.destroy())
    if (count % 20 === 19) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  await until('the port is closed', () => refused > 0, 5_000)
  expect(log).toContain(TOO_MANY)
  expect(signer.destroyed).toBe(false)
  expect(remoteKey.signerCount).toBe(1)
  for (const socket of sockets) socket.destroy()
  const other = new TestSigner(KEY, CHAIN_ID)
  const before = log.length
  let attempt: Socket | undefined
  await until('a signer gets in again', () => {
    if (log.slice(before).includes('a remote signer has connected')) return true
    if (attempt === undefined || attempt.destroyed) attempt = dial(other, { port }, ALLOWED)
    return false
  })
})
