import { concat, keccak256 as ethersKeccak, SigningKey, TypedDataEncoder } from 'ethers'
import { privateKeyToAccount } from 'viem/accounts'
import { describe, expect, it } from 'vitest'
import { MsgMultiSend, MsgSend } from '../../../../src/modules/bank/messages.ts'
import { coinsOf } from '../../../../src/modules/coin.ts'
import { MsgVoteV1beta1 as MsgVote } from '../../../../src/modules/gov/typesV1beta1.ts'
import { MsgCreateValidator, MsgDelegate } from '../../../../src/modules/staking/messages.ts'
import { Ed25519PubKey, publicKeyToAny } from '../../../../src/modules/tx/publicKey.ts'
import { keyOf } from '../../../../src/modules/tx/signTransaction.ts'
import { createTransactionDecoder, NOT_CANONICAL } from '../../../../src/modules/tx/transactionDecoder.ts'
import { AuthInfo, SIGN_MODES, TxBody, TxRaw } from '../../../../src/modules/tx/types.ts'
import { bytesToHex, hexToBytes } from '../../../../src/primitives/bytes.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import { anyOf, TEST_CHAIN, testAccount } from '../../../native/signTransaction.ts'

/** Types and messages here are written down by hand: what Keplr with a Ledger and MetaMask libraries ask a user to sign. */

const alice = testAccount(1)
const bob = testAccount(2)
const decoder = createTransactionDecoder(TEST_CHAIN)

type Types = Readonly<Record<string, readonly { readonly name: string; readonly type: string }[]>>

const strings = (...names: string[]) => names.map((name) => ({ name, type: 'string' }))
const EIP712Domain = [
  ...strings('name', 'version'),
  { name: 'chainId', type: 'uint256' },
  ...strings('verifyingContract', 'salt'),
]
const domain = {
  name: 'Cosmos Web3',
  version: '1.0.0',
  chainId: TEST_CHAIN.evmChainId,
  verifyingContract: 'cosmos',
  salt: '0',
}
const Coin = strings('denom', 'amount')
const head = { account_number: '0', chain_id: TEST_CHAIN.chainId, memo: 'hello', sequence: '3' }
const fee = { amount: [{ denom: 'acoin', amount: '1000000' }], gas: '200000' }

/** Types of the present encoding: those of the messages, and their names in order. */
const flat = (types: Types, ...messageTypes: string[]): Types => ({
  Tx: [
    ...strings('account_number', 'chain_id'),
    { name: 'fee', type: 'Fee' },
    ...strings('memo', 'sequence'),
    ...messageTypes.map((type, index) => ({ name: `msg${index}`, type })),
  ],
  Fee: [{ name: 'amount', type: 'Coin[]' }, ...strings('gas')],
  Coin,
  ...types,
})

/** Types of the older encoding, with those of the message's value. */
const legacy = (types: Types): Types => ({
  Tx: [
    ...strings('account_number', 'chain_id'),
    { name: 'fee', type: 'Fee' },
    ...strings('memo'),
    { name: 'msgs', type: 'Msg[]' },
    ...strings('sequence'),
  ],
  Fee: [...strings('feePayer'), { name: 'amount', type: 'Coin[]' }, ...strings('gas')],
  Coin,
  Msg: [...strings('type'), { name: 'value', type: 'MsgValue' }],
  ...types,
})
const legacyFee = { ...fee, feePayer: alice.bech32 }

const coin = { denom: 'acoin', amount: '12345' }
const description = { moniker: 'Alice & Co <a>', website: 'https://alice.example' }
const consensusKey = new Uint8Array(32).fill(7)

