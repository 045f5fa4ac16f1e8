import { coinsOf } from '../../src/modules/coin.ts'
import { EthSecp256k1PubKey } from '../../src/modules/tx/publicKey.ts'
import { ACCOUNT_NUMBER } from '../../src/modules/tx/signDocuments.ts'
import { AuthInfo, SIGN_MODES, SignDoc, TxBody, TxRaw } from '../../src/modules/tx/types.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import type { AnyValue } from '../../src/primitives/protoSchema.ts'
import { type Account, CHAIN_ID, publicKeyOf, signDigest } from './sign.ts'

interface NativeFields {
  readonly sequence: bigint
  readonly messages: readonly AnyValue[]
  readonly gasLimit: bigint
  readonly feeAcoin: bigint
}

/** Signs a native transaction in SIGN_MODE_DIRECT, with the native library. Returns the bytes of its TxRaw. */
export function signNative(account: Account, { sequence, messages, gasLimit, feeAcoin }: NativeFields): Uint8Array {
  const value = EthSecp256k1PubKey.encode({ key: publicKeyOf(account) })
  const bodyBytes = TxBody.encode(TxBody.create({ messages }))
  const authInfoBytes = AuthInfo.encode({
    signerInfos: [
      {
        publicKey: { typeUrl: EthSecp256k1PubKey.typeUrl, value },
        modeInfo: { single: { mode: SIGN_MODES.SIGN_MODE_DIRECT }, multi: undefined },
        sequence,
      },
    ],
    fee: { amount: coinsOf(feeAcoin), gasLimit, payer: '', granter: '' },
    tip: undefined,
  })
  const chainId = `coin_${CHAIN_ID}-1`
  const doc = SignDoc.encode({ bodyBytes, authInfoBytes, chainId, accountNumber: ACCOUNT_NUMBER })
  return TxRaw.encode({ bodyBytes, authInfoBytes, signatures: [signDigest(account, keccak256(doc))] })
}
