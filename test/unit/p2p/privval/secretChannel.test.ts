import { createCipheriv, createPublicKey, diffieHellman, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { MerlinTranscript } from '../../../../src/p2p/privval/merlin.ts'
import {
  challengeOf,
  deriveSecrets,
  SecretChannel,
  SecretChannelError,
} from '../../../../src/p2p/privval/secretChannel.ts'
import { concatBytes } from '../../../../src/primitives/bytes.ts'
import { ed25519Key } from '../../../../src/primitives/ed25519.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'

/** CometBFT 0.38, p2p/conn/testdata/TestDeriveSecretsAndChallengeGolden.golden */
const SECRETS = [
  {
    shared: '9fe4a5a73df12dbd8659b1d9280873fe993caefec6b0ebc2686dd65027148e03',
    isLower: true,
    receive: '80a83ad6afcb6f8175192e41973aed31dd75e3c106f813d986d9567a4865eb2f',
    send: '96362a04f628a0666d9866147326898bb0847b8db8680263ad19e6336d4eed9e',
  },
  {
    shared: '0716764b370d543fee692af03832c16410f0a56e4ddb79604ea093b10bb6f654',
    isLower: false,
    receive: '84f2b1e8658456529a2c324f46c3406c3c6fecd5fbbf9169f60bed8956a8b03d',
    send: 'cba357ae33d7234520d5742102a2a6cdb39b7db59c14a58fa8aadd310127630f',
  },
  {
    shared: '358dd73aae2c5b7b94b57f950408a3c681e748777ecab2063c8ca51a63588fa8',
    isLower: false,
    receive: 'c2e2f664c8ee561af8e1e30553373be4ae23edecc8c6bd762d44b2afb7f2a037',
    send: 'd1563f428ac1c023c15d8082b2503157fe9ecbde4fb3493edd69ebc299b4970c',
  },
  {
    shared: '0958308bdb583e639dd399a98cd21077d834b4b5e30771275a5a73a62efcc7e0',
    isLower: false,
    receive: '523c0ae97039173566f7ab4b8f271d8d78feef5a432d618e58ced4f80f7c1696',
    send: 'c1b743401c6e4508e62b8245ea7c3252bbad082e10af10e80608084d63877977',
  },
  {
    shared: 'd93d134e72f58f177642ac30f36b2d3cd4720aa7e60feb1296411a9009cf4524',
    isLower: false,
    receive: '47a427bcc1ef6f0ce31dbf343bc8bbf49554b4dd1e2330fd97d0df23ecdbba10',
    send: '73e23adb7801179349ecf9c8cdf64d71d64a9f1145ba6730e5d029f99eaf8840',
  },
  {
    shared: '6104474c791cda24d952b356fb41a5d273c0ce6cc87d270b1701d0523cd5aa13',
    isLower: true,
    receive: '1cb4397b9e478430321af4647da2ccbef62ff8888542d31cca3f626766c8080f',
    send: '673b23318826bd31ad1a4995c6e5095c4b092f5598aa0a96381a3e977bc0eaf9',
  },
]

/** Of github.com/oasisprotocol/curve25519-voi, which CometBFT uses: the challenges of three handshakes. */
const CHALLENGES = [
  '56bb58c4919c9058ac2e9293a21f89f389f3f639579512677d63e931640d969e',
  '5a709c1a83e40f5ed042dc90fb4c04c66c97b915402cef74eb710ec8946699bb',
  'a7954e7684652b8d35a78754eca73bfb3e5ac809aa98aa4caec0b97c70c91005',
]

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
const hashOf = (text: string): Uint8Array => sha256(new TextEncoder().encode(text))

describe('a transcript', () => {
  it('gives the challenge of its specification', () => {
    const transcript = new MerlinTranscript('test protocol')
    transcript.append('some label', new TextEncoder().encode('some data'))
    expect(hex(transcript.challenge('challenge', 32))).toBe(
      'd5a21972d0d5fe320c0d263fac7fffb8145aa640af6e9bca177c03c7efcf0615',
    )
  })

  it('takes and gives more than one block', () => {
    const transcript = new MerlinTranscript('long')
    transcript.append(
      'data',
      Uint8Array.from({ length: 1000 }, (_, index) => index),
    )
    expect(hex(sha256(transcript.challenge('c', 400)))).toBe(
      'b0e81089d5b399ee4a7378c9d23758a94db934f0afc5bb2916ffff06cbec85b3',
    )
  })
})

describe('a handshake', () => {
  it.each(SECRETS)('derives the secrets of $shared as CometBFT', ({ shared, isLower, receive, send }) => {
    const secrets = deriveSecrets(new Uint8Array(Buffer.from(shared, 'hex')), isLower)
    expect([hex(secrets.receive), hex(secrets.send)]).toEqual([receive, send])
  })

  it('has the challenges of CometBFT', () => {
    const challenges = CHALLENGES.map((_, index) =>
      hex(challengeOf(hashOf(`lo${index}`), hashOf(`hi${index}`), hashOf(`dh${index}`))),
    )
    expect(challenges).toEqual(CHALLENGES)
  })

  it('proves the keys of both sides, in pieces of any size', () => {
    const { a, b, deliver } = pair()
    deliver(7)
    expect(a.remoteKey).toEqual(KEYS[1].publicKey)
    expect(b.remoteKey).toEqual(KEYS[0].publicKey)
  })

  it('refuses an ephemeral key of low order', () => {
    const channel = new SecretChannel(KEYS[0], () => undefined)
    const message = concatBytes(Uint8Array.of(34, 10, 32), new Uint8Array(32))
    expect(() => channel.receive(message)).toThrow(SecretChannelError)
  })

  it('decrypts no more of a stranger than an authentication takes', () => {
    const { channel, emptyFrame } = stranger()
    expect(channel.receive(emptyFrame(0))).toEqual(new Uint8Array())
    expect(channel.receive(emptyFrame(1))).toEqual(new Uint8Array())
    expect(() => channel.receive(emptyFrame(2))).toThrow('too many frames')
    expect(channel.remoteKey).toBeUndefined()
  })

  it('refuses what is no handshake', () => {
    const channel = new SecretChannel(KEYS[0], () => undefined)
    expect(() => channel.receive(new TextEncoder().encode('GET / HTTP/1.1\r\nHost: localhost:26659\r\n'))).toThrow(
      'not an ephemeral key',
    )
  })
})

describe('an open channel', () => {
  it.each([0, 1, 1023, 1024, 1025, 5000])('carries %i bytes', (length) => {
    const { a, deliver } = pair()
    deliver()
    const sent = Uint8Array.from({ length }, (_, index) => index)
    a.send(sent)
    expect(deliver().b).toEqual(sent)
  })

  it('notices a changed frame', () => {
    const { a, b, deliver, waiting } = pair()
    deliver()
    a.send(Uint8Array.of(1, 2, 3))
    const frame = waiting.b.splice(0)[0]!
    frame[500]! ^= 1
    expect(() => b.receive(frame)).toThrow('changed on its way')
  })

  it('notices a repeated frame', () => {
    const { a, b, deliver, waiting } = pair()
    deliver()
    a.send(Uint8Array.of(1, 2, 3))
    const frame = waiting.b.splice(0)[0]!
    b.receive(frame)
    expect(() => b.receive(frame)).toThrow(SecretChannelError)
  })
})

/** A channel whose other side has agreed on the secrets, and does not authenticate itself. */
function stranger() {
  const sent: Uint8Array[] = []
  const channel = new SecretChannel(KEYS[0], (bytes) => sent.push(bytes))
  const { publicKey, privateKey } = generateKeyPairSync('x25519')
  const der = publicKey.export({ format: 'der', type: 'spki' })
  const [prefix, own] = [der.subarray(0, 12), der.subarray(12)]
  channel.receive(concatBytes(Uint8Array.of(34, 10, 32), own))
  const remote = sent[0]!.subarray(3)
  const remoteKey = createPublicKey({ key: Buffer.concat([prefix, remote]), format: 'der', type: 'spki' })
  const shared = new Uint8Array(diffieHellman({ privateKey, publicKey: remoteKey }))
  const { send } = deriveSecrets(shared, Buffer.compare(own, remote) < 0)
  const emptyFrame = (number: number): Uint8Array => {
    const nonce = new Uint8Array(12)
    nonce[4] = number
    const cipher = createCipheriv('chacha20-poly1305', send, nonce, { authTagLength: 16 })
    return concatBytes(cipher.update(new Uint8Array(1028)), cipher.final(), cipher.getAuthTag())
  }
  return { channel, emptyFrame }
}

const KEYS = [ed25519Key(new Uint8Array(32).fill(1)), ed25519Key(new Uint8Array(32).fill(2))] as const

function pair() {
  const waiting = { a: [] as Uint8Array[], b: [] as Uint8Array[] }
  const a = new SecretChannel(KEYS[0], (bytes) => waiting.b.push(bytes))
  const b = new SecretChannel(KEYS[1], (bytes) => waiting.a.push(bytes))
  /** Moves everything that was sent, in pieces; returns what came out of the channels. */
  const deliver = (size = Infinity): { readonly a: Uint8Array; readonly b: Uint8Array } => {
    const out = { a: [] as Uint8Array[], b: [] as Uint8Array[] }
    while (waiting.a.length + waiting.b.length > 0) {
      for (const [name, channel] of [
        ['a', a],
        ['b', b],
      ] as const) {
        const bytes = concatBytes(...waiting[name].splice(0))
        for (let start = 0; start < bytes.length; start += size) {
          out[name].push(channel.receive(bytes.subarray(start, start + size)))
        }
      }
    }
    return { a: concatBytes(...out.a), b: concatBytes(...out.b) }
  }
  return { a, b, deliver, waiting }
}
