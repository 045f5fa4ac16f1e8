import { secp256k1 } from '@noble/curves/secp256k1.js'
import { type Address, toBech32, toChecksumAddress } from '../../primitives/address.ts'
import { bytesToHex } from '../../primitives/bytes.ts'
import { publicKeyToAddress } from '../../primitives/secp256k1.ts'

/** An account whose key a test network makes. */
export interface AccountKey {
  readonly address: Address
  /** 32 bytes */
  readonly privateKey: Uint8Array
}

/** @param seed 48 random bytes, of which every value gives a key */
export function accountKey(seed: Uint8Array): AccountKey {
  const privateKey = secp256k1.utils.randomSecretKey(seed)
  const publicKey = secp256k1.getPublicKey(privateKey, false)
  return { address: publicKeyToAddress(publicKey.subarray(1)), privateKey }
}

/** The text of a file that holds the key, for its owner alone. */
export function formatAccountKey({ address, privateKey }: AccountKey): string {
  const json = {
    address: toChecksumAddress(address),
    bech32_address: toBech32(address),
    private_key: bytesToHex(privateKey),
  }
  return `${JSON.stringify(json, null, 2)}\n`
}
