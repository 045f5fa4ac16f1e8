import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { MsgExec, MsgGrant } from '../../../../src/modules/authz/types.ts'
import { MsgMultiSend, MsgSend } from '../../../../src/modules/bank/messages.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { AllowedMsgAllowance, MsgGrantAllowance } from '../../../../src/modules/feegrant/types.ts'
import { MsgSubmitProposal } from '../../../../src/modules/gov/types.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { SdkError } from '../../../../src/modules/sdkError.ts'
import { LegacyAminoPubKey, publicKeyToAny } from '../../../../src/modules/tx/publicKey.ts'
import { keyOf } from '../../../../src/modules/tx/signTransaction.ts'
import { createTransactionDecoder } from '../../../../src/modules/tx/transactionDecoder.ts'
import { AuthInfo, ExtensionOptionDynamicFeeTx, TxBody, TxRaw } from '../../../../src/modules/tx/types.ts'
import { concatBytes, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { sha256 } from '../../../../src/primitives/hash.ts'
import { ProtobufWriter } from '../../../../src/primitives/protobuf.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import {
  anyOf,
  signTestTransaction,
  TEST_CHAIN,
  type TestTransaction,
  testAccount,
} from '../../../native/signTransaction.ts'
import { runs } from '../../../propertyRuns.ts'

const decoder = createTransactionDecoder(TEST_CHAIN)
const alice = testAccount(1)
const bob = testAccount(2)

const send = (amount = coinsOf(5n), from = alice.bech32, to = bob.bech32) =>
  anyOf(MsgSend, { fromAddress: from, toAddress: to, amount })
const sign = (options: Partial<TestTransaction> = {}) =>
  signTestTransaction({ messages: [send()], signers: [alice], ...options })
const decode = (raw: Uint8Array) => decoder.decodeNative(raw)
const SIGNED = sign()

/** A TxRaw of such parts, not signed. */
function assemble({
  body = {},
  info = {},
  tx = {},
}: {
  body?: Partial<TxBody>
  info?: Partial<AuthInfo>
  tx?: Partial<TxRaw>
}) {
  const signed = TxRaw.decode(SIGNED)
  return TxRaw.encode({
    bodyBytes: TxBody.encode({ ...TxBody.decode(signed.bodyBytes), ...body }),
    authInfoBytes: AuthInfo.encode({ ...AuthInfo.decode(signed.authInfoBytes), ...info }),
    signatures: signed.signatures,
    ...tx,
  })
}

const signedInfo = AuthInfo.decode(TxRaw.decode(SIGNED).authInfoBytes)
const fee = signedInfo.fee!

