import {
  createMultisigThresholdPubkey,
  encodeEthSecp256k1Pubkey,
  encodeSecp256k1Pubkey,
  pubkeyToAddress,
  type SinglePubkey,
} from '@cosmjs/amino'
import { encodePubkey } from '@cosmjs/proto-signing'
import { SigningStargateClient } from '@cosmjs/stargate'
import { MultiSignature } from 'cosmjs-types/cosmos/crypto/multisig/v1beta1/multisig'
import { AuthInfo as AuthInfoMessage } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { describe, expect, it } from 'vitest'
import { MsgExec } from '../../../../src/modules/authz/types.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { MESSAGES } from '../../../../src/modules/messageTable.ts'
import { isSdkError, SdkError } from '../../../../src/modules/sdkError.ts'
import { countKeys, hasAddress, LegacyAminoPubKey, readPublicKey } from '../../../../src/modules/tx/publicKey.ts'
import { keyOf } from '../../../../src/modules/tx/signTransaction.ts'
import { createTransactionDecoder, isCanonical, NOT_CANONICAL } from '../../../../src/modules/tx/transactionDecoder.ts'
import { AuthInfo, SignDoc, TxBody, TxRaw } from '../../../../src/modules/tx/types.ts'
import { parseAddress, toBech32 } from '../../../../src/primitives/address.ts'
import { bigIntToBytes, bytesToBigInt, concatBytes, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { keccak256 } from '../../../../src/primitives/hash.ts'
import { SECP256K1_ORDER, signDigest } from '../../../../src/primitives/secp256k1.ts'
import { COSMJS_SIGNERS, signWithCosmJs, testFee } from '../../../native/cosmJsSigners.ts'
import { anyOf, signTestTransaction, TEST_CHAIN, testAccount } from '../../../native/signTransaction.ts'

const decoder = createTransactionDecoder(TEST_CHAIN)
const bob = testAccount(2)

const sendOf = (from: string) => ({
  typeUrl: '/cosmos.bank.v1beta1.MsgSend',
  value: { fromAddress: from, toAddress: bob.bech32, amount: [{ denom: 'acoin', amount: '12345' }] },
})

/** The transaction with other fields in its TxRaw or AuthInfo. */
function altered(raw: Uint8Array, change: (tx: TxRaw, info: AuthInfo) => Partial<TxRaw>): Uint8Array {
  const tx = TxRaw.decode(raw)
  return TxRaw.encode({ ...tx, ...change(tx, AuthInfo.decode(tx.authInfoBytes)) })
}

const decode = (raw: Uint8Array) => decoder.decodeNative(raw)

const UNVERIFIED = new SdkError(
  'sdk',
  4,
  'signature verification failed; please verify account number (0), sequence (3) and chain-id (coin_76287-1): unauthorized',
)

describe('signatures of CosmJS', () => {
  describe.each(Object.entries(COSMJS_SIGNERS))('%s', (name, createSigner) => {
    const kind = name.endsWith('EthSecp256k1') ? 'ethSecp256k1' : 'secp256k1'
    const alice = testAccount(1, kind)
    const sign = async (options: Parameters<typeof signWithCosmJs>[2] = {}) =>
      signWithCosmJs(await createSigner(alice.privateKey), [sendOf(alice.bech32), sendOf(alice.bech32)], {
        sequence: 3,
        memo: 'a <memo> & "quotes" ünïcode',
        timeoutHeight: 77n,
        ...options,
      })

    it('are accepted', async () => {
      const raw = await sign()
      const transaction = decode(raw)
      expect(transaction).toMatchObject({
        sender: alice.address,
        sequence: 3n,
        timeoutHeight: 77,
        gasLimit: 1_000_000n,
        feeAcoin: 10n ** 15n,
        feePayer: alice.address,
        feeGranter: undefined,
        signatureCounts: { ethSecp256k1: kind === 'ethSecp256k1' ? 1 : 0, secp256k1: kind === 'secp256k1' ? 1 : 0 },
      })
      const size = BigInt(raw.length) * 10n
      expect((transaction as { intrinsicGas: bigint }).intrinsicGas).toBe(size + 3_000n + 24_000n)
    })

    it.each([
      ['another chain', { chainId: 'coin_7628-1' }],
      ['another account number', { accountNumber: 1 }],
    ])('for %s are refused', async (_, options) => {
      expect(decode(await sign(options))).toEqual(UNVERIFIED)
    })

    it('over another body, fee, sequence or with another signature are refused', async () => {
      const raw = await sign()
      const cases: Uint8Array[] = [
        altered(raw, ({ bodyBytes }) => ({
          bodyBytes: TxBody.encode({ ...TxBody.decode(bodyBytes), memo: 'another' }),
        })),
        altered(raw, (_tx, info) => ({
          authInfoBytes: AuthInfo.encode({ ...info, fee: { ...info.fee!, amount: coinsOf(1n) } }),
        })),
        ...[0, 31, 32, 63].map((at) =>
          altered(raw, ({ signatures }) => ({ signatures: signatures.map((signature) => flipped(signature, at)) })),
        ),
        altered(raw, () => ({ signatures: [new Uint8Array(0)] })),
        altered(raw, () => ({ signatures: [new Uint8Array(64)] })),
        altered(raw, ({ signatures }) => ({ signatures: [signatures[0]!.subarray(0, 63)] })),
        altered(raw, ({ signatures }) => ({ signatures: [concatBytes(signatures[0]!, Uint8Array.of(0, 0))] })),
        altered(raw, ({ signatures }) => ({ signatures: [highS(signatures[0]!)] })),
      ]
      for (const wrong of cases) expect(decode(wrong)).toEqual(UNVERIFIED)
      const otherSequence = altered(raw, (_tx, info) => ({
        authInfoBytes: AuthInfo.encode({ ...info, signerInfos: [{ ...info.signerInfos[0]!, sequence: 4n }] }),
      }))
      expect(decode(otherSequence)).toMatchObject({ codespace: 'sdk', code: 4 })
    })

    it('are recovered from where the key is left out', async () => {
      const raw = await sign()
      const keyless = altered(raw, (_tx, info) => ({
        authInfoBytes: AuthInfo.encode({ ...info, signerInfos: [{ ...info.signerInfos[0]!, publicKey: undefined }] }),
      }))
      // The key is part of what SIGN_MODE_DIRECT signs.
      if (name.startsWith('direct')) {
        expect(decode(keyless)).toEqual(UNVERIFIED)
      } else {
        expect(decode(keyless)).toBe(NOT_CANONICAL)
        expect(decoder.decodeAnyEncoding(keyless)).toEqual({ accepted: raw })
      }
      // The same key would be recovered from it, so that one transaction had two hashes.
      expect(decode(altered(keyless, ({ signatures }) => ({ signatures: [highS(signatures[0]!)] })))).toEqual(
        UNVERIFIED,
      )
    })

    it('belong to the key that is given', async () => {
      const raw = await sign()
      const other = { typeUrl: '/cosmos.crypto.secp256k1.PubKey', value: MsgSend.encode(MsgSend.create()) }
      const cases = [
        [keyAny(kind, 9), 8, 'pubKey does not match signer address with signer index: 0: invalid pubkey'],
        [
          { ...keyAny(kind, 1), value: Uint8Array.of(10, 1, 2) },
          8,
          'not a compressed point of secp256k1: invalid pubkey',
        ],
        [other, 8, 'not a compressed point of secp256k1: invalid pubkey'],
        [
          { ...keyAny(kind, 1), typeUrl: '/cosmos.crypto.secp256r1.PubKey' },
          2,
          'unable to resolve type URL /cosmos.crypto.secp256r1.PubKey: tx parse error',
        ],
      ] as const
      for (const [publicKey, code, message] of cases) {
        const wrong = altered(raw, (_tx, info) => ({
          authInfoBytes: AuthInfo.encode({ ...info, signerInfos: [{ ...info.signerInfos[0]!, publicKey }] }),
        }))
        expect(decode(wrong)).toEqual(new SdkError('sdk', code, message))
      }
    })

    it('are not looked at again once they were verified', async () => {
      const raw = altered(await sign(), () => ({ signatures: [new Uint8Array(64)] }))
      expect(isSdkError(decode(raw))).toBe(true)
      expect(decoder.decodeVerified(raw)).toMatchObject({ sender: alice.address })
    })
  })
})

function flipped(bytes: Uint8Array, at: number): Uint8Array {
  const out = bytes.slice()
  out[at]! ^= 1
  return out
}

/** The other signature that ECDSA has for the same key and message. */
function highS(signature: Uint8Array): Uint8Array {
  const s = bytesToBigInt(signature.subarray(32, 64))
  return concatBytes(signature.subarray(0, 32), bigIntToBytes(SECP256K1_ORDER - s, 32))
}

function keyAny(kind: 'ethSecp256k1' | 'secp256k1', number: number) {
  const { key } = keyOf({ privateKey: testAccount(number, kind).privateKey, kind })
  const typeUrl = kind === 'secp256k1' ? '/cosmos.crypto.secp256k1.PubKey' : '/cosmos.evm.crypto.v1.ethsecp256k1.PubKey'
  return { typeUrl, value: concatBytes(Uint8Array.of(10, 33), key) }
}

describe('keys of eth_secp256k1', () => {
  const alice = testAccount(1)

  const sequence = 0n
  const named = (typeUrl: string) => (_tx: TxRaw, info: AuthInfo) => ({
    authInfoBytes: AuthInfo.encode({
      ...info,
      signerInfos: info.signerInfos.map((signer) => ({ ...signer, publicKey: { ...signer.publicKey!, typeUrl } })),
    }),
  })

  it.each(['/ethermint.crypto.v1.ethsecp256k1.PubKey', '/injective.crypto.v1beta1.ethsecp256k1.PubKey'])(
    'come as %s too: where nobody signs that, under the chain’s own name',
    async (typeUrl) => {
      const raw = await signWithCosmJs(await COSMJS_SIGNERS.aminoEthSecp256k1(alice.privateKey), [sendOf(alice.bech32)])
      const renamed = altered(raw, named(typeUrl))
      expect(decode(renamed)).toBe(NOT_CANONICAL)
      expect(decoder.decodeAnyEncoding(renamed)).toEqual({ accepted: raw })
      expect(decode(raw)).toMatchObject({ signers: [{ publicKey: keyAny('ethSecp256k1', 1) }] })

      const direct = altered(
        signTestTransaction({
          messages: [
            anyOf(MsgSend, {
              fromAddress: alice.bech32,
              toAddress: bob.bech32,
              amount: coinsOf(1n),
            }),
          ],
          signers: [alice],
        }),
        named(typeUrl),
      )
      const { bodyBytes, authInfoBytes } = TxRaw.decode(direct)
      const { r, s } = signDigest(
        keccak256(SignDoc.encode({ bodyBytes, authInfoBytes, chainId: TEST_CHAIN.chainId, accountNumber: 0n })),
        alice.privateKey,
      )
      const signed = altered(direct, () => ({ signatures: [concatBytes(bigIntToBytes(r, 32), bigIntToBytes(s, 32))] }))
      expect(decode(signed)).toMatchObject({ sequence, signers: [{ publicKey: keyAny('ethSecp256k1', 1) }] })
    },
  )

  it('may have no recovery byte in the signature, which is taken off', async () => {
    for (const signer of [COSMJS_SIGNERS.directEthSecp256k1, COSMJS_SIGNERS.aminoEthSecp256k1]) {
      const raw = await signWithCosmJs(await signer(alice.privateKey), [sendOf(alice.bech32)])
      for (const byte of [0, 1, 27, 255]) {
        const longer = altered(raw, ({ signatures }) => ({
          signatures: [concatBytes(signatures[0]!, Uint8Array.of(byte))],
        }))
        expect(decode(longer)).toBe(NOT_CANONICAL)
        expect(decoder.decodeAnyEncoding(longer)).toEqual({ accepted: raw })
      }
    }
  })

  it('of the other kind may not', async () => {
    const cosmos = testAccount(1, 'secp256k1')
    const raw = await signWithCosmJs(await COSMJS_SIGNERS.directSecp256k1(cosmos.privateKey), [sendOf(cosmos.bech32)])
    const longer = altered(raw, ({ signatures }) => ({ signatures: [concatBytes(signatures[0]!, Uint8Array.of(0))] }))
    expect(decode(longer)).toMatchObject({ code: 4 })
  })
})

describe('several signers', () => {
  const [alice, carol, dave] = [testAccount(1), testAccount(3, 'secp256k1'), testAccount(4)]
  const send = (from: { bech32: string }) =>
    anyOf(MsgSend, { fromAddress: from.bech32, toAddress: bob.bech32, amount: coinsOf(1n) })
  const messages = [send(alice), send(carol), send(alice)]
  const keys = [alice, { ...carol, kind: 'secp256k1' as const, sequence: 5 }, dave]

  it('sign in the order of the messages, then who pays the fee', () => {
    const raw = signTestTransaction({ messages, signers: keys, feePayer: dave.bech32 })
    expect(decode(raw)).toMatchObject({
      sender: alice.address,
      feePayer: dave.address,
      signers: [
        { address: alice.address, sequence: 0n },
        { address: carol.address, sequence: 5n },
        { address: dave.address, sequence: 0n },
      ],
      signatureCounts: { ethSecp256k1: 2, secp256k1: 1 },
      keyCount: 3,
    })
  })

  it.each([
    ['too few', keys.slice(0, 2), 4],
    ['too many', [...keys, testAccount(5)], 4],
    ['another order', [keys[1]!, keys[0]!, keys[2]!], 8],
  ])('are refused: %s', (_, signers, code) => {
    expect(decode(signTestTransaction({ messages, signers, feePayer: dave.bech32 }))).toMatchObject({ code })
  })

  it('each sign for themselves', () => {
    const raw = signTestTransaction({ messages, signers: keys, feePayer: dave.bech32 })
    const swapped = altered(raw, ({ signatures }) => ({ signatures: [signatures[2]!, signatures[1]!, signatures[0]!] }))
    expect(decode(swapped)).toMatchObject({ code: 4 })
  })
})

describe('multisigs', () => {
  /** of both kinds */
  const KINDS = ['secp256k1', 'ethSecp256k1', 'secp256k1'] as const
  const multisigMembers = KINDS.map((kind, index) => testAccount(11 + index, kind))
  const publicKeys = multisigMembers.map(({ privateKey }, index) => {
    const kind = KINDS[index]!
    const { key } = keyOf({ privateKey, kind })
    return kind === 'secp256k1' ? encodeSecp256k1Pubkey(key) : encodeEthSecp256k1Pubkey(key)
  })
  const multisig = createMultisigThresholdPubkey(publicKeys, 2, true)
  const address = pubkeyToAddress(multisig, 'coin')

  /** As CosmJS puts a multisig's transaction together, of which it derives other addresses here. */
  async function sign(signing: readonly number[], chainId: string = TEST_CHAIN.chainId): Promise<Uint8Array> {
    const signatures: Uint8Array[] = []
    let bodyBytes = new Uint8Array(0)
    for (const index of signing) {
      const member = multisigMembers[index]!
      const createSigner =
        KINDS[index] === 'secp256k1' ? COSMJS_SIGNERS.aminoSecp256k1 : COSMJS_SIGNERS.aminoEthSecp256k1
      const client = await SigningStargateClient.offline(await createSigner(member.privateKey))
      const data = { accountNumber: 0n, sequence: 3, chainId }
      const signed = await client.sign(member.bech32, [sendOf(address)], testFee(), '', data)
      bodyBytes = new Uint8Array(signed.bodyBytes)
      signatures.push(signed.signatures[0]!)
    }
    const bits = signing.reduce((sum, index) => sum | (0x80 >> index), 0)
    const single = { single: { mode: 127 } }
    const info = AuthInfoMessage.fromPartial({
      signerInfos: [
        {
          publicKey: encodePubkey(multisig),
          modeInfo: {
            multi: {
              bitarray: { extraBitsStored: multisigMembers.length, elems: Uint8Array.of(bits) },
              modeInfos: signing.map(() => single),
            },
          },
          sequence: 3n,
        },
      ],
      fee: { amount: testFee().amount.slice(), gasLimit: BigInt(testFee().gas) },
    })
    return TxRaw.encode({
      bodyBytes,
      authInfoBytes: AuthInfoMessage.encode(info).finish(),
      signatures: [MultiSignature.encode({ signatures }).finish()],
    })
  }

  it('sign with as many members as they need', async () => {
    expect(decode(await sign([0, 2]))).toMatchObject({
      sequence: 3n,
      signatureCounts: { ethSecp256k1: 0, secp256k1: 2 },
      keyCount: 3,
      signers: [{ signatures: [{ length: 64 }, { length: 64 }] }],
    })
    expect(decode(await sign([1, 2]))).toMatchObject({ signatureCounts: { ethSecp256k1: 1, secp256k1: 1 } })
    // Others could leave one of three out.
    const surplus = 'not as many signatures as the multisig needs (2) and says: unauthorized'
    expect(decode(await sign([0, 1, 2]))).toEqual(new SdkError('sdk', 4, surplus))
  })

  it('do not with fewer, or for another chain', async () => {
    const tooFew = 'not as many signatures as the multisig needs (2) and says: unauthorized'
    expect(decode(await sign([0]))).toEqual(new SdkError('sdk', 4, tooFew))
    expect(decode(await sign([0, 2], 'coin_7628-1'))).toEqual(UNVERIFIED)
  })

  it('must say with how many bits who signed', async () => {
    const raw = await sign([0, 2])
    const withBits = (extraBitsStored: number, elems: Uint8Array) =>
      altered(raw, (_tx, info) => {
        const signer = info.signerInfos[0]!
        const multi = { ...signer.modeInfo!.multi!, bitarray: { extraBitsStored, elems } }
        const changed = { ...signer, modeInfo: { single: undefined, multi } }
        return { authInfoBytes: AuthInfo.encode({ ...info, signerInfos: [changed] }) }
      })
    expect(decode(withBits(3, Uint8Array.of(0xa0)))).toMatchObject({ sequence: 3n })
    for (const [extra, elems] of [
      [2, [0xa0]],
      [0, []],
      [3, []],
      [0, [0xa0]],
      [3, [0x80]],
      [3, [0xc0]],
      [3, [0xa1]],
      [3, [0xb0]],
      [11, [0xa0]],
      [0xffff_ffff, [0xa0, 0xa0]],
    ] as const) {
      expect(decode(withBits(extra, Uint8Array.from(elems)))).toMatchObject({ code: 4 })
    }
  })

  it('have one encoding', async () => {
    const raw = await sign([1, 2])
    const withInfo = (change: (signer: AuthInfo['signerInfos'][number]) => object) =>
      altered(raw, (_tx, info) => ({
        authInfoBytes: AuthInfo.encode({
          ...info,
          signerInfos: info.signerInfos.map((signer) => ({ ...signer, ...change(signer) })),
        }),
      }))
    const others = [
      altered(raw, ({ signatures }) => {
        const parts = MultiSignature.decode(signatures[0]!).signatures
        const longer = [concatBytes(parts[0]!, Uint8Array.of(1)), parts[1]!]
        return { signatures: [MultiSignature.encode({ signatures: longer }).finish()] }
      }),
      withInfo(({ publicKey }) => {
        const { threshold, publicKeys: members } = LegacyAminoPubKey.decode(publicKey!.value)
        const renamed = members.map(({ typeUrl, value }) => ({
          typeUrl: typeUrl.replace('cosmos.evm.crypto.v1', 'ethermint.crypto.v1'),
          value,
        }))
        return {
          publicKey: { ...publicKey!, value: LegacyAminoPubKey.encode({ threshold, publicKeys: renamed }) },
        }
      }),
    ]
    expect(isSdkError(decode(raw))).toBe(false)
    for (const other of others) {
      expect(other).not.toEqual(raw)
      expect(decode(other)).toBe(NOT_CANONICAL)
      expect(decoder.decodeAnyEncoding(other)).toEqual({ accepted: raw })
    }
  })

  it('may have multisigs as members', () => {
    const nested = createMultisigThresholdPubkey([multisig as unknown as SinglePubkey, publicKeys[0]!], 1, true)
    const key = readPublicKey(encodePubkey(nested), { keys: 4 })
    if (isSdkError(key)) throw new Error(key.message)
    expect(toBech32(key.address)).toBe(pubkeyToAddress(nested, 'coin'))
    expect(countKeys(key)).toBe(4)
  })

  it('have the addresses of CosmJS and of Go, where keys of Ethereum have no prefix', () => {
    // The address that cosmos/evm 0.5.1 gives two of these two keys.
    const goAddress = 'coin14twfwhuc8a6797jlc68mtahwyfcs4qy6xx0wmr'
    const members = [
      encodeSecp256k1Pubkey(hexToBytes('03f6be68de0ffe7d0f67b6d7d7c93bb060ffb6eaa7f5e5aaa2c5e02fea0f40f8d9')),
      encodeEthSecp256k1Pubkey(hexToBytes('0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798')),
    ]
    const mixed = createMultisigThresholdPubkey(members, 2, true)
    const key = readPublicKey(encodePubkey(mixed), { keys: 2 })
    if (isSdkError(key)) throw new Error(key.message)
    const owns = (text: string) => hasAddress(key, parseAddress(text))
    expect([pubkeyToAddress(mixed, 'coin'), goAddress, bob.bech32].map(owns)).toEqual([true, true, false])
  })

  it('cannot leave their key out', async () => {
    const raw = await sign([0, 2])
    const keyless = altered(raw, (_tx, info) => ({
      authInfoBytes: AuthInfo.encode({ ...info, signerInfos: [{ ...info.signerInfos[0]!, publicKey: undefined }] }),
    }))
    expect(decode(keyless)).toMatchObject({ code: 8 })
  })
})

describe('sign modes', () => {
  it.each([
    ['SIGN_MODE_UNSPECIFIED', 0],
    ['SIGN_MODE_TEXTUAL', 2],
    ['SIGN_MODE_DIRECT_AUX', 3],
    ['42', 42],
  ])('%s is refused', (name, mode) => {
    const alice = testAccount(1)
    const raw = signTestTransaction({
      messages: [anyOf(MsgSend, { fromAddress: alice.bech32, toAddress: bob.bech32, amount: coinsOf(1n) })],
      signers: [alice],
    })
    const other = altered(raw, (_tx, info) => ({
      authInfoBytes: AuthInfo.encode({
        ...info,
        signerInfos: info.signerInfos.map((signer) => ({
          ...signer,
          modeInfo: { single: { mode }, multi: undefined },
        })),
      }),
    }))
    expect(decode(other)).toEqual(new SdkError('sdk', 37, `the sign mode ${name}: feature not supported`))
  })
})

describe('bytes that nobody signed in SIGN_MODE_LEGACY_AMINO_JSON', () => {
  const alice = testAccount(1)
  const sign = async () =>
    signWithCosmJs(await COSMJS_SIGNERS.aminoEthSecp256k1(alice.privateKey), [sendOf(alice.bech32)])
  /** an empty text field more than the canonical encoding has, which means the same */
  const withEmpty = (bytes: Uint8Array, field: number) => concatBytes(bytes, Uint8Array.of(field * 8 + 2, 0))

  it('are encoded as the chain does it, at every depth', async () => {
    const raw = await sign()
    expect(isSdkError(decode(raw))).toBe(false)
    const body = altered(raw, ({ bodyBytes }) => ({ bodyBytes: withEmpty(bodyBytes, 2) }))
    // A key's message with its one field twice.
    const key = altered(raw, (_tx, info) => ({
      authInfoBytes: AuthInfo.encode({
        ...info,
        signerInfos: info.signerInfos.map((signer) => ({
          ...signer,
          publicKey: { ...signer.publicKey!, value: concatBytes(Uint8Array.of(10, 0), signer.publicKey!.value) },
        })),
      }),
    }))
    const message = altered(raw, ({ bodyBytes }) => {
      const { messages, ...rest } = TxBody.decode(bodyBytes)
      return {
        bodyBytes: TxBody.encode({
          ...rest,
          messages: messages.map(({ typeUrl, value }) => ({
            typeUrl,
            value: concatBytes(Uint8Array.of(10, 0), value),
          })),
        }),
      }
    })
    for (const other of [body, message, key]) {
      expect(decode(other)).toBe(NOT_CANONICAL)
      expect(decoder.decodeAnyEncoding(other)).toEqual({ accepted: raw })
    }
  })

  it('are so inside of an Any', () => {
    const sendBytes = MsgSend.encode({ fromAddress: alice.bech32, toAddress: bob.bech32, amount: coinsOf(5n) })
    const isCanonicalWith = (value: Uint8Array): boolean => {
      const exec = anyOf(MsgExec, { grantee: alice.bech32, msgs: [{ typeUrl: MsgSend.typeUrl, value }] })
      const decoded = decoder.decodeParts(signTestTransaction({ messages: [exec], signers: [alice] }))
      if (isSdkError(decoded)) throw new Error(decoded.message)
      const { signerInfos } = decoded.authInfo
      return isCanonical(decoded, { signatures: decoded.txRaw.signatures, signerInfos }, MESSAGES)
    }
    expect(isCanonicalWith(sendBytes)).toBe(true)
    expect(isCanonicalWith(concatBytes(Uint8Array.of(10, 0), sendBytes))).toBe(false)
  })
})
