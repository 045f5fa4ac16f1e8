import {
  encodeEthSecp256k1Signature,
  type OfflineAminoSigner,
  Secp256k1Wallet,
  type StdFee,
  serializeSignDoc,
} from '@cosmjs/amino'
import { keccak256, Secp256k1 } from '@cosmjs/crypto'
import {
  DirectEthSecp256k1Wallet,
  DirectSecp256k1Wallet,
  type EncodeObject,
  type OfflineSigner,
} from '@cosmjs/proto-signing'
import { SigningStargateClient } from '@cosmjs/stargate'
import { TxRaw } from 'cosmjs-types/cosmos/tx/v1beta1/tx'
import { TEST_CHAIN, TEST_GAS } from './signTransaction.ts'

const PREFIX = 'coin'

/** Wallets of CosmJS for one private key, by how they sign. */
export const COSMJS_SIGNERS = {
  directEthSecp256k1: (privateKey: Uint8Array) => DirectEthSecp256k1Wallet.fromKey(privateKey, PREFIX),
  aminoEthSecp256k1: ethAminoSigner,
  directSecp256k1: (privateKey: Uint8Array) => DirectSecp256k1Wallet.fromKey(privateKey, PREFIX),
  aminoSecp256k1: (privateKey: Uint8Array) => Secp256k1Wallet.fromKey(privateKey, PREFIX),
} as const satisfies Record<string, (privateKey: Uint8Array) => Promise<OfflineSigner>>

/** Signs amino JSON with an eth_secp256k1 key, as Keplr does: CosmJS itself has no such wallet. */
async function ethAminoSigner(privateKey: Uint8Array): Promise<OfflineAminoSigner> {
  const wallet = await DirectEthSecp256k1Wallet.fromKey(privateKey, PREFIX)
  const accounts = await wallet.getAccounts()
  return {
    getAccounts: async () => accounts,
    signAmino: async (_address, signDoc) => {
      const signature = Secp256k1.createSignature(keccak256(serializeSignDoc(signDoc)), privateKey)
      const bytes = new Uint8Array([...signature.r(32), ...signature.s(32)])
      return { signed: signDoc, signature: encodeEthSecp256k1Signature(accounts[0]!.pubkey, bytes) }
    },
  }
}

/** A fee of 1 gwei for each gas. */
export function testFee(gas: bigint = TEST_GAS): StdFee {
  return { amount: [{ denom: 'acoin', amount: (gas * 10n ** 9n).toString() }], gas: gas.toString() }
}

/** Signs with CosmJS's own client, without a node. */
export async function signWithCosmJs(
  signer: OfflineSigner,
  messages: readonly EncodeObject[],
  options: {
    readonly sequence?: number
    readonly fee?: StdFee
    readonly memo?: string
    readonly timeoutHeight?: bigint
    readonly chainId?: string
    readonly accountNumber?: number
  } = {},
): Promise<Uint8Array> {
  const {
    sequence = 0,
    fee = testFee(),
    memo = '',
    timeoutHeight,
    chainId = TEST_CHAIN.chainId,
    accountNumber = 0,
  } = options
  const client = await SigningStargateClient.offline(signer)
  const [account] = await signer.getAccounts()
  const data = { accountNumber: BigInt(accountNumber), sequence, chainId }
  return TxRaw.encode(await client.sign(account!.address, messages, fee, memo, data, timeoutHeight)).finish()
}
