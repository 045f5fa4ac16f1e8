import { bytesToBigInt, EMPTY_BYTES } from '../../primitives/bytes.ts'
import { keccak256 } from '../../primitives/hash.ts'
import { recoverPublicKey } from '../../primitives/secp256k1.ts'
import { padRight, type StandardPrecompile } from './standardPrecompile.ts'

/**
 * 0x01: the address that signed a digest (yellow paper, appendix E.1). Without a key that fits the
 * signature, the output is empty.
 */
export const ecrecover: StandardPrecompile = {
  gas: () => 3_000n,
  run(input) {
    const data = padRight(input, 128)
    for (let i = 32; i < 63; i++) if (data[i] !== 0) return EMPTY_BYTES
    const v = data[63]
    if (v !== 27 && v !== 28) return EMPTY_BYTES
    const r = bytesToBigInt(data.subarray(64, 96))
    const s = bytesToBigInt(data.subarray(96, 128))
    const publicKey = recoverPublicKey(data.subarray(0, 32), v === 28 ? 1 : 0, r, s)
    if (publicKey === undefined) return EMPTY_BYTES
    return keccak256(publicKey).fill(0, 0, 12)
  },
}