describe('decodeNative', () => {
  it('gives all that the pool and the executor ask for', () => {
    const raw = sign({
      memo: 'hi',
      timeoutHeight: 2n ** 64n - 1n,
      gasLimit: 70_000n,
      feeAcoin: 9n,
      feeGranter: bob.bech32,
    })
    expect(decode(raw)).toMatchObject({
      raw,
      hash: sha256(raw),
      messages: [{ value: { fromAddress: alice.bech32, toAddress: bob.bech32, amount: coinsOf(5n) } }],
      sender: alice.address,
      sequence: 0n,
      memo: 'hi',
      timeoutHeight: 2 ** 64,
      gasLimit: 70_000n,
      feeAcoin: 9n,
      maxPriorityPrice: undefined,
      feePayer: alice.address,
      feeGranter: bob.address,
      signatureCounts: { ethSecp256k1: 1, secp256k1: 0 },
      keyCount: 1,
      messageGas: [12_000n],
      // bytes, a signature, a fee allowance, a send
      intrinsicGas: BigInt(raw.length) * 10n + 3000n + 5000n + 12_000n,
    })
  })

  it('takes addresses in hex, and a granter who is the payer for none', () => {
    const hex = `0x${Buffer.from(alice.address).toString('hex')}`
    const raw = sign({ messages: [send(coinsOf(5n), hex)], feeGranter: hex, feePayer: hex })
    expect(decode(raw)).toMatchObject({ sender: alice.address, feePayer: alice.address, feeGranter: undefined })
  })

  it.each([
    [15n * 10n ** 17n, 1n],
    [0n, 0n],
  ])('reads a dynamic fee of %s', (maxPriorityPrice, whole) => {
    const extensionOptions = [anyOf(ExtensionOptionDynamicFeeTx, { maxPriorityPrice })]
    expect(decode(sign({ extensionOptions }))).toMatchObject({ maxPriorityPrice: whole })
  })

  it('lets be what is not critical, when it is of a type that there is', () => {
    const withOption = (typeUrl: string, value: Uint8Array) =>
      decoder.decodeVerified(assemble({ body: { nonCriticalExtensionOptions: [{ typeUrl, value }] } }))
    const option = anyOf(ExtensionOptionDynamicFeeTx, { maxPriorityPrice: 10n ** 18n })
    expect(withOption(option.typeUrl, option.value)).toMatchObject({
      sender: alice.address,
      maxPriorityPrice: undefined,
    })
    const refused = { codespace: 'sdk', code: 2 }
    expect(withOption(option.typeUrl, Uint8Array.of(0xff))).toMatchObject(refused)
    expect(withOption(MsgSend.typeUrl, new Uint8Array(0))).toMatchObject(refused)
    expect(withOption('/whatever.v1.Option', new Uint8Array(0))).toMatchObject(refused)
  })

  it.each<[string, AnyValue]>([
    ['is of no type', { typeUrl: '/whatever.v1.Msg', value: new Uint8Array(0) }],
    ['does not decode', { typeUrl: MsgSend.typeUrl, value: Uint8Array.of(0xff) }],
    ['has no type', { typeUrl: '', value: new Uint8Array(0) }],
  ])('refuses what %s, however deep it is', (_, bad) => {
    const inner = anyOf(MsgExec, { grantee: alice.bech32, msgs: [bad] })
    const authorization = anyOf(AllowedMsgAllowance, { allowance: bad, allowedMessages: ['/x'] })
    const messages = [
      anyOf(MsgSubmitProposal, { proposer: alice.bech32, messages: [inner], title: 't', summary: 's' }),
      anyOf(MsgSubmitProposal, {
        proposer: alice.bech32,
        messages: [anyOf(MsgGrantAllowance, { granter: alice.bech32, grantee: bob.bech32, allowance: authorization })],
      }),
      anyOf(MsgGrant, {
        granter: alice.bech32,
        grantee: bob.bech32,
        grant: { authorization: bad, expiration: undefined },
      }),
    ]
    for (const message of messages) {
      expect(decode(sign({ messages: [message] }))).toMatchObject({ codespace: 'sdk', code: 2 })
    }
  })
})

