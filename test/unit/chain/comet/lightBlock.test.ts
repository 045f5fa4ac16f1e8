import { describe, expect, it } from 'vitest'
import { headerHash } from '../../../../src/chain/comet/block.ts'
import {
  checkLightBlock,
  decodeLightBlock,
  encodeLightBlock,
  type LightBlock,
  verifyLightBlock,
} from '../../../../src/chain/comet/lightBlock.ts'
import { ABSENT_COMMIT_SIG } from '../../../../src/chain/comet/types.ts'
import { ConsensusDecodingError } from '../../../../src/chain/comet/wire.ts'
import { concatBytes } from '../../../../src/primitives/bytes.ts'
import { ProtobufFields, ProtobufWriter } from '../../../../src/primitives/protobuf.ts'
import { lightBlockOf, VECTORS } from '../../../support/sync/light/lightVectors.ts'

const { chainId } = VECTORS
const BLOCK = lightBlockOf(VECTORS.chains[0]![11]!)
const OTHER = lightBlockOf(VECTORS.chains[0]![12]!)

/** The block with some fields of its header changed, and a commit that names the changed header. */
function withHeader(change: Partial<LightBlock['header']>): LightBlock {
  const header = { ...BLOCK.header, ...change }
  return {
    ...BLOCK,
    header,
    commit: { ...BLOCK.commit, blockId: { ...BLOCK.commit.blockId, hash: headerHash(header) } },
  }
}

describe('light blocks', () => {
  it('are encoded as in CometBFT, without what is in no hash', () => {
    const all = [...VECTORS.chains.flat(), ...VECTORS.verify.flatMap(({ trusted, untrusted }) => [trusted, untrusted])]
    for (const base64 of all) {
      expect(Buffer.from(encodeLightBlock(lightBlockOf(base64))).toString('base64')).toBe(base64)
    }
  })

  it('prove that their validators decided them', () => {
    for (const block of VECTORS.chains.flat().map(lightBlockOf)) {
      expect(checkLightBlock(block, chainId)).toBeUndefined()
      expect(verifyLightBlock(block, chainId)).toBeUndefined()
    }
  })

  it.each<[string, LightBlock, RegExp]>([
    [
      'of another chain',
      withHeader({ chainId: 'other\n' }),
      /^the header is of the chain "other\\n", not coin_76287-1$/,
    ],
    ['of another block protocol', withHeader({ version: { block: 12, app: 0 } }), /block protocol 12/],
    ['with a commit of another height', { ...BLOCK, commit: OTHER.commit }, /for height 13, the header 12/],
    [
      'with a commit for another header',
      { ...BLOCK, header: { ...BLOCK.header, appHash: new Uint8Array(32) } },
      /the commit is for another header/,
    ],
    ['with other validators', { ...BLOCK, validators: OTHER.validators }, /validators are not those of the header/],
  ])('%s are refused', (_, block, problem) => {
    expect(checkLightBlock(block, chainId)).toMatch(problem)
    expect(verifyLightBlock(block, chainId)).toMatch(problem)
  })

  it('whose parts belong together still need the signatures', () => {
    const sigs = BLOCK.commit.signatures
    const signed = (signatures: typeof sigs): LightBlock => ({ ...BLOCK, commit: { ...BLOCK.commit, signatures } })
    const cases: [LightBlock, RegExp | undefined][] = [
      [signed([...sigs.slice(0, 3), ABSENT_COMMIT_SIG]), undefined],
      [signed([...sigs.slice(0, 2), ABSENT_COMMIT_SIG, ABSENT_COMMIT_SIG]), /power 20 of 40 signed/],
      [signed([sigs[0]!, sigs[0]!, sigs[0]!, sigs[0]!]), /signature 1 names another validator/],
      [
        signed(sigs.map((sig) => ({ ...sig, validatorAddress: sig.validatorAddress, signature: sigs[0]!.signature }))),
        /signature 1 is wrong/,
      ],
      [signed(sigs.slice(0, 3)), /3 signatures for 4 validators/],
      [withHeader({ appHash: new Uint8Array(32) }), /signature 0 is wrong/],
    ]
    for (const [block, problem] of cases) {
      expect(checkLightBlock(block, chainId)).toBeUndefined()
      if (problem === undefined) expect(verifyLightBlock(block, chainId)).toBeUndefined()
      else expect(verifyLightBlock(block, chainId)).toMatch(problem)
    }
  })
})

describe('bytes that are no light block', () => {
  const [signedHeader] = new ProtobufFields(encodeLightBlock(BLOCK)).repeatedBytes(1)
  type Fields = { publicKey: Uint8Array; power: bigint; address?: Uint8Array; priority?: bigint }
  const encoded = (validators: readonly Fields[], more: Uint8Array = new Uint8Array()): Uint8Array => {
    const set = new ProtobufWriter().repeatedMessage(
      1,
      (writer, { publicKey, power, address, priority = 0n }: Fields) => {
        if (address !== undefined) writer.bytes(1, address)
        writer.message(2, (key, value: Uint8Array) => key.bytes(1, value), publicKey)
        writer.varint(3, power).varint(4, priority)
      },
      validators,
    )
    const bytes = concatBytes(set.finish(), more)
    return new ProtobufWriter().bytes(1, signedHeader!).repeatedBytes(2, [bytes]).finish()
  }
  const { validators } = BLOCK.validators
  const key = (index: number) => Uint8Array.from({ length: 32 }, (_, i) => (i < 4 ? index >> (8 * i) : 7))

  it('the builder of these cases makes the same bytes', () => {
    expect(encoded(validators)).toEqual(encodeLightBlock(BLOCK))
  })

  it.each<[string, Uint8Array, RegExp]>([
    ['no validators', encoded([]), /at least one validator/],
    ['a validator twice', encoded([validators[0]!, validators[0]!]), /named twice/],
    ['no power', encoded([{ ...validators[0]!, power: 0n }]), /power is 0/],
    ['a negative power', encoded([{ ...validators[0]!, power: -5n }]), /power is -5/],
    ['too much power', encoded(validators.map((v) => ({ ...v, power: 2n ** 60n - 1n }))), /total power/],
    ['a short key', encoded([{ ...validators[0]!, publicKey: new Uint8Array(31) }]), /public key has 31 bytes/],
    ['another order', encoded(validators.toReversed()), /not the canonical encoding/],
    [
      'an address of another key',
      encoded([{ ...validators[0]!, address: validators[1]!.address }]),
      /not the canonical/,
    ],
    ['no address', encoded([{ publicKey: validators[0]!.publicKey, power: 1n }]), /not the canonical/],
    ['a priority', encoded([{ ...validators[0]!, priority: 3n }]), /not the canonical/],
    ['a proposer', encoded(validators, new ProtobufWriter().bytes(2, new Uint8Array(3)).finish()), /not the canonical/],
    ['a total power', encoded(validators, new ProtobufWriter().varint(3, 40).finish()), /not the canonical/],
    [
      'too many validators',
      encoded(Array.from({ length: 10_001 }, (_, index) => ({ publicKey: key(index), power: 1n }))),
      /10001 validators/,
    ],
    ['too many bytes', new Uint8Array(3 << 20), /are over 2097152/],
    ['no validator set', new ProtobufWriter().bytes(1, signedHeader!).finish(), /field 2 is missing/],
    ['nothing', new Uint8Array(), /field 1 is missing/],
  ])('%s', (_, bytes, problem) => {
    expect(() => decodeLightBlock(bytes)).toThrow(ConsensusDecodingError)
    expect(() => decodeLightBlock(bytes)).toThrow(problem)
  })
})