const send: AnyValue = anyOf(MsgSend, { fromAddress: alice.bech32, toAddress: bob.bech32, amount: coinsOf(12_345n) })
const sendJson = {
  type: 'cosmos-sdk/MsgSend',
  value: { from_address: alice.bech32, to_address: bob.bech32, amount: [coin] },
}
const sendTypes: Types = {
  TypeMsgSend0: [{ name: 'value', type: 'TypeValue0' }, ...strings('type')],
  TypeValue0: [...strings('to_address', 'from_address'), { name: 'amount', type: 'TypeValueAmount0[]' }],
  TypeValueAmount0: Coin,
}
const legacySendTypes: Types = {
  MsgValue: [...strings('from_address', 'to_address'), { name: 'amount', type: 'TypeAmount[]' }],
  TypeAmount: Coin,
}

const delegate = anyOf(MsgDelegate, {
  delegatorAddress: alice.bech32,
  validatorAddress: bob.operator,
  amount: { denom: 'acoin', amount: 12_345n },
})
const delegateJson = {
  type: 'cosmos-sdk/MsgDelegate',
  value: { delegator_address: alice.bech32, validator_address: bob.operator, amount: coin },
}
const vote = anyOf(MsgVote, { proposalId: 7n, voter: alice.bech32, option: 3 })
const voteJson = (proposalId: string | bigint) => ({
  type: 'cosmos-sdk/MsgVote',
  value: { proposal_id: proposalId, voter: alice.bech32, option: 3 },
})
const createValidator = anyOf(MsgCreateValidator, {
  description: { ...description, identity: '', securityContact: '', details: '' },
  commission: { rate: 10n ** 17n, maxRate: 2n * 10n ** 17n, maxChangeRate: 10n ** 16n },
  minSelfDelegation: 1n,
  validatorAddress: alice.operator,
  pubkey: { typeUrl: Ed25519PubKey.typeUrl, value: Ed25519PubKey.encode({ key: consensusKey }) },
  value: { denom: 'acoin', amount: 12_345n },
})
const createValidatorJson = {
  type: 'cosmos-sdk/MsgCreateValidator',
  value: {
    description,
    commission: {
      rate: '0.100000000000000000',
      max_rate: '0.200000000000000000',
      max_change_rate: '0.010000000000000000',
    },
    min_self_delegation: '1',
    validator_address: alice.operator,
    pubkey: { type: 'tendermint/PubKeyEd25519', value: Buffer.from(consensusKey).toString('base64') },
    value: coin,
  },
}

interface Case {
  readonly messages: readonly AnyValue[]
  readonly types: Types
  readonly message: Record<string, unknown>
}