describe('encodings', () => {
  const raw = sign()
  const { bodyBytes, authInfoBytes, signatures } = TxRaw.decode(raw)
  const field = (number: number, bytes: Uint8Array) => new ProtobufWriter().repeatedBytes(number, [bytes]).finish()
  const [body, info, signature] = [field(1, bodyBytes), field(2, authInfoBytes), field(3, signatures[0]!)]

  it('are one only (ADR-027)', () => {
    expect(concatBytes(body, info, signature)).toEqual(raw)
    const longLength = concatBytes(Uint8Array.of(0x1a, 0xc0, 0x00), signatures[0]!)
    for (const other of [
      concatBytes(info, body, signature),
      concatBytes(body, signature, info),
      concatBytes(body, body, info, signature),
      concatBytes(field(1, new Uint8Array(0)), body, info, signature),
      concatBytes(body, info, longLength),
      concatBytes(Uint8Array.of(0x8a, 0x00), body.subarray(1), info, signature),
    ]) {
      expect(decode(other)).toEqual(new SdkError('sdk', 2, 'not the canonical encoding (ADR-027): tx parse error'))
    }
  })

  it('end where the bytes end', () => {
    expect(decode(concatBytes(body, info, Uint8Array.of(0x1a, 0x41), signatures[0]!))).toMatchObject({ code: 2 })
    expect(decode(new Uint8Array(0))).toMatchObject({ code: 18 })
  })

  it('have no unknown fields, wherever', () => {
    const unknown = hexToBytes('0xa00601')
    const [message] = TxBody.decode(bodyBytes).messages
    const cases: [string, Uint8Array][] = [
      ['unknown field 100 in cosmos.tx.v1beta1.TxRaw: tx parse error', concatBytes(raw, unknown)],
      [
        'unknown field 100 in cosmos.tx.v1beta1.TxBody: tx parse error',
        assemble({ tx: { bodyBytes: concatBytes(bodyBytes, unknown) } }),
      ],
      [
        'unknown field 100 in cosmos.tx.v1beta1.AuthInfo: tx parse error',
        assemble({ tx: { authInfoBytes: concatBytes(authInfoBytes, unknown) } }),
      ],
      [
        'unknown field 100 in cosmos.bank.v1beta1.MsgSend: tx parse error',
        assemble({ body: { messages: [{ ...message!, value: concatBytes(message!.value, unknown) }] } }),
      ],
      // unordered transactions came later than SDK 0.50
      [
        'unknown field 4 in cosmos.tx.v1beta1.TxBody: tx parse error',
        assemble({ tx: { bodyBytes: concatBytes(bodyBytes, Uint8Array.of(0x20, 1)) } }),
      ],
    ]
    for (const [message, bytes] of cases) expect(decode(bytes)).toEqual(new SdkError('sdk', 2, message))
  })
})

describe('values', () => {
  /** `count` fields of no bytes in a message */
  const empties = (type: { readonly typeUrl: string }, field: number, count: number): AnyValue => {
    const value = new Uint8Array(2 * count)
    for (let at = 0; at < value.length; at += 2) value[at] = 8 * field + 2
    return { typeUrl: type.typeUrl, value }
  }

  it.each([
    ['coins', (count: number) => empties(MsgSend, 3, count)],
    ['messages', (count: number) => empties(MsgExec, 2, count)],
    ['messages inside', (count: number) => anyOf(MsgExec, { grantee: '', msgs: [empties(MsgSend, 3, count)] })],
  ])('are decoded as far as the bytes pay for: %s', (_, message) => {
    const error = decode(sign({ messages: [message(10_000)] })) as SdkError
    expect(error.message).toMatch(/too many fields/)
    expect((decode(sign({ messages: [message(100)] })) as SdkError).message).not.toMatch(/too many fields/)
  })

  it('may be as many as useful lists of the shortest entries have', () => {
    const { type } = MESSAGES.get('/cosmos.vesting.v1beta1.MsgCreatePeriodicVestingAccount')!
    const coinsJson = [{ denom: 'acoin', amount: '1000000' }]
    const message = {
      from_address: alice.bech32,
      to_address: bob.bech32,
      start_time: '1700000000',
      vesting_periods: new Array(1_000).fill({ length: '2592000', amount: coinsJson }),
    }
    const value = type.encode(type.fromJson(message, { typeOf: () => undefined }))
    const transaction = decode(sign({ messages: [{ typeUrl: type.typeUrl, value }], gasLimit: 10_000_000_000n }))
    expect(transaction).toMatchObject({ sender: alice.address })
  })
})

