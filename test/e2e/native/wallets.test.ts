import { createMultisigThresholdPubkey, encodeSecp256k1Pubkey, pubkeyToAddress } from '@cosmjs/amino'
import {
  DirectEthSecp256k1Wallet,
  DirectSecp256k1Wallet,
  type EncodeObject,
  encodePubkey,
  makeAuthInfoBytes,
  makeSignDoc,
  Registry,
} from '@cosmjs/proto-signing'
import { defaultRegistryTypes, SigningStargateClient } from '@cosmjs/stargate'
import { MultiSignature } from 'cosmjs-types/cosmos/crypto/multisig/v1beta1/multisig'
import { BasicAllowance } from 'cosmjs-types/cosmos/feegrant/v1beta1/feegrant'
import { SignMode } from 'cosmjs-types/cosmos/tx/signing/v1beta1/signing'
import { AuthInfo, TxBody, TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { createPublicClient, createWalletClient, http, type PublicClient } from 'viem'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toBech32 } from '../../../src/primitives/address.ts'
import { hexToBytes } from '../../../src/primitives/bytes.ts'
import { COSMJS_SIGNERS, signWithCosmJs } from '../../native/cosmJsSigners.ts'
import { testAccount } from '../../native/signTransaction.ts'
import { ACCOUNTS, COIN, freshAddress, GWEI, KEYS, viemChain } from '../devChain.ts'
import type { TestNode } from '../startNode.ts'
import { broadcast, broadcastSync } from './broadcast.ts'
import { flatSendAndDelegate, keplrSends, metaMaskSigner } from './metaMaskSigner.ts'
import { getJson, startNativeChain } from './nativeChain.ts'

let node: TestNode
let viem: PublicClient

const CHAIN_ID = 'coin_76287-1'
const [aliceHex, bobHex] = [ACCOUNTS[0]!.address, ACCOUNTS[1]!.address]
const [alice, bob] = [toBech32(hexToBytes(aliceHex)), toBech32(hexToBytes(bobHex))]
const validator = toBech32(hexToBytes(aliceHex), 'coinvaloper')
/** Holders of keys as chains without an EVM have them. */
const plain = [21, 22, 23].map((number) => testAccount(number, 'secp256k1'))

beforeAll(async () => {
  node = await startNativeChain(() => {})
  viem = createPublicClient({ chain: viemChain(node.url), transport: http(node.url), pollingInterval: 100 })
  const funding = await signWithCosmJs(
    await aminoSigner(0),
    [bob, ...plain.map(({ bech32 }) => bech32)].map((to) => send(alice, to, 100n * COIN)),
    { fee: fee() },
  )
  expect(await broadcast(node, funding)).toMatchObject({ code: 0 })
})
afterAll(() => node?.stop())

const acoin = (amount: bigint) => ({ denom: 'acoin', amount: amount.toString() })
const fee = (gwei = 3n) => ({ amount: [acoin(400_000n * gwei * GWEI)], gas: '400000' })
const aminoSigner = (index: number) => COSMJS_SIGNERS.aminoEthSecp256k1(hexToBytes(KEYS[index]!))
const send = (fromAddress: string, toAddress: string, amount: bigint): EncodeObject => ({
  typeUrl: '/cosmos.bank.v1beta1.MsgSend',
  value: { fromAddress, toAddress, amount: [acoin(amount)] },
})
const delegate = (delegatorAddress: string, amount: bigint): EncodeObject => ({
  typeUrl: '/cosmos.staking.v1beta1.MsgDelegate',
  value: { delegatorAddress, validatorAddress: validator, amount: acoin(amount) },
})
/** An address that nobody has used yet. */
const fresh = () => toBech32(hexToBytes(freshAddress()))

async function balance(address: string): Promise<bigint> {
  return BigInt((await getJson(node, `/cosmos/bank/v1beta1/balances/${address}/by_denom?denom=acoin`)).balance.amount)
}
async function sequence(address: string): Promise<number> {
  const { account } = await getJson(node, `/cosmos/auth/v1beta1/accounts/${address}`)
  return Number(account.sequence)
}
const delegated = async (address: string): Promise<bigint> => {
  const path = `/cosmos/staking/v1beta1/validators/${validator}/delegations/${address}`
  return BigInt((await getJson(node, path)).delegation_response?.balance.amount ?? 0)
}

/** With another memo. */
function altered(raw: Uint8Array): Uint8Array {
  const tx = TxRaw.decode(raw)
  const bodyBytes = TxBody.encode({ ...TxBody.decode(tx.bodyBytes), memo: 'another' }).finish()
  return TxRaw.encode({ ...tx, bodyBytes }).finish()
}
const UNAUTHORIZED = { code: 4, codespace: 'sdk', height: 0 }