const CASES: Record<string, Case> = {
  'a send': {
    messages: [send],
    types: flat(sendTypes, 'TypeMsgSend0'),
    message: { ...head, fee, msg0: sendJson },
  },
  'a send in the older encoding': {
    messages: [send],
    types: legacy(legacySendTypes),
    message: { ...head, fee: legacyFee, msgs: [sendJson] },
  },
  'two sends in the older encoding': {
    messages: [send, send],
    types: legacy(legacySendTypes),
    message: { ...head, fee: legacyFee, msgs: [sendJson, sendJson] },
  },
  'a send, a delegation and a send: types of one name are numbered': {
    messages: [send, delegate, send],
    types: flat(
      {
        ...sendTypes,
        TypeMsgDelegate0: [{ name: 'value', type: 'TypeValue1' }, ...strings('type')],
        TypeValue1: [
          ...strings('validator_address', 'delegator_address'),
          { name: 'amount', type: 'TypeValueAmount0' },
        ],
      },
      'TypeMsgSend0',
      'TypeMsgDelegate0',
      'TypeMsgSend0',
    ),
    message: { ...head, fee, msg0: sendJson, msg1: delegateJson, msg2: sendJson },
  },
  'a delegation in the older encoding': {
    messages: [delegate],
    types: legacy({
      MsgValue: [...strings('delegator_address', 'validator_address'), { name: 'amount', type: 'TypeAmount' }],
      TypeAmount: Coin,
    }),
    message: { ...head, fee: legacyFee, msgs: [delegateJson] },
  },
  'a vote: an enum is a number': {
    messages: [vote],
    types: flat(
      {
        TypeMsgVote0: [{ name: 'value', type: 'TypeValue0' }, ...strings('type')],
        TypeValue0: [...strings('voter', 'proposal_id'), { name: 'option', type: 'int64' }],
      },
      'TypeMsgVote0',
    ),
    message: { ...head, fee, msg0: voteJson('7') },
  },
  'a vote in the older encoding': {
    messages: [vote],
    types: legacy({
      MsgValue: [{ name: 'proposal_id', type: 'uint64' }, ...strings('voter'), { name: 'option', type: 'int32' }],
    }),
    message: { ...head, fee: legacyFee, msgs: [voteJson(7n)] },
  },
  'a new validator: messages in messages, a key in an Any': {
    messages: [createValidator],
    types: flat(
      {
        TypeMsgCreateValidator0: [{ name: 'value', type: 'TypeValue0' }, ...strings('type')],
        TypeValue0: [
          { name: 'value', type: 'TypeValueValue0' },
          ...strings('validator_address'),
          { name: 'pubkey', type: 'TypeValuePubkey0' },
          ...strings('min_self_delegation'),
          { name: 'description', type: 'TypeValueDescription0' },
          { name: 'commission', type: 'TypeValueCommission0' },
        ],
        TypeValueValue0: Coin,
        TypeValuePubkey0: strings('value', 'type'),
        TypeValueDescription0: strings('website', 'moniker'),
        TypeValueCommission0: strings('rate', 'max_rate', 'max_change_rate'),
      },
      'TypeMsgCreateValidator0',
    ),
    message: { ...head, fee, msg0: createValidatorJson },
  },
  'a new validator in the older encoding': {
    messages: [createValidator],
    types: legacy({
      MsgValue: [
        { name: 'description', type: 'TypeDescription' },
        { name: 'commission', type: 'TypeCommission' },
        ...strings('min_self_delegation', 'validator_address'),
        { name: 'pubkey', type: 'TypePubkey' },
        { name: 'value', type: 'TypeValue' },
      ],
      TypeDescription: strings('moniker', 'website'),
      TypeCommission: strings('rate', 'max_rate', 'max_change_rate'),
      TypePubkey: strings('type', 'value'),
      TypeValue: Coin,
    }),
    message: { ...head, fee: legacyFee, msgs: [createValidatorJson] },
  },
  'a multi-send': {
    messages: [
      anyOf(MsgMultiSend, {
        inputs: [{ address: alice.bech32, coins: coinsOf(12_345n) }],
        outputs: [{ address: bob.bech32, coins: coinsOf(12_345n) }],
      }),
    ],
    types: flat(
      {
        TypeMsgMultiSend0: [{ name: 'value', type: 'TypeValue0' }, ...strings('type')],
        TypeValue0: [
          { name: 'outputs', type: 'TypeValueOutputs0[]' },
          { name: 'inputs', type: 'TypeValueInputs0[]' },
        ],
        TypeValueOutputs0: [{ name: 'coins', type: 'TypeValueOutputsCoins0[]' }, ...strings('address')],
        TypeValueInputs0: [{ name: 'coins', type: 'TypeValueInputsCoins0[]' }, ...strings('address')],
        TypeValueOutputsCoins0: Coin,
        TypeValueInputsCoins0: Coin,
      },
      'TypeMsgMultiSend0',
    ),
    message: {
      ...head,
      fee,
      msg0: {
        type: 'cosmos-sdk/MsgMultiSend',
        value: {
          inputs: [{ address: alice.bech32, coins: [coin] }],
          outputs: [{ address: bob.bech32, coins: [coin] }],
        },
      },
    },
  },
}

/** The transaction that carries such a signature. */
function assemble(
  messages: readonly AnyValue[],
  signature: Uint8Array,
  mode: keyof typeof SIGN_MODES,
  changes: { readonly body?: Partial<TxBody>; readonly granter?: string; readonly keyless?: boolean } = {},
): Uint8Array {
  return TxRaw.encode({
    bodyBytes: TxBody.encode(TxBody.create({ messages, memo: head.memo, ...changes.body })),
    authInfoBytes: AuthInfo.encode({
      signerInfos: [
        {
          publicKey: changes.keyless === true ? undefined : publicKeyToAny(keyOf(alice)),
          modeInfo: { single: { mode: SIGN_MODES[mode] }, multi: undefined },
          sequence: 3n,
        },
      ],
      fee: { amount: coinsOf(1_000_000n), gasLimit: 200_000n, payer: '', granter: changes.granter ?? '' },
      tip: undefined,
    }),
    signatures: [signature],
  })
}