describe('what no state could start', () => {
  const bytes = (length: number) => new Uint8Array(length)
  const negative = [{ denom: 'acoin', amount: -1n }]
  const other = [{ denom: 'other', amount: 1n }]
  const signer = signedInfo.signerInfos[0]!
  const CASES: [string, number, string, Uint8Array][] = [
    ['no message', 18, 'must contain at least one message: invalid request', assemble({ body: { messages: [] } })],
    [
      'an unknown message',
      2,
      'unable to resolve type URL /cosmos.nowhere.v1.MsgNothing: tx parse error',
      assemble({ body: { messages: [{ typeUrl: '/cosmos.nowhere.v1.MsgNothing', value: bytes(0) }] } }),
    ],
    [
      'an EVM message',
      2,
      'unable to resolve type URL /cosmos.evm.vm.v1.MsgEthereumTx: tx parse error',
      assemble({ body: { messages: [{ typeUrl: '/cosmos.evm.vm.v1.MsgEthereumTx', value: bytes(0) }] } }),
    ],
    ['coins of nothing', 10, ': invalid coins', assemble({ body: { messages: [send([])] } })],
    ['negative coins', 10, '-1acoin: invalid coins', assemble({ body: { messages: [send(negative)] } })],
    [
      'coins out of order',
      10,
      '1other,5acoin: invalid coins',
      assemble({ body: { messages: [send([...other, ...coinsOf(5n)])] } }),
    ],
    [
      'a sender that is no address',
      7,
      'expected 0x and 40 hex digits, or a coin1… address: invalid address',
      assemble({ body: { messages: [send(coinsOf(1n), 'alice')] } }),
    ],
    [
      'a receiver with the prefix of another chain',
      7,
      'expected the prefix coin, not coinvaloper: invalid address',
      assemble({ body: { messages: [send(coinsOf(1n), alice.bech32, bob.operator)] } }),
    ],
    ['no fee at all', 13, 'no fee: insufficient fee', assemble({ info: { fee: undefined } })],
    [
      'a negative fee',
      13,
      'invalid fee provided: negative: insufficient fee',
      assemble({ info: { fee: { ...fee, amount: negative } } }),
    ],
    [
      'a fee of another denomination',
      5,
      'fees are paid in acoin, in one amount: insufficient funds',
      assemble({ info: { fee: { ...fee, amount: other } } }),
    ],
    [
      'a fee in two amounts',
      5,
      'fees are paid in acoin, in one amount: insufficient funds',
      assemble({ info: { fee: { ...fee, amount: [...coinsOf(1n), ...coinsOf(1n)] } } }),
    ],
    [
      'a gas limit beyond 63 bits',
      18,
      'invalid gas supplied; 9223372036854775808 > 9223372036854775807: invalid request',
      assemble({ info: { fee: { ...fee, gasLimit: 2n ** 63n } } }),
    ],
    [
      'a fee payer that is no address',
      7,
      'invalid fee payer address: expected 0x and 40 hex digits: invalid address',
      assemble({ info: { fee: { ...fee, payer: '0x12' } } }),
    ],
    [
      'a fee granter that is no address',
      7,
      'invalid fee granter address: expected 0x and 40 hex digits, or a coin1… address: invalid address',
      assemble({ info: { fee: { ...fee, granter: 'x' } } }),
    ],
    ['a tip', 37, 'tips: feature not supported', assemble({ info: { tip: { amount: [], tipper: '' } } })],
    ['no signature', 15, 'no signatures supplied', assemble({ tx: { signatures: [] } })],
    [
      'more signatures than signers',
      4,
      'wrong number of signers; expected 1, got 1 and 2: unauthorized',
      assemble({ tx: { signatures: [bytes(64), bytes(64)] } }),
    ],
    [
      'no signer info',
      4,
      'wrong number of signers; expected 1, got 0 and 1: unauthorized',
      assemble({ info: { signerInfos: [] } }),
    ],
    [
      'no mode info',
      2,
      'a signer without mode info: tx parse error',
      assemble({ info: { signerInfos: [{ ...signer, modeInfo: undefined }] } }),
    ],
    [
      'a multisig in place of a key',
      4,
      'expected one signature, not those of a multisig: unauthorized',
      assemble({
        info: {
          signerInfos: [{ ...signer, modeInfo: { single: undefined, multi: { bitarray: undefined, modeInfos: [] } } }],
        },
      }),
    ],
    [
      'an unknown extension option',
      31,
      '/cosmos.evm.eip712.v1.ExtensionOptionsWeb3Tx: unknown extension options',
      assemble({
        body: { extensionOptions: [{ typeUrl: '/cosmos.evm.eip712.v1.ExtensionOptionsWeb3Tx', value: bytes(0) }] },
      }),
    ],
    [
      'a negative priority price',
      13,
      'max priority price cannot be negative: insufficient fee',
      assemble({ body: { extensionOptions: [anyOf(ExtensionOptionDynamicFeeTx, { maxPriorityPrice: -1n })] } }),
    ],
  ]

  it.each(CASES)('%s', (_, code, message, raw) => {
    expect(decode(raw)).toEqual(new SdkError('sdk', code, message))
  })

  it.each([
    ['a threshold of 0', 0, 2, 0, 8],
    ['a threshold above its members', 3, 2, 0, 8],
    ['too many members', 1, 101, 0, 14],
    ['as many members as are read', 1, 100, 0, 8],
    ['multisigs in multisigs', 1, 1, 2000, 14],
  ])('a multisig with %s', (_, threshold, members, depth, code) => {
    const member = publicKeyToAny(keyOf(alice))
    let publicKey = anyOf(LegacyAminoPubKey, { threshold, publicKeys: Array.from({ length: members }, () => member) })
    for (let i = 0; i < depth; i++) publicKey = anyOf(LegacyAminoPubKey, { threshold, publicKeys: [publicKey] })
    expect(decode(assemble({ info: { signerInfos: [{ ...signer, publicKey }] } }))).toMatchObject({
      codespace: 'sdk',
      code,
    })
  })
})