describe('amino JSON, signed with keccak as Keplr signs for eth accounts', () => {
  it('of several messages, with memo and timeout height', async () => {
    const receiver = fresh()
    const before = await sequence(alice)
    const messages = [send(alice, receiver, 5n), delegate(alice, COIN), send(alice, receiver, 7n)]
    const options = { sequence: before, memo: 'a <memo> & "quotes" ünïcode', fee: fee(), timeoutHeight: 1_000_000n }
    const raw = await signWithCosmJs(await aminoSigner(0), messages, options)
    expect(await broadcast(node, altered(raw))).toMatchObject(UNAUTHORIZED)
    const { code, hash } = await broadcast(node, raw)
    expect(code).toBe(0)
    expect(await balance(receiver)).toBe(12n)
    expect(await sequence(alice)).toBe(before + 1)
    const { tx } = await getJson(node, `/cosmos/tx/v1beta1/txs/${hash}`)
    expect(tx.body).toMatchObject({ memo: options.memo, timeout_height: '1000000' })
    expect(tx.auth_info.signer_infos[0].mode_info.single.mode).toBe('SIGN_MODE_LEGACY_AMINO_JSON')
  })

  it.each([
    ['for another chain', { chainId: 'coin_1-1' }, { code: 4 }],
    ['for another account number', { accountNumber: 7 }, { code: 4 }],
    ['with a sequence that was used', { sequence: 0 }, { code: 32 }],
    ['after its timeout height', { timeoutHeight: 1n }, { code: 30 }],
    ['with too small a fee', { fee: { amount: [acoin(1n)], gas: '400000' } }, { code: 13 }],
    ['with a memo that is too long', { memo: 'x'.repeat(257) }, { code: 12 }],
    ['with too little gas', { fee: { amount: [acoin(10n ** 15n)], gas: '1000' } }, { code: 11 }],
  ])('is refused %s', async (_, options, refused) => {
    const before = [await sequence(alice), await balance(alice)]
    const message = send(alice, bob, 1n)
    const raw = await signWithCosmJs(await aminoSigner(0), [message], {
      fee: fee(),
      sequence: before[0] as number,
      ...options,
    })
    expect(await broadcast(node, raw)).toMatchObject({ codespace: 'sdk', height: 0, ...refused })
    expect([await sequence(alice), await balance(alice)]).toEqual(before)
  })
})

describe('EIP-712, signed as MetaMask does', () => {
  it('over Keplr’s typed data of several sends', async () => {
    const receiver = fresh()
    const before = await sequence(alice)
    const messages = [send(alice, receiver, 5n), send(alice, receiver, 6n)]
    const options = { sequence: before, memo: 'typed <data> ü', fee: fee() }
    const raw = await signWithCosmJs(await metaMaskSigner(KEYS[0]!, keplrSends), messages, options)
    const otherChain = await signWithCosmJs(await metaMaskSigner(KEYS[0]!, keplrSends, 1), messages, options)
    for (const wrong of [altered(raw), otherChain]) {
      expect(await broadcast(node, wrong)).toMatchObject(UNAUTHORIZED)
    }
    expect(await broadcast(node, raw)).toMatchObject({ code: 0 })
    expect([await balance(receiver), await sequence(alice)]).toEqual([11n, before + 1])
  })

  it('with a type for each message', async () => {
    const [receiver, before] = [fresh(), await delegated(alice)]
    const messages = [send(alice, receiver, 5n), delegate(alice, COIN)]
    const options = { sequence: await sequence(alice), fee: fee() }
    const raw = await signWithCosmJs(await metaMaskSigner(KEYS[0]!, flatSendAndDelegate), messages, options)
    expect(await broadcast(node, raw)).toMatchObject({ code: 0 })
    expect([await balance(receiver), await delegated(alice)]).toEqual([5n, before + COIN])
  })
})

describe('plain secp256k1', () => {
  it.each(['directSecp256k1', 'aminoSecp256k1'] as const)('%s', async (kind) => {
    const [{ privateKey, bech32 }] = plain as [(typeof plain)[number]]
    const receiver = freshAddress()
    const message = send(bech32, toBech32(hexToBytes(receiver)), 9n)
    const options = { sequence: await sequence(bech32), fee: fee() }
    const raw = await signWithCosmJs(await COSMJS_SIGNERS[kind](privateKey), [message], options)
    expect(await broadcast(node, altered(raw))).toMatchObject(UNAUTHORIZED)
    expect(await broadcast(node, raw)).toMatchObject({ code: 0 })
    expect(await viem.getBalance({ address: receiver })).toBe(9n)
    const { account } = await getJson(node, `/cosmos/auth/v1beta1/accounts/${bech32}`)
    expect(account).toMatchObject({
      '@type': '/cosmos.auth.v1beta1.BaseAccount',
      pub_key: { '@type': '/cosmos.crypto.secp256k1.PubKey' },
      account_number: '0',
      sequence: `${options.sequence + 1}`,
    })
  })
})

