import { loadBuiltModule } from '../../primitives/builtModule.ts'
import { bytesToBigInt } from '../../primitives/bytes.ts'
import type { WasmMemory } from '../../primitives/webAssembly.ts'
import { padRight, type StandardPrecompile, toWord } from './standardPrecompile.ts'

/** The exports of assembly/curves/bn254/index.ts; a status is 0, or the place of a fault in {@link FAULTS} and 1. */
interface Exports {
  readonly memory: WasmMemory
  inputAddress(): number
  scalarsAddress(): number
  outputAddress(): number
  writeSum(): number
  writeMultiple(): number
  beginProduct(): void
  addPairs(count: number): number
  isProductOne(): number
}

/** geth's messages for the fault of the first bad point. */
const FAULTS = ['bn256: coordinate exceeds modulus', 'bn256: malformed point']

const wasm = loadBuiltModule<Exports>('bn254')
const memory = new Uint8Array(wasm.memory.buffer)
const view = new DataView(memory.buffer)
const inputAddress = wasm.inputAddress()
const scalarsAddress = wasm.scalarsAddress()
const outputAddress = wasm.outputAddress()

const G1_LENGTH = 64
const PAIR_LENGTH = 192

/** 0x06: the sum of two points of bn254 (EIP-196, gas of EIP-1108). */
export const bn254Add: StandardPrecompile = {
  gas: () => 150n,
  run(input) {
    memory.set(padRight(input, 2 * G1_LENGTH), inputAddress)
    return outputOf(wasm.writeSum())
  },
}

/** 0x07: a point of bn254 times a scalar (EIP-196, gas of EIP-1108). */
export const bn254Mul: StandardPrecompile = {
  gas: () => 6_000n,
  run(input) {
    const data = padRight(input, G1_LENGTH + 32)
    memory.set(data, inputAddress)
    putParts(bytesToBigInt(data.subarray(G1_LENGTH)))
    return outputOf(wasm.writeMultiple())
  },
}

/** Pairs that the module takes at once: its memory does not grow with the input. */
const MAX_PAIRS = 64

/** 0x08: whether a product of pairings of bn254 is one (EIP-197, gas of EIP-1108); of no pairs it is. */
export const bn254Pairing: StandardPrecompile = {
  gas: (input) => BigInt(45_000 + 34_000 * Math.floor(input.length / PAIR_LENGTH)),
  run(input) {
    if (input.length % PAIR_LENGTH !== 0) return 'bad elliptic curve pairing size'
    wasm.beginProduct()
    for (let start = 0; start < input.length; start += MAX_PAIRS * PAIR_LENGTH) {
      const batch = input.subarray(start, start + MAX_PAIRS * PAIR_LENGTH)
      memory.set(batch, inputAddress)
      const status = wasm.addPairs(batch.length / PAIR_LENGTH)
      if (status !== 0) return FAULTS[status - 1]!
    }
    return toWord(wasm.isProductOne() !== 0)
  },
}

function outputOf(status: number): Uint8Array | string {
  return status === 0 ? memory.slice(outputAddress, outputAddress + G1_LENGTH) : FAULTS[status - 1]!
}

/** The parameter that modulus, order and trace are polynomials of (EIP-197), and the order. */
const X = 4_965_661_367_192_848_881n
const ORDER = 36n * X ** 4n + 36n * X ** 3n + 18n * X ** 2n + 6n * X + 1n

/**
 * Two numbers a + bλ that the order divides, where λ multiplies points as an endomorphism does: (2x + 1, 6x² + 4x + 1) and
 * (6x² + 2x, −(2x + 1)). Integer multiples of both come near to any scalar.
 */
const SHORT = 2n * X + 1n
const LONG = 6n * X * X + 4n * X + 1n
const OTHER = 6n * X * X + 2n * X

/**
 * Writes k0 and k1 with k0 + k1·λ = scalar modulo the order: the scalar less c0 of the first number and c1 of the second, both rounded down.
 * What is left of either is from 0 to below 1, so that k0 is from 0 to below SHORT + OTHER and k1 from above −SHORT to below LONG; where it
 * is negative, one more of the first number makes it positive. Both stay below 2^127.
 */
function putParts(scalar: bigint): void {
  const k = scalar % ORDER
  const c0 = (k * SHORT) / ORDER
  const c1 = (k * LONG) / ORDER
  let k0 = k - c0 * SHORT - c1 * OTHER
  let k1 = c1 * SHORT - c0 * LONG
  if (k1 < 0n) {
    k0 += SHORT
    k1 += LONG
  }
  putPart(k0, scalarsAddress)
  putPart(k1, scalarsAddress + 16)
}

function putPart(value: bigint, address: number): void {
  view.setBigUint64(address, BigInt.asUintN(64, value), true)
  view.setBigUint64(address + 8, value >> 64n, true)
}