async function signWithViem({ types, message }: Pick<Case, 'types' | 'message'>, chainId: bigint = domain.chainId) {
  const account = privateKeyToAccount(bytesToHex(alice.privateKey))
  const typed = { types: { EIP712Domain, ...types }, primaryType: 'Tx', domain: { ...domain, chainId }, message }
  return hexToBytes(await account.signTypedData(typed as unknown as Parameters<typeof account.signTypedData>[0]))
}

/** ethers' own helper has fixed types for the domain, so its parts are put together here. */
function signWithEthers({ types, message }: Pick<Case, 'types' | 'message'>): Uint8Array {
  const writable = (given: Types) =>
    Object.fromEntries(Object.entries(given).map(([name, fields]) => [name, [...fields]]))
  const separator = TypedDataEncoder.hashStruct('EIP712Domain', writable({ EIP712Domain }), domain)
  const struct = TypedDataEncoder.hashStruct('Tx', writable(types), message)
  const digest = ethersKeccak(concat(['0x1901', separator, struct]))
  return hexToBytes(new SigningKey(alice.privateKey).sign(digest).serialized)
}

const MODES = ['SIGN_MODE_LEGACY_AMINO_JSON', 'SIGN_MODE_DIRECT'] as const

describe('EIP-712 signatures', () => {
  it.each(Object.entries(CASES))('over %s are accepted, in one encoding', async (_, given) => {
    const signatures = [await signWithViem(given), signWithEthers(given)]
    const canonical = assemble(given.messages, signatures[0]!.subarray(0, 64), 'SIGN_MODE_LEGACY_AMINO_JSON')
    expect(decoder.decodeNative(canonical)).toMatchObject({
      sender: alice.address,
      signers: [{ publicKey: publicKeyToAny(keyOf(alice)) }],
    })
    for (const signature of signatures) {
      expect(signature.length).toBe(65)
      for (const mode of MODES) {
        for (const keyless of [false, true]) {
          const raw = assemble(given.messages, signature, mode, { keyless })
          expect(decoder.decodeNative(raw)).toBe(NOT_CANONICAL)
          expect(decoder.decodeAnyEncoding(raw)).toEqual({ accepted: canonical })
        }
      }
    }
  })

  it('of Go, which writes types without members in its own way, are accepted', () => {
    // A bank MsgUpdateParams without parameters, signed by the typed data of cosmos/evm 0.5.1 with the private key 1.
    const body =
      '0a570a242f636f736d6f732e62616e6b2e763162657461312e4d7367557064617465506172616d73122f0a2b636f696e31306530353235736672' +
      '663533796832616c6a6d6d33736e396a71356e6a6b376c30647768777a1200120766726f6d20476f'
    const info =
      '0a5a0a500a292f636f736d6f732e65766d2e63727970746f2e76312e657468736563703235366b312e5075624b657912230a210279be667ef9dc' +
      'bbac55a06295ce870b07029bfcdb2dce28d959f2815b16f8179812040a02087f180312160a100a0561636f696e12073130303030303010c09a0c'
    const signature =
      '9875e30bd6301bdc9ef23d1b906c0c2325e8851d3f2c02156170dd6e383d267d256421dfb6b060806df556629012dcff0b0553f5e239760ba98a' +
      '1d1ed8d57274'
    const signed = (memo: string) =>
      TxRaw.encode({
        bodyBytes: hexToBytes(body.replace(Buffer.from('from Go').toString('hex'), Buffer.from(memo).toString('hex'))),
        authInfoBytes: hexToBytes(info),
        signatures: [hexToBytes(signature)],
      })
    expect(decoder.decodeNative(signed('from Go'))).toMatchObject({ memo: 'from Go', sequence: 3n })
    expect(decoder.decodeNative(signed('from go'))).toMatchObject({ codespace: 'sdk', code: 4 })
  })

  it('over anything else are refused', async () => {
    const given = CASES['a send']!
    const other = testAccount(3)
    const wrong: [string, Pick<Case, 'types' | 'message'>, bigint?][] = [
      ['another chain', given, 7628n],
      ['another native chain', { ...given, message: { ...given.message, chain_id: 'coin_7628-1' } }],
      ['another sequence', { ...given, message: { ...given.message, sequence: '4' } }],
      ['another memo', { ...given, message: { ...given.message, memo: 'hello!' } }],
      ['another fee', { ...given, message: { ...given.message, fee: { ...fee, gas: '200001' } } }],
      [
        'another receiver',
        {
          ...given,
          message: {
            ...given.message,
            msg0: { ...sendJson, value: { ...sendJson.value, to_address: other.bech32 } },
          },
        },
      ],
    ]
    for (const [what, data, chainId] of wrong) {
      const raw = assemble(given.messages, await signWithViem(data, chainId), 'SIGN_MODE_LEGACY_AMINO_JSON')
      expect(decoder.decodeNative(raw), what).toMatchObject({ codespace: 'sdk', code: 4 })
    }
  })

  it('cannot be over what their types leave out', async () => {
    const given = CASES['a send']!
    const signature = await signWithViem(given)
    const cases = [
      { body: { timeoutHeight: 9n } },
      { granter: bob.bech32 },
      { body: { messages: [send, delegate] } },
      {
        body: {
          messages: [send, anyOf(MsgSend, { fromAddress: bob.bech32, toAddress: alice.bech32, amount: coinsOf(1n) })],
        },
      },
    ]
    for (const changes of cases) {
      for (const mode of MODES) {
        const read = decoder.decodeNative(assemble([send], signature, mode, changes))
        expect(read).toMatchObject({ code: 4 })
      }
    }
  })

  it('are not for longer bodies than a wallet would show', async () => {
    const sends = (count: number): Case => ({
      messages: Array.from({ length: count }, () => send),
      types: flat(sendTypes, ...Array.from({ length: count }, () => 'TypeMsgSend0')),
      message: { ...head, fee, ...Object.fromEntries(Array.from({ length: count }, (_, i) => [`msg${i}`, sendJson])) },
    })
    const read = async (data: Case) =>
      decoder.decodeNative(
        assemble(data.messages, (await signWithViem(data)).subarray(0, 64), 'SIGN_MODE_LEGACY_AMINO_JSON'),
      )
    expect(await read(sends(100))).toMatchObject({ sender: alice.address })
    expect(await read(sends(200))).toMatchObject({ codespace: 'sdk', code: 4 })
  })

  it('are not for keys of the plain kind', async () => {
    const plain = testAccount(1, 'secp256k1')
    const message = anyOf(MsgSend, { fromAddress: plain.bech32, toAddress: bob.bech32, amount: coinsOf(12_345n) })
    const json = { ...sendJson, value: { ...sendJson.value, from_address: plain.bech32 } }
    const signature = await signWithViem({ ...CASES['a send']!, message: { ...head, fee, msg0: json } })
    const raw = assemble([message], signature.subarray(0, 64), 'SIGN_MODE_LEGACY_AMINO_JSON')
    const tx = TxRaw.decode(raw)
    const info = AuthInfo.decode(tx.authInfoBytes)
    const publicKey = publicKeyToAny(keyOf({ privateKey: plain.privateKey, kind: 'secp256k1' }))
    const authInfoBytes = AuthInfo.encode({ ...info, signerInfos: [{ ...info.signerInfos[0]!, publicKey }] })
    expect(decoder.decodeNative(TxRaw.encode({ ...tx, authInfoBytes }))).toMatchObject({ code: 4 })
  })
})