it('a multisig, put together by CosmJS', async () => {
  const wallets = await Promise.all(plain.map(({ privateKey }) => COSMJS_SIGNERS.aminoSecp256k1(privateKey)))
  const keys = await Promise.all(wallets.map(async (wallet) => (await wallet.getAccounts())[0]!))
  const multisig = createMultisigThresholdPubkey(
    keys.map(({ pubkey }) => encodeSecp256k1Pubkey(pubkey)),
    2,
    true,
  )
  const address = pubkeyToAddress(multisig, 'coin')
  const funding = [send(alice, address, 10n * COIN)]
  const funded = await signWithCosmJs(await aminoSigner(0), funding, { sequence: await sequence(alice), fee: fee() })
  expect(await broadcast(node, funded)).toMatchObject({ code: 0 })

  const receiver = fresh()
  /** Signed by members of these numbers. CosmJS's own makeMultisignedTx fails on every address with the present @scure/base. */
  const sign = async (...members: number[]): Promise<Uint8Array> => {
    const signatures: Uint8Array[] = []
    let bodyBytes = new Uint8Array()
    for (const index of members) {
      const client = await SigningStargateClient.offline(wallets[index]!)
      const data = { accountNumber: 0n, sequence: 0, chainId: CHAIN_ID }
      const signed = await client.sign(keys[index]!.address, [send(address, receiver, 3n)], fee(), 'all', data)
      bodyBytes = new Uint8Array(signed.bodyBytes)
      signatures.push(signed.signatures[0]!)
    }
    const bits = members.reduce((sum, index) => sum | (0x80 >> index), 0)
    const bitarray = { extraBitsStored: keys.length, elems: Uint8Array.of(bits) }
    const single = { single: { mode: SignMode.SIGN_MODE_LEGACY_AMINO_JSON } }
    const modeInfo = { multi: { bitarray, modeInfos: members.map(() => single) } }
    const authInfo = AuthInfo.fromPartial({
      signerInfos: [{ publicKey: encodePubkey(multisig), modeInfo }],
      fee: { amount: fee().amount, gasLimit: BigInt(fee().gas) },
    })
    return TxRaw.encode({
      bodyBytes,
      authInfoBytes: AuthInfo.encode(authInfo).finish(),
      signatures: [MultiSignature.encode({ signatures }).finish()],
    }).finish()
  }
  expect(await broadcast(node, await sign(1))).toMatchObject(UNAUTHORIZED)
  expect(await broadcast(node, altered(await sign(0, 2)))).toMatchObject(UNAUTHORIZED)
  expect(await broadcast(node, await sign(0, 2))).toMatchObject({ code: 0 })
  expect([await balance(receiver), await sequence(address)]).toEqual([3n, 1])
  const { account } = await getJson(node, `/cosmos/auth/v1beta1/accounts/${address}`)
  expect(account.pub_key).toMatchObject({ '@type': '/cosmos.crypto.multisig.LegacyAminoPubKey', threshold: 2 })
  expect(account.pub_key.public_keys).toHaveLength(3)
})

it('two signers, of whom the second pays the fee', async () => {
  const holders = await Promise.all([
    DirectSecp256k1Wallet.fromKey(plain[1]!.privateKey, 'coin'),
    DirectEthSecp256k1Wallet.fromKey(hexToBytes(KEYS[1]!), 'coin'),
  ])
  const accounts = await Promise.all(holders.map(async (holder) => (await holder.getAccounts())[0]!))
  const [first, second] = accounts.map(({ address }) => address) as [string, string]
  const receiver = fresh()
  const signers = await Promise.all(
    accounts.map(async ({ address, pubkey }, index) => ({
      pubkey: encodePubkey(
        index === 0
          ? encodeSecp256k1Pubkey(pubkey)
          : { type: 'os/PubKeyEthSecp256k1', value: Buffer.from(pubkey).toString('base64') },
      ),
      sequence: await sequence(address),
    })),
  )
  const registry = new Registry(defaultRegistryTypes)
  const bodyBytes = registry.encodeTxBody({ messages: [send(first, receiver, 1n), send(second, receiver, 2n)] })
  const authInfoBytes = makeAuthInfoBytes(signers, fee().amount, 400_000, undefined, second)
  const signDoc = makeSignDoc(bodyBytes, authInfoBytes, CHAIN_ID, 0n)
  const signatures = await Promise.all(
    holders.map(async (holder, index) => {
      const { signature } = await holder.signDirect(accounts[index]!.address, signDoc)
      return new Uint8Array(Buffer.from(signature.signature, 'base64'))
    }),
  )
  const before = await Promise.all([first, second].map(balance))
  const encode = (given: Uint8Array[]) => TxRaw.encode({ bodyBytes, authInfoBytes, signatures: given }).finish()
  expect(await broadcast(node, encode([signatures[1]!, signatures[0]!]))).toMatchObject(UNAUTHORIZED)
  expect(await broadcast(node, encode(signatures))).toMatchObject({ code: 0 })
  const after = await Promise.all([first, second].map(balance))
  expect([before[0]! - after[0]!, before[1]! - after[1]!]).toEqual([1n, 2n + BigInt(fee().amount[0]!.amount)])
  expect(await Promise.all([first, second].map(sequence))).toEqual(signers.map((signer) => signer.sequence + 1))
})

