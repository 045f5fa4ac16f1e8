import { equalBytes } from '../../primitives/bytes.ts'
import type { AnyMessageType } from '../../primitives/protoScalars.ts'
import type { MessageTable } from '../message.ts'
import { type SdkError, sdkError } from '../sdkError.ts'
import { type DecodedTransaction, visitAnys } from './decodeTransaction.ts'
import type { SignedEncoding } from './readSigners.ts'
import { AuthInfo, TxBody, TxRaw } from './types.ts'

/**
 * The refusal of a transaction that its signers did sign, but that another encoding of the same is accepted for. Otherwise anybody could
 * give a transaction of others another hash, under which they would not find it.
 */
export const NOT_CANONICAL: SdkError = sdkError(
  'txDecode',
  'not the one encoding of this transaction: 64 bytes a signature; where no signature is in SIGN_MODE_DIRECT, canonical protobuf ' +
    'and public keys by the names of cosmos.evm and cosmos.crypto',
)

/**
 * The one encoding of a transaction that is accepted. Signatures have 64 bytes each, and a multisig has as many as it needs. Where a
 * signature is over the bytes of body and AuthInfo, these are as they were signed. Where all are over their JSON, they are encoded as
 * this chain does it, with each signer's public key, under the name that this chain gives it, and SIGN_MODE_LEGACY_AMINO_JSON.
 */
export function canonicalEncoding(
  decoded: DecodedTransaction,
  { signatures, signerInfos }: SignedEncoding,
): Uint8Array {
  const { txRaw, body, authInfo } = decoded
  if (signerInfos === undefined) return TxRaw.encode({ ...txRaw, signatures })
  const messages = decoded.messages.map(({ handler: { type }, value }) => ({
    typeUrl: type.typeUrl,
    value: type.encode(value as never),
  }))
  return TxRaw.encode({
    bodyBytes: TxBody.encode({ ...body, messages }),
    authInfoBytes: AuthInfo.encode({ ...authInfo, signerInfos }),
    signatures,
  })
}

/** Whether these bytes are the one encoding of the transaction. */
export function isCanonical(decoded: DecodedTransaction, signed: SignedEncoding, messages: MessageTable): boolean {
  const { txRaw } = decoded
  if (!signed.signatures.every((signature, index) => equalBytes(signature, txRaw.signatures[index]!))) return false
  if (signed.signerInfos === undefined) return true
  return equalBytes(canonicalEncoding(decoded, signed), TxRaw.encode(txRaw)) && hasCanonicalAnys(decoded, messages)
}

/** Whether what messages hold in an Any, however deep, is encoded as this chain does it. */
function hasCanonicalAnys(decoded: DecodedTransaction, table: MessageTable): boolean {
  let isEncodedSo = true
  const visit = (type: AnyMessageType, value: unknown, bytes: Uint8Array): void => {
    if (isEncodedSo) isEncodedSo = equalBytes(type.encode(value as never), bytes)
  }
  for (const { handler, value } of decoded.messages) visitAnys({ type: handler.type, value }, table, visit)
  return isEncodedSo
}
