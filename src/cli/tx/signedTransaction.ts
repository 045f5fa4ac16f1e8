import { secp256k1 } from '@noble/curves/secp256k1.js'
import { coinsOf } from '../../modules/coin.ts'
import { publicKeyToAny, type SingleKey } from '../../modules/tx/publicKey.ts'
import { ACCOUNT_NUMBER } from '../../modules/tx/signBytes.ts'
import { AuthInfo, SIGN_MODES, SignDoc, TxBody, TxRaw } from '../../modules/tx/txTypes.ts'
import { bigIntToBytes, concatBytes } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import type { AnyValue } from '../../primitives/protoSchema.ts'
import { publicKeyToAddress, signDigest } from '../../primitives/secp256k1.ts'

/** What is signed besides the messages. */
export interface TransactionTerms {
  readonly chainId: string
  readonly sequence: bigint
  readonly gasLimit: bigint
  readonly feeAcoin: bigint
  readonly memo: string
  /** 0: none */
  readonly timeoutHeight: bigint
  /** `coin1…` of the account whose fee allowance pays; empty: the sender pays */
  readonly feeGranter: string
}

const SIGNATURE_BYTES = 64

/**
 * A native transaction of one signer with an eth_secp256k1 key, in SIGN_MODE_DIRECT.
 * @param privateKey 32 bytes; undefined makes a transaction without a signature, which can be simulated
 */
export function signedTransaction(
  messages: readonly AnyValue[],
  terms: TransactionTerms,
  publicKey: SingleKey,
  privateKey: Uint8Array | undefined,
): Uint8Array {
  const { chainId, sequence, gasLimit, feeAcoin, memo, timeoutHeight, feeGranter } = terms
  const bodyBytes = TxBody.encode(TxBody.create({ messages, memo, timeoutHeight }))
  const authInfoBytes = AuthInfo.encode(
    AuthInfo.create({
      signerInfos: [
        {
          publicKey: publicKeyToAny(publicKey),
          modeInfo: { single: { mode: SIGN_MODES.SIGN_MODE_DIRECT }, multi: undefined },
          sequence,
        },
      ],
      fee: { amount: coinsOf(feeAcoin), gasLimit, payer: '', granter: feeGranter },
    }),
  )
  const document = SignDoc.encode({ bodyBytes, authInfoBytes, chainId, accountNumber: ACCOUNT_NUMBER })
  const signature = privateKey === undefined ? new Uint8Array(0) : signKeccak(document, privateKey)
  return TxRaw.encode({ bodyBytes, authInfoBytes, signatures: [signature] })
}

/** The public key, of the kind that also signs EVM transactions. */
export function publicKeyOf(privateKey: Uint8Array): SingleKey {
  const address = publicKeyToAddress(secp256k1.getPublicKey(privateKey, false).subarray(1))
  return { kind: 'ethSecp256k1', key: secp256k1.getPublicKey(privateKey, true), address }
}

function signKeccak(document: Uint8Array, privateKey: Uint8Array): Uint8Array {
  const { r, s } = signDigest(keccak256(document), privateKey)
  return concatBytes(bigIntToBytes(r, SIGNATURE_BYTES / 2), bigIntToBytes(s, SIGNATURE_BYTES / 2))
}
