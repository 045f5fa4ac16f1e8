import { describe, expect, it } from 'vitest'
import {
  decodeAnswer,
  encodePing,
  encodePubKeyRequest,
  encodeSignRequest,
  MessageReader,
  PrivvalError,
} from '../../../../src/p2p/privval/messages.ts'
import { concatBytes } from '../../../../src/primitives/bytes.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { ProtobufWriter } from '../../../../src/primitives/protobuf.ts'

const bytes = (hex: string): Uint8Array => new Uint8Array(Buffer.from(hex, 'hex'))
const hashOf = (text: string): Uint8Array => sha256(new TextEncoder().encode(text))

/** The vote of CometBFT's TestPrivvalVectors (0.38, privval/msgs_test.go) without its extension. */
const VOTE =
  '080210031802224a0a208b01023386c371778ecb6368573e539afc3cc860ec3a2f614e54fe5652f4fc80122608c0843d122072db3d959635dff1bb567bedaa70573392c5159666a3f8caf11e413aac52207a2a0608f49a8ded0532146af1f4111082efb388211bc72c55bcd61e9ac3d538d5bb03'
const EXTENSION = '4a09657874656e73696f6e'

describe('messages for a signer', () => {
  it('are those of CometBFT', () => {
    expect(encodePing()).toEqual(bytes('023a00'))
    expect(encodePubKeyRequest('')).toEqual(bytes('020a00'))
    const vote = {
      type: 2,
      height: 3,
      round: 2,
      blockId: {
        hash: hashOf('blockID_hash'),
        partSetHeader: { total: 1_000_000, hash: hashOf('blockID_part_set_header_hash') },
      },
      timestampMs: Date.UTC(2019, 9, 13, 16, 14, 44),
      validatorAddress: hashOf('validator_address').slice(0, 20),
      validatorIndex: 56_789,
    } as const
    const request = encodeSignRequest('', { kind: 'vote', vote, signBytes: new Uint8Array() })
    expect(Buffer.from(request).toString('hex')).toBe(`781a760a74${VOTE}`)
  })
})

describe('answers of a signer', () => {
  it('are read as CometBFT writes them', () => {
    expect(decodeAnswer(bytes('4200'))).toEqual({ kind: 'ping' })
    const key = '556a436f1218d30942efe798420f51dc9b6a311b929c578257457d05c5fcf230'
    expect(decodeAnswer(bytes(`12240a220a20${key}`))).toEqual({ kind: 'publicKey', publicKey: bytes(key) })
  })

  it.each([
    '12140a0012100801120c697427732061206572726f72',
    '22250a11220212002a0b088092b8c398feffffff0112100801120c697427732061206572726f72',
    '32250a112a021200320b088092b8c398feffffff0112100801120c697427732061206572726f72',
  ])('with an error are refusals: %s', (answer) => {
    expect(decodeAnswer(bytes(answer))).toEqual({ kind: 'refusal', reason: "it's a error" })
  })

  it('may have the signature of a vote extension, which this chain has not', () => {
    const signature = '11'.repeat(64)
    const vote = `${VOTE}4240${signature}${EXTENSION}5240${'22'.repeat(64)}`
    const answer = new ProtobufWriter().message(4, (writer) => writer.bytes(1, bytes(vote)), undefined).finish()
    expect(decodeAnswer(answer)).toEqual({
      kind: 'signature',
      timestampMs: Date.UTC(2019, 9, 13, 16, 14, 44),
      signature: bytes(signature),
    })
  })

  it.each(['', '0a00', '3a00', '1200', '2202', 'ff', '12240a220b20'])('of another form are refused: %s', (answer) => {
    expect(() => decodeAnswer(bytes(answer))).toThrow(PrivvalError)
  })

  it('are cut out of a stream, whatever its pieces', () => {
    const stream = concatBytes(bytes('024200'), bytes('024200'), bytes('8001'), new Uint8Array(128).fill(9))
    for (const size of [1, 2, 3, 5, 200]) {
      const reader = new MessageReader()
      const read: Uint8Array[] = []
      for (let start = 0; start < stream.length; start += size)
        read.push(...reader.read(stream.subarray(start, start + size)))
      expect(read.map(({ length }) => length)).toEqual([2, 2, 128])
    }
    expect(() => new MessageReader().read(bytes('ffff03'))).toThrow(/too long/)
    expect(() => new MessageReader().read(bytes('8080808001'))).toThrow(/too long/)
  })
})
