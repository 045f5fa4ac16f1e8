import type { Address } from '../../primitives/address.ts'
import { bigIntToBytes, concatBytes } from '../../primitives/bytes.ts'
import { keccak256, sha256 } from '../../primitives/hash.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { privateToPublicKey, signDigest } from '../../primitives/secp256k1.ts'
import type { Coin } from '../coin.ts'
import { isSdkError } from '../sdkError.ts'
import { publicKeyToAny, type SingleKey, singleKey } from './publicKey.ts'
import { ACCOUNT_NUMBER } from './signDocuments.ts'
import { AuthInfo, SIGN_MODES, SignDoc, TxBody, TxRaw } from './types.ts'

/** A transaction without its signers. */
interface UnsignedTransaction {
  readonly messages: readonly AnyValue[]
  readonly fee: readonly Coin[]
  readonly gasLimit: bigint
  readonly memo?: string
  readonly timeoutHeight?: bigint
  readonly extensionOptions?: readonly AnyValue[]
  /** addresses, in either encoding */
  readonly feePayer?: string
  readonly feeGranter?: string
}

/** A key, and its account's next sequence. */
export interface SigningKey {
  /** 32 bytes */
  readonly privateKey: Uint8Array
  readonly sequence: bigint
  /** by default `ethSecp256k1` */
  readonly kind?: SingleKey['kind']
}

/** The public key and address of a private key of 32 bytes. */
export function keyOf({ privateKey, kind = 'ethSecp256k1' }: Pick<SigningKey, 'privateKey' | 'kind'>): SingleKey {
  const key = singleKey(kind, privateToPublicKey(privateKey))
  if (isSdkError(key)) throw new Error(key.message)
  return key
}

/** Address of a private key's account. */
export function addressOf(key: Pick<SigningKey, 'privateKey' | 'kind'>): Address {
  return keyOf(key).address
}

/**
 * Signs a transaction in SIGN_MODE_DIRECT.
 * @param keys in the order of the transaction's signers
 * @param chainId e.g. `coin_7628-1`
 * @returns the bytes of its TxRaw
 */
export function signTransaction(
  transaction: UnsignedTransaction,
  keys: readonly SigningKey[],
  chainId: string,
): Uint8Array {
  const { messages, fee, gasLimit, memo = '', timeoutHeight = 0n, extensionOptions = [] } = transaction
  const bodyBytes = TxBody.encode(TxBody.create({ messages, memo, timeoutHeight, extensionOptions }))
  const authInfoBytes = AuthInfo.encode({
    signerInfos: keys.map((key) => ({
      publicKey: publicKeyToAny(keyOf(key)),
      modeInfo: { single: { mode: SIGN_MODES.SIGN_MODE_DIRECT }, multi: undefined },
      sequence: key.sequence,
    })),
    fee: { amount: fee, gasLimit, payer: transaction.feePayer ?? '', granter: transaction.feeGranter ?? '' },
    tip: undefined,
  })
  const doc = SignDoc.encode({ bodyBytes, authInfoBytes, chainId, accountNumber: ACCOUNT_NUMBER })
  return TxRaw.encode({ bodyBytes, authInfoBytes, signatures: keys.map((key) => signBytesWith(key, doc)) })
}

/** Signs bytes, hashed as the kind of key does it. @returns r and s, 64 bytes */
export function signBytesWith(
  { privateKey, kind }: Pick<SigningKey, 'privateKey' | 'kind'>,
  bytes: Uint8Array,
): Uint8Array {
  const { r, s } = signDigest(kind === 'secp256k1' ? sha256(bytes) : keccak256(bytes), privateKey)
  return concatBytes(bigIntToBytes(r, 32), bigIntToBytes(s, 32))
}