describe('many signers', () => {
  it('are read up to a bound, with and without keys', () => {
    const message = (number: number) => send(coinsOf(1n), testAccount(number).bech32)
    const of = (count: number) => {
      const signers = Array.from({ length: count }, (_, index) => testAccount(20 + index))
      const signed = sign({ messages: signers.map((_, index) => message(20 + index)), signers })
      const info = AuthInfo.decode(TxRaw.decode(signed).authInfoBytes)
      const keyless = info.signerInfos.map((signer) => ({ ...signer, publicKey: undefined }))
      const tx = { ...TxRaw.decode(signed), authInfoBytes: AuthInfo.encode({ ...info, signerInfos: keyless }) }
      return [decode(signed), decode(TxRaw.encode(tx))]
    }
    const [with100, without100] = of(100)
    expect(with100).toMatchObject({ keyCount: 100 })
    expect(without100).toMatchObject({ code: 4 })
    expect(of(101)[0]).toEqual(new SdkError('sdk', 14, 'maximum number of signatures exceeded'))
  })

  it('are counted while the messages are read: nobody compares thousands with each other', () => {
    const from = (number: number) => `0x${number.toString(16).padStart(40, '0')}`
    const messages = Array.from({ length: 800 }, (_, index) => send(coinsOf(1n), from(index + 1)))
    expect(decode(assemble({ body: { messages } }))).toMatchObject({ codespace: 'sdk', code: 14 })
  })
})

