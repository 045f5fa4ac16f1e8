import type { AminoSignResponse, StdSignDoc } from '@cosmjs/amino'
import { concat, keccak256, SigningKey, TypedDataEncoder } from 'ethers'
import type { TypedData } from '../../explorer/web/src/wallet/typedData.ts'

const DOMAIN_FIELDS = ['name string', 'version string', 'chainId uint256', 'verifyingContract string', 'salt string']

/**
 * Signs as Keplr does with a Ledger's Ethereum app: the document is the message of the typed data, ethers hashes it, and each type must be
 * used. The signature has 65 bytes.
 * @throws TypeError when Keplr would refuse the typed data
 */
export function signAsKeplrLedger(
  privateKey: Uint8Array,
  { types, domain, primaryType }: TypedData,
  signDoc: StdSignDoc,
): AminoSignResponse {
  const { EIP712Domain: domainFields = [], Tx = [], ...others } = types
  const named = domainFields.map(({ name, type }) => `${name} ${type}`)
  if (named.join() !== DOMAIN_FIELDS.join()) throw new TypeError('types.EIP712Domain is invalid')
  if (primaryType !== 'Tx') throw new TypeError(`No matched primary type: ${primaryType}`)
  const writable = (given: TypedData['types']) =>
    Object.fromEntries(Object.entries(given).map(([name, fields]) => [name, [...fields]]))
  const separator = TypedDataEncoder.hashStruct('EIP712Domain', writable({ EIP712Domain: domainFields }), domain)
  // As in Keplr, it goes through JSON.
  const message = JSON.parse(JSON.stringify(signDoc))
  const digest = keccak256(
    concat(['0x1901', separator, TypedDataEncoder.from(writable({ Tx, ...others })).hash(message)]),
  )
  const key = new SigningKey(privateKey)
  const base64 = (hex: string): string => Buffer.from(hex.slice(2), 'hex').toString('base64')
  return {
    signed: signDoc,
    signature: {
      pub_key: { type: 'tendermint/PubKeySecp256k1', value: base64(key.compressedPublicKey) },
      signature: base64(key.sign(digest).serialized),
    },
  }
}
