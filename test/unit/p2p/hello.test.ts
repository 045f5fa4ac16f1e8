import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  createValidatorProof,
  decodeHandshakeMessage,
  differenceOf,
  encodeHandshakeMessage,
  type Hello,
  provenValidator,
} from '../../../src/p2p/hello.ts'
import { ed25519Address } from '../../../src/primitives/ed25519.ts'
import { ProtobufError } from '../../../src/primitives/protobuf.ts'
import { randomKey } from '../../support/p2p/testNode.ts'

const HELLO: Hello = {
  protocolVersion: 1,
  genesisHash: new Uint8Array(32).fill(1),
  chainId: 'coin_7628-1',
  version: '0.4.0',
  moniker: 'Köln 1',
  externalAddress: 'node.example:26656',
  listenPort: 26_656,
  rpcAddress: 'https://rpc.example',
  base: 7,
  height: 2 ** 40,
  validator: undefined,
  isVisit: false,
  instance: new Uint8Array(16).fill(2),
}

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
const text = fc.string({ maxLength: 60 }).filter((value) => /^[^\p{C}]*$/u.test(value))
const anyHello: fc.Arbitrary<Hello> = fc.record({
  protocolVersion: fc.nat(),
  genesisHash: bytes(32),
  chainId: text,
  version: text,
  moniker: text,
  externalAddress: text,
  listenPort: fc.nat(65_535),
  rpcAddress: text,
  base: fc.maxSafeNat(),
  height: fc.maxSafeNat(),
  validator: fc.option(fc.record({ publicKey: bytes(32), signature: bytes(64) }), { nil: undefined }),
  isVisit: fc.boolean(),
  instance: bytes(16),
})

describe('handshake messages', () => {
  test('come back as they were', () => {
    fc.assert(
      fc.property(anyHello, (hello) => {
        expect(decodeHandshakeMessage(encodeHandshakeMessage({ kind: 'hello', hello }))).toEqual({
          kind: 'hello',
          hello,
        })
      }),
    )
    const peers = [{ id: 'ab'.repeat(20), address: '[::1]:1', isValidator: true }]
    const refusal = { reason: 'no place', peers }
    expect(decodeHandshakeMessage(encodeHandshakeMessage({ kind: 'refusal', refusal }))).toEqual({
      kind: 'refusal',
      refusal,
    })
  })

  test('no bytes do anything but decode or fail as they should', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (input) => {
        try {
          decodeHandshakeMessage(input)
        } catch (error) {
          expect(error).toBeInstanceOf(ProtobufError)
        }
      }),
    )
  })

  test.each([
    ['a control character in the moniker', { moniker: 'a\u0007b' }],
    ['a line that is too long', { moniker: 'a'.repeat(300) }],
    ['a short genesis hash', { genesisHash: new Uint8Array(31) }],
    ['a port that is none', { listenPort: 65_536 }],
    ['a negative height', { height: -1 }],
    ['half a proof', { validator: { publicKey: new Uint8Array(32).fill(1), signature: new Uint8Array(3) } }],
    ['a short instance', { instance: new Uint8Array(1) }],
  ])('refuse %s', (_, change) => {
    const message = encodeHandshakeMessage({ kind: 'hello', hello: { ...HELLO, ...change } })
    expect(() => decodeHandshakeMessage(message)).toThrow(ProtobufError)
  })
})

test.each([
  ['nothing', {}, undefined],
  ['moniker, height and addresses', { moniker: 'x', height: 1, externalAddress: '', version: '9' }, undefined],
  ['the protocol', { protocolVersion: 2 }, 'it speaks version 2 of the peer protocol, this node version 1'],
  ['the chain', { chainId: 'coin_1-1' }, 'it is of chain coin_1-1, this node of coin_7628-1'],
  ['the genesis', { genesisHash: new Uint8Array(32) }, /^its genesis is 0x00+, this node's 0x(01)+$/],
])('nodes that differ in %s', (_, change, expected) => {
  const difference = differenceOf(HELLO, { ...HELLO, ...change })
  if (expected instanceof RegExp) expect(difference).toMatch(expected)
  else expect(difference).toBe(expected)
})

test('the proof of a validator holds for one node key and one genesis', () => {
  const [key, node, genesis] = [randomKey(), randomKey().publicKey, new Uint8Array(32).fill(5)]
  const proof = createValidatorProof(key, node, genesis)
  expect(provenValidator(proof, node, genesis)).toEqual(ed25519Address(key.publicKey))
  expect(provenValidator(proof, randomKey().publicKey, genesis)).toBeUndefined()
  expect(provenValidator(proof, node, new Uint8Array(32))).toBeUndefined()
  expect(provenValidator({ ...proof, publicKey: randomKey().publicKey }, node, genesis)).toBeUndefined()
})
