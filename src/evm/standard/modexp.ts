import { type Hardfork, includesFork } from '../../chain/hardfork.ts'
import { bytesToBigInt, EMPTY_BYTES, stripZeros, toBuffer } from '../../primitives/bytes.ts'
import { type ModexpSizes, modexpGas } from './modexpGas.ts'
import { type Exponent, modexpPower } from './modexpPower.ts'
import { padRight } from './padRight.ts'
import type { StandardPrecompile } from './standardPrecompile.ts'

/** EIP-7823. */
const MAX_LENGTH = 1_024n
/** Of base and modulus; longer ones cost more than 5 Ggas, which no block and no call has. */
const MAX_PAYABLE_LENGTH = 1n << 20n
/** Each byte costs 2 gas at least: these are not paid for either. */
const MAX_EXPONENT_LENGTH = 1n << 32n

/** 0x05: base ** exponent % modulus (EIP-198, gas of EIP-2565 and EIP-7883, bounds of EIP-7823). */
export const modexp: StandardPrecompile = {
  gas: (input, fork) => modexpGas(sizesOf(input), fork),
  run,
}

function run(input: Uint8Array, fork: Hardfork): Uint8Array | string {
  const { baseLength, exponentLength, modulusLength } = sizesOf(input)
  if (includesFork(fork, 'osaka')) {
    if (baseLength > MAX_LENGTH || exponentLength > MAX_LENGTH || modulusLength > MAX_LENGTH) {
      return 'one or more of base/exponent/modulus length exceeded 1024 bytes'
    }
  }
  if (modulusLength === 0n) return EMPTY_BYTES
  if (baseLength > MAX_PAYABLE_LENGTH || modulusLength > MAX_PAYABLE_LENGTH || exponentLength > MAX_EXPONENT_LENGTH) {
    return 'out of gas'
  }
  const base = Number(baseLength)
  const exponent = Number(exponentLength)
  const length = Number(modulusLength)
  const exponentStart = 96 + base
  const modulusStart = exponentStart + exponent
  const modulus = bytesToBigInt(padRight(input.subarray(modulusStart), length))
  if (modulus === 0n) return new Uint8Array(length)
  const value = modexpPower(
    bytesToBigInt(padRight(input.subarray(96), base)) % modulus,
    exponentOf(input, exponentStart, exponent),
    modulus,
  )
  const output = new Uint8Array(length)
  toBuffer(output).write(value.toString(16).padStart(length * 2, '0'), 'hex')
  return output
}

/** The exponent without the zeros before it; those beyond the input, of which there may be very many, are not made. */
function exponentOf(input: Uint8Array, start: number, length: number): Exponent {
  const bytes = stripZeros(input.subarray(start, start + length))
  const zerosBefore = Math.min(length, Math.max(input.length - start, 0)) - bytes.length
  return { bytes, length: bytes.length === 0 ? 0 : length - zerosBefore }
}

function sizesOf(input: Uint8Array): ModexpSizes {
  const header = padRight(input, 96)
  const baseLength = bytesToBigInt(header.subarray(0, 32))
  const exponentLength = bytesToBigInt(header.subarray(32, 64))
  const modulusLength = bytesToBigInt(header.subarray(64, 96))
  const headLength = exponentLength < 32n ? Number(exponentLength) : 32
  const start = baseLength < BigInt(input.length) ? 96 + Number(baseLength) : input.length
  const exponentHead = bytesToBigInt(padRight(input.subarray(start), headLength))
  return { baseLength, exponentLength, modulusLength, exponentHead }
}
