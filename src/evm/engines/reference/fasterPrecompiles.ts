import { EVMError, type ExecResult, type PrecompileFunc } from '@ethereumjs/evm'
import { bytesToBigInt, EMPTY_BYTES } from '../../../primitives/bytes.ts'
import { blake2f } from '../../blake2f.ts'
import { verifyP256 } from '../../p256.ts'

const P256_VERIFY_GAS = 6_900n
const ONE = new Uint8Array(32).with(31, 1)

/** EIP-152: 1 gas for each round. */
const runBlake2f: PrecompileFunc = ({ data, gasLimit }) => {
  if (data.length !== 213 || data[212]! > 1) return failedPrecompile('invalid input length', gasLimit)
  const executionGasUsed = BigInt(new DataView(data.buffer, data.byteOffset, 4).getUint32(0))
  if (executionGasUsed > gasLimit) return failedPrecompile('out of gas', gasLimit)
  return { executionGasUsed, returnValue: blake2f(data) }
}

/** EIP-7951: digest, r, s and the public key's x and y; what does not verify gives no bytes. */
const runP256Verify: PrecompileFunc = ({ data, gasLimit }) => {
  if (gasLimit < P256_VERIFY_GAS) return failedPrecompile('out of gas', gasLimit)
  const word = (index: number) => bytesToBigInt(data.subarray(index * 32, index * 32 + 32))
  const valid = data.length === 160 && verifyP256(data.subarray(0, 32), word(1), word(2), { x: word(3), y: word(4) })
  return { executionGasUsed: P256_VERIFY_GAS, returnValue: valid ? ONE : EMPTY_BYTES }
}

/** Precompiles that are too slow for their gas in `@ethereumjs/evm`, by their key in its table. */
export const FASTER: ReadonlyMap<string, PrecompileFunc> = new Map([
  ['09'.padStart(40, '0'), runBlake2f],
  ['0100'.padStart(40, '0'), runP256Verify],
])

/** What a precompile gives that takes all gas; `reason` in geth's or the EVM's words. */
export function failedPrecompile(reason: string, gasLimit: bigint): ExecResult {
  return {
    executionGasUsed: gasLimit,
    returnValue: EMPTY_BYTES,
    exceptionError: new EVMError(reason as EVMError['error']),
  }
}