describe('bytes that nobody wrote', () => {
  const typeUrls = [...MESSAGES.keys()]
  const any = fc.record({ typeUrl: fc.constantFrom(...typeUrls, '', '/x'), value: fc.uint8Array({ maxLength: 80 }) })
  /** Bytes that are protobuf more often than not. */
  const wire = fc
    .array(
      fc.tuple(
        fc.integer({ min: 1, max: 8 }),
        fc.oneof(fc.uint8Array({ maxLength: 20 }), fc.bigInt(0n, 2n ** 64n - 1n)),
      ),
    )
    .map((fields) => {
      const writer = new ProtobufWriter()
      for (const [number, value] of fields) {
        if (typeof value === 'bigint') writer.varint(number, value)
        else writer.repeatedBytes(number, [value])
      }
      return writer.finish()
    })
  const fuzzed = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    wire,
    fc
      .record({ messages: fc.array(fc.oneof(any, fc.record({ typeUrl: fc.constantFrom(...typeUrls), value: wire }))) })
      .map((body) => assemble({ body })),
    wire.map((authInfoBytes) => assemble({ tx: { authInfoBytes } })),
    fc.tuple(fc.nat(), fc.integer({ min: 0, max: 3 }), fc.uint8Array({ maxLength: 4 })).map(([at, removed, added]) => {
      const raw = sign()
      const start = at % raw.length
      return concatBytes(raw.subarray(0, start), added, raw.subarray(start + removed))
    }),
  )

  it('are a transaction or an error, never an exception', () => {
    fc.assert(
      fc.property(fuzzed, fc.boolean(), (raw, isVerified) => {
        const read = isVerified ? decoder.decodeVerified(raw) : decoder.decodeNative(raw)
        if (read instanceof SdkError) expect(read.code).toBeGreaterThan(0)
        else expect(read.raw).toEqual(raw)
      }),
      { numRuns: runs(500) },
    )
  })

  it('change nothing that passes: every other byte string is another transaction or none', () => {
    const raw = sign()
    for (let at = 0; at < raw.length; at++) {
      const other = raw.slice()
      other[at]! ^= 1
      expect(decode(other)).toBeInstanceOf(SdkError)
    }
  })
})

describe('the fields of a transaction', () => {
  const repeated = (bytes: Uint8Array, field: readonly number[], count: number): Uint8Array =>
    concatBytes(
      bytes,
      Uint8Array.from({ length: count * field.length }, (_, index) => field[index % field.length]!),
    )
  const { bodyBytes, authInfoBytes } = TxRaw.decode(SIGNED)
  const sendValue = MsgSend.encode(MsgSend.create())
  const withCoins = TxBody.encode(
    TxBody.create({ messages: [{ typeUrl: MsgSend.typeUrl, value: repeated(sendValue, [26, 0], 60_000) }] }),
  )

  it.each<[string, Partial<TxRaw>]>([
    ['signatures', { signatures: new Array<Uint8Array>(60_000).fill(new Uint8Array()) }],
    ['messages', { bodyBytes: repeated(bodyBytes, [10, 0], 60_000) }],
    ['options', { bodyBytes: repeated(bodyBytes, [0xfa, 0x7f, 0], 40_000) }],
    ['signers', { authInfoBytes: repeated(authInfoBytes, [10, 0], 60_000) }],
    ['coins of a message', { bodyBytes: withCoins }],
  ])('are no more than 10,000: %s', (_, tx) => {
    expect(decode(assemble({ tx }))).toEqual(new SdkError('sdk', 2, 'too many fields: tx parse error'))
  })

  it('are enough for a message to 1,500 accounts', () => {
    const outputs = Array.from({ length: 1_500 }, () => ({ address: bob.bech32, coins: coinsOf(1n) }))
    const inputs = [{ address: alice.bech32, coins: coinsOf(1_500n) }]
    const raw = sign({ messages: [anyOf(MsgMultiSend, { inputs, outputs })] })
    const transaction = decode(raw)
    expect(transaction).toMatchObject({ sender: alice.address })
    // Nor does it matter whether it is read for the first time.
    expect(decoder.decodeVerified(raw)).toEqual(transaction)
  })

  it('of signers and signatures are no more than keys', () => {
    const signatures = new Array<Uint8Array>(101).fill(new Uint8Array(64))
    const signerInfos = new Array<AuthInfo['signerInfos'][number]>(101).fill(signedInfo.signerInfos[0]!)
    for (const wrong of [assemble({ tx: { signatures } }), assemble({ info: { signerInfos } })]) {
      expect(decode(wrong)).toMatchObject({ code: 14 })
    }
  })
})