it('a fee granter pays for who has no coins', async () => {
  const poor = testAccount(31)
  const grantee = await COSMJS_SIGNERS.aminoEthSecp256k1(poor.privateKey)
  const limit = BigInt(fee().amount[0]!.amount) + 5n
  const granted = await signWithCosmJs(
    await COSMJS_SIGNERS.directEthSecp256k1(hexToBytes(KEYS[0]!)),
    [
      send(alice, poor.bech32, 10n),
      {
        typeUrl: '/cosmos.feegrant.v1beta1.MsgGrantAllowance',
        value: {
          granter: alice,
          grantee: poor.bech32,
          allowance: {
            typeUrl: BasicAllowance.typeUrl,
            value: BasicAllowance.encode(BasicAllowance.fromPartial({ spendLimit: [acoin(limit)] })).finish(),
          },
        },
      },
    ],
    { sequence: await sequence(alice), fee: fee() },
  )
  expect(await broadcast(node, granted)).toMatchObject({ code: 0 })

  const [receiver, before] = [fresh(), await balance(alice)]
  const message = send(poor.bech32, receiver, 1n)
  const bySelf = await signWithCosmJs(grantee, [message], { fee: fee() })
  expect(await broadcast(node, bySelf)).toMatchObject({ code: 5, height: 0 })
  const byOther = await signWithCosmJs(grantee, [message], { fee: { ...fee(), granter: bob } })
  expect(await broadcast(node, byOther)).toMatchObject({ code: 38, height: 0 })
  const sent = await signWithCosmJs(grantee, [message], { fee: { ...fee(), granter: alice } })
  expect(await broadcast(node, sent)).toMatchObject({ code: 0 })
  expect([await balance(receiver), await balance(poor.bech32)]).toEqual([1n, 9n])
  expect(before - (await balance(alice))).toBe(BigInt(fee().amount[0]!.amount))
  const { allowance } = await getJson(node, `/cosmos/feegrant/v1beta1/allowance/${alice}/${poor.bech32}`)
  expect(allowance.allowance.spend_limit).toEqual([acoin(5n)])
  const again = await signWithCosmJs(grantee, [message], { sequence: 1, fee: { ...fee(), granter: alice } })
  expect(await broadcast(node, again)).toMatchObject({ codespace: 'feegrant', code: 2, height: 0 })
})

it('a waiting native transaction is replaced by an EVM one, and that by a native one', async () => {
  const evm = createWalletClient({ account: ACCOUNTS[1]!, chain: viemChain(node.url), transport: http(node.url) })
  const nonce = await sequence(bob)
  const receiver = testAccount(41)
  const sign = async (amount: bigint, gwei: bigint) =>
    signWithCosmJs(await aminoSigner(1), [send(bob, receiver.bech32, amount)], { sequence: nonce + 1, fee: fee(gwei) })
  const sendEvm = (gwei: bigint, at: number, value: bigint) =>
    evm.sendTransaction({
      to: `0x${Buffer.from(receiver.address).toString('hex')}`,
      value,
      nonce: at,
      gas: 21_000n,
      maxFeePerGas: gwei * GWEI,
      maxPriorityFeePerGas: gwei * GWEI,
    })
  // The transaction before it is missing, so that they wait.
  expect(await broadcastSync(node, await sign(1n, 10n))).toBe(0)
  await expect(sendEvm(10n, nonce + 1, 2n)).rejects.toThrow('underpriced')
  const replaced = await sendEvm(20n, nonce + 1, 4n)
  expect(await viem.getTransaction({ hash: replaced })).toMatchObject({ nonce: nonce + 1, blockHash: null })
  expect(await broadcastSync(node, await sign(8n, 20n))).not.toBe(0)
  expect(await broadcastSync(node, await sign(16n, 40n))).toBe(0)
  await expect(viem.getTransaction({ hash: replaced })).rejects.toThrow('could not be found')
  await sendEvm(20n, nonce, 32n)
  await expect.poll(() => sequence(bob), { timeout: 10_000, interval: 200 }).toBe(nonce + 2)
  expect(await balance(receiver.bech32)).toBe(48n)
})
